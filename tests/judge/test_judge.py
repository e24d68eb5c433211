"""One tree, one verdict: what a gate may leave behind, and what voids what it measured."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from donewhen.core.verdict import Purpose
from donewhen.judge.droppings import allowed, dropped
from donewhen.judge.judge import judge
from donewhen.judge.summary import summary
from tests.conftest import CALC, FIX
from tests.judge.helpers import ERROR, FAIL, PASS, Bench, gate, one, states

Make = Callable[..., Bench]
GREEN = {**CALC, **FIX}


def test_pass_fail_and_error_with_counts(bench: Make) -> None:
    made = bench(CALC, gate(), gate("no-such-tool --check", required=False))
    verdict = made.judge()
    tests, tool = verdict.gates
    assert (tests.state, tests.counts.tests, tests.counts.failed) == (FAIL, 2, 1)
    assert tests.passed_tests == ("tests/test_calc.py::test_zero",)
    assert tool.state is ERROR
    assert tool.start_failed
    assert verdict.state is FAIL
    made.project.write(FIX)
    assert made.judge().state is PASS  # the broken gate is not required


def test_a_gate_that_changes_the_tree_has_not_measured_it(bench: Make) -> None:
    made = bench(GREEN, gate(), gate("sh: echo x > left.txt", name="writer"))
    verdict = made.judge()
    assert states(verdict) == {"tests": "error", "writer": "error"}
    assert "left.txt" in verdict.gates[0].why
    assert "writes = " in verdict.gates[0].why
    assert verdict.state is ERROR


@pytest.mark.parametrize(
    "command",
    [
        "sh: echo x >> src/calc/__init__.py",
        "sh: rm README",
        "sh: chmod +x README",
        "sh: git update-index --assume-unchanged README; echo x > README",
    ],
)
def test_any_change_to_a_tracked_file_voids_the_verdict(bench: Make, command: str) -> None:
    made = bench({**GREEN, "README": "r\n"}, gate(command, name="writer"))
    assert one(made.judge()).state is ERROR


def test_the_verdict_names_the_tree_it_measured_not_the_one_it_left(bench: Make) -> None:
    made = bench({"a": "1"}, gate("sh: echo 2 > a", name="writer", writes=("a",)))
    tree = made.project.git("rev-parse", "HEAD^{tree}")
    verdict = made.judge()
    assert (verdict.state, verdict.tree) == (PASS, tree)
    assert made.judge().tree != tree


def test_writes_allow_what_they_name_and_no_more(bench: Make) -> None:
    made = bench(
        {"a": "1"},
        gate("sh: mkdir -p out/deep; echo > out/deep/x; echo > y.snap", name="writer"),
    )
    assert one(made.judge()).state is ERROR
    made.project.git("clean", "-fdq")
    made.gates = (
        gate(
            "sh: mkdir -p out/deep; echo > out/deep/x; echo > y.snap",
            name="writer",
            writes=("out/", "**/*.snap"),
        ),
    )
    assert one(made.judge()).state is PASS


def test_droppings_are_no_fault_and_are_taken_away_from_our_own_worktree(bench: Make) -> None:
    drop = "sh: mkdir -p htmlcov c.egg-info __pycache__; touch .coverage.x htmlcov/i c.egg-info/P __pycache__/m.pyc"
    made = bench({"a": "1"}, gate(drop, name="dropper"))
    assert one(made.judge()).state is PASS
    assert (made.project.root / "htmlcov/i").exists()  # the user's checkout is not tidied
    made.project.git("clean", "-fdq")
    made.own = True
    assert one(made.judge()).state is PASS
    assert not (made.project.root / "htmlcov/i").exists()
    assert made.project.git("status", "--short") == "?? __pycache__/"  # never in the tree key


@pytest.mark.parametrize(
    "path",
    ["a/b/htmlcov/i.html", ".coverage", "x/.coverage.host.1", "src/c.egg-info/PKG", "m.pyc",
     "web/node_modules/.cache/x/y"],
)  # fmt: skip
def test_droppings(path: str) -> None:
    assert dropped(path)


@pytest.mark.parametrize("path", ["src/coverage.py", "conftest.py", "node_modules/x.js", "a.xml"])
def test_no_droppings(path: str) -> None:
    assert not dropped(path)
    assert not allowed(path, ("out/", "*.snap"))


def test_without_git_the_verdict_belongs_to_no_tree(bench: Make) -> None:
    from dataclasses import replace

    made = bench(GREEN)
    verdict = judge(replace(made.request(), keeper=None))
    assert (verdict.state, verdict.tree) == (PASS, "")


def test_a_blind_gate_is_an_error_and_is_not_run(bench: Make) -> None:
    from dataclasses import replace

    made = bench(GREEN, gate("sh: touch ran", name="other"))
    verdict = judge(replace(made.request(Purpose.BASELINE), blind={"other": "/home/x/src"}))
    result = one(verdict)
    assert (result.state, result.blind) == (ERROR, True)
    assert "/home/x/src" in result.why
    assert not (made.project.root / "ran").exists()
    assert summary(verdict).fatal_gate == "other"


def test_a_tool_that_cannot_start_is_fatal_only_at_baseline(bench: Make) -> None:
    made = bench({"a": "1"}, gate("no-such-tool"))
    assert summary(made.baseline()).fatal_gate == "no-such-tool"
    later = summary(made.judge())
    assert (later.fatal_gate, later.errors_only) == ("", True)
    assert later.error_gates == ("no-such-tool",)


def test_a_cancelled_judgement_is_no_pass(bench: Make) -> None:
    from dataclasses import replace

    made = bench({"a": "1"}, gate("sleep 30", name="slow"))
    verdict = judge(replace(made.request(), cancelled=lambda: True))
    assert one(verdict).state is ERROR


def test_no_gates_are_no_pass(bench: Make) -> None:
    from dataclasses import replace

    made = bench({"a": "1"})
    assert judge(replace(made.request(), gates=())).state is ERROR
