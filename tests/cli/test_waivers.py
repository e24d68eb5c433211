"""A person allows what integrity found; the run is judged again and says by whose word it is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
GOAL = "make the tests pass"
FEWER = CALC["tests/test_calc.py"].partition("\n\n\ndef test_zero")[0] + "\n"


def stopped(project: Project, script: Script) -> str:
    """A run in which the agent fixed the code and deleted a test that was green."""
    turns = script({"write": {"tests/test_calc.py": FEWER, **FIX}})
    result = project.run(GOAL, turns).json()
    assert result["reason"] == "needs-human:test-change", result
    return str(result["run"])


def test_what_is_allowed_once_is_judged_again_and_journalled(
    project: Project, script: Script
) -> None:
    run = stopped(project, script)
    shown = project.donewhen("inbox", "show", run).expect(0).out
    assert "! integrity 1  tests/test_calc.py::test_zero test-removed" in shown
    assert f"donewhen inbox allow {run}" in shown
    said = project.donewhen("inbox", "allow", run, "1").expect(0).out
    assert f"allowed: test-removed in tests/test_calc.py, for {run} only" in said
    done = project.donewhen("resume", run, "--json").expect(0).json()
    assert (done["reason"], done["proof"]) == ("gates-passed", "goal")
    assert "waived test-removed in tests/test_calc.py" in project.donewhen("log", run).out
    assert "allowed by you (test-removed" in project.donewhen("why", run).out


def test_what_is_allowed_for_a_path_holds_for_later_runs_and_is_taken_back(
    project: Project, script: Script
) -> None:
    run = stopped(project, script)
    project.donewhen("inbox", "allow", run, "--for", "path", "--until", "2020-01-01").expect(2)
    project.donewhen("inbox", "allow", run, "--for", "path").expect(0)
    assert "test-removed in tests/test_calc.py, until " in project.donewhen("doctor").out
    turns = script({"write": {"tests/test_calc.py": FEWER, **FIX}})
    assert project.run(GOAL, turns).json()["reason"] == "gates-passed"
    project.donewhen("inbox", "allow", "--revoke", "1").expect(0)
    assert "Nothing is allowed." in project.donewhen("inbox", "allow", "--list").expect(0).out
    assert project.run(GOAL, turns).json()["reason"] == "needs-human:test-change"


def test_only_a_person_allows_and_only_what_was_found(project: Project, script: Script) -> None:
    run = stopped(project, script)
    refused = project.donewhen("inbox", "allow", run, CLAUDECODE="1").expect(1)
    assert "speaks for a person" in refused.err
    assert (
        "there is no finding 2; there are 1"
        in project.donewhen("inbox", "allow", run, "2").expect(2).err
    )
    again = project.donewhen("resume", run, "--json").expect(4).json()
    assert again["reason"] == "needs-human:test-change"
    assert "Nothing is allowed." in project.donewhen("inbox", "allow", "--list").out


def test_a_file_that_nobody_signed_allows_nothing_and_is_named(
    project: Project, script: Script
) -> None:
    run = stopped(project, script)
    project.donewhen("inbox", "allow", run).expect(0)
    (file,) = (Path(os.environ["DONEWHEN_STATE"]) / "waivers").glob("*.json")
    file.write_bytes(file.read_bytes().replace(b'"once"', b'"rule"'))
    said = project.donewhen("doctor").out
    assert f"{file} was not written by `donewhen inbox allow`" in said
    assert project.donewhen("resume", run, "--json").code != 0


def test_at_the_cap_a_waiver_still_counts_since_no_agent_is_started(
    project: Project, script: Script
) -> None:
    turns = script({"write": {"tests/test_calc.py": FEWER, **FIX}})
    result = project.run(GOAL, turns, "--max-iter", "1").json()
    assert result["reason"] == "integrity", result
    project.donewhen("inbox", "allow", result["run"]).expect(0)
    done = project.donewhen("resume", result["run"], "--json").expect(0).json()
    assert done["reason"] == "gates-passed"
    starts = [r for r in project.journal(done["run"]) if r["type"] == "RunAgent"]
    assert len(starts) == 1
