"""A command and its exit code: weak, and an error where nothing was measured."""

from __future__ import annotations

import pytest

from donewhen.core.verdict import GateState
from tests.gates.conftest import Run, Write

CASES = {
    "sh: exit 0": (GateState.PASS, "exit 0"),
    "sh: echo broken >&2; exit 3": (GateState.FAIL, "exit 3"),
    "sh: exit 1": (GateState.FAIL, "exit 1"),
    "sh: nosuchtool": (GateState.ERROR, "exit 127: "),
    "sh: ./readme": (GateState.ERROR, "exit 126: "),
    "sh: kill -9 $$": (GateState.ERROR, "killed by signal 9"),
    "nosuchtool": (GateState.ERROR, "cannot start: nosuchtool: No such file or directory (looked in PATH="),
}  # fmt: skip


@pytest.mark.parametrize("command", CASES)
def test_states(write: Write, run: Run, command: str) -> None:
    state, why = CASES[command]
    result = run(write({"readme": "x"}), command)
    assert (result.state, result.weak) == (state, True)
    assert result.why.startswith(why)
    assert bool(result.findings) is (state is not GateState.PASS)
    assert result.start_failed is (command == "nosuchtool")


def test_the_finding_is_the_code_and_the_last_lines(write: Write, run: Run) -> None:
    root = write({"readme": "x"})
    first = run(root, "sh: echo at $(date +%s%N) pid $$; echo 3 errors; exit 2")
    (finding,) = first.findings
    assert (finding.rule, finding.message) == ("exit-2", "3 errors")
    again = run(root, "sh: echo at $(date +%s%N) pid $$; echo 3 errors; exit 2")
    assert again.findings[0].fingerprint == finding.fingerprint
    other = run(root, "sh: echo 4 errors; exit 2")
    assert other.findings[0].fingerprint != finding.fingerprint


def test_pass_codes_are_the_users(write: Write, run: Run) -> None:
    root = write({"readme": "x"})
    assert run(root, "sh: exit 3", pass_codes=(0, 3)).state is GateState.PASS
    assert run(root, "sh: exit 0", pass_codes=(3,)).state is GateState.FAIL


def test_a_program_of_the_project_that_is_not_written_yet_is_no_missing_tool(
    write: Write, run: Run
) -> None:
    result = run(write({"readme": "x"}), "./check.sh")
    assert result.state is GateState.ERROR
    assert not result.start_failed
