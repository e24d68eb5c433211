"""What was red before: rules, novelty, and what a green verdict then proves."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from donewhen.core.verdict import Novelty, Proof
from donewhen.judge.baseline import from_results, from_verdict, goal_gates, rules
from donewhen.judge.summary import summary
from tests.conftest import CALC, FIX
from tests.judge.helpers import FAIL, PASS, Bench, gate, one

Make = Callable[..., Bench]
GREEN = {**CALC, **FIX}
# A lint gate with one finding a line that says "bad".
LINT = gate("sh: grep -n bad *.txt && exit 1 || exit 0", name="lint", kind="lint")
BAD = {"a.txt": "bad\n"}


def rule_of(made: Bench) -> dict[str, str]:
    assert made.before is not None
    return rules(made.request().gates, made.before, made.mode)


def test_red_tests_are_the_goal_and_must_become_clean(bench: Make) -> None:
    made = bench(CALC)
    assert made.baseline().proof is Proof.NONE
    assert rule_of(made) == {"tests": "clean"}
    assert made.judge().state is FAIL
    made.project.write(FIX)
    verdict = made.judge()
    assert (verdict.state, verdict.proof) == (PASS, Proof.GOAL)


def test_green_before_and_still_is_no_regression_not_the_goal(bench: Make) -> None:
    made = bench(GREEN)
    made.baseline()
    assert made.judge().proof is Proof.NO_REGRESSION


def test_red_proves_nothing(bench: Make) -> None:
    made = bench(GREEN)
    made.baseline()
    made.project.write(CALC)
    verdict = made.judge()
    assert (verdict.state, verdict.proof) == (FAIL, Proof.NONE)
    assert one(verdict).findings[0].novelty is Novelty.NEW


def test_detected_lint_that_was_red_is_held_to_nothing_new(bench: Make) -> None:
    made = bench({**GREEN, **BAD}, gate(), LINT)
    made.baseline()
    assert rule_of(made) == {"tests": "clean", "lint": "no-new"}
    verdict = made.judge()
    lint = verdict.gates[1]
    assert (verdict.state, lint.state) == (PASS, PASS)
    assert "pre-existing" in lint.why
    assert lint.findings[0].novelty is Novelty.PRE_EXISTING
    assert summary(verdict).fingerprints == ()
    made.project.write({"b.txt": "bad\n"})
    again = made.judge()
    assert again.gates[1].state is FAIL


def test_what_is_excused_proves_no_goal(bench: Make) -> None:
    made = bench({**GREEN, **BAD}, gate(), LINT)
    made.baseline()
    assert made.judge().proof is Proof.NO_REGRESSION


def test_a_lint_gate_that_turns_green_is_no_goal_unless_named(bench: Make) -> None:
    made = bench({**GREEN, **BAD}, gate(), LINT)
    made.baseline()
    made.project.write({"a.txt": "good\n"})
    assert made.judge().proof is Proof.NO_REGRESSION


@pytest.mark.parametrize("source", ["flag", "config", "spec"])
def test_a_named_gate_is_clean_and_the_goal(bench: Make, source: str) -> None:
    from dataclasses import replace

    made = bench({**GREEN, **BAD}, replace(LINT, source=source))
    made.baseline()
    assert rule_of(made) == {"lint": "clean"}
    assert made.judge().state is FAIL
    made.project.write({"a.txt": "good\n"})
    assert made.judge().proof is Proof.GOAL


def test_a_gate_added_by_name_does_not_release_red_tests(bench: Make) -> None:
    from dataclasses import replace

    made = bench({**CALC, **BAD}, gate(), replace(LINT, source="flag"))
    made.baseline()
    assert rule_of(made) == {"tests": "clean", "lint": "clean"}
    made.project.write({"a.txt": "good\n"})
    assert made.judge().state is FAIL
    made.project.write(FIX)
    assert made.judge().proof is Proof.GOAL


def test_no_new_releases_red_tests_and_still_finds_new_ones(bench: Make) -> None:
    made = bench(CALC, mode="no-new")
    made.baseline()
    verdict = made.judge()
    assert (verdict.state, verdict.proof) == (PASS, Proof.NO_REGRESSION)
    made.project.write({"src/calc/__init__.py": "def add(a, b):\n    return 7\n"})
    verdict = made.judge()
    assert verdict.state is FAIL
    new = {f.test: f.novelty for f in one(verdict).findings}
    assert new == {
        "tests/test_calc.py::test_add": Novelty.PRE_EXISTING,
        "tests/test_calc.py::test_zero": Novelty.NEW,
    }
    zero = next(f for f in one(verdict).findings if f.novelty is Novelty.NEW)
    assert summary(verdict).fingerprints == (zero.fingerprint,)
    assert summary(verdict).score.failing == 1


def test_clean_excuses_nothing(bench: Make) -> None:
    made = bench({**GREEN, **BAD}, gate(), LINT, mode="clean")
    made.baseline()
    assert rule_of(made) == {"tests": "clean", "lint": "clean"}
    assert made.judge().state is FAIL


def test_an_error_at_baseline_is_red(bench: Make) -> None:
    made = bench({**GREEN, "tests/test_calc.py": ""})
    made.baseline()
    assert made.before is not None
    assert goal_gates(made.request().gates, made.before, "auto") == {"tests"}
    made.project.write({"tests/test_calc.py": CALC["tests/test_calc.py"]})
    assert made.judge().proof is Proof.GOAL


def test_a_failure_elsewhere_in_the_same_test_is_the_same_failure(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write({"tests/test_calc.py": "\n\n\n" + CALC["tests/test_calc.py"]})
    assert one(made.judge()).findings[0].novelty is Novelty.PRE_EXISTING


def test_the_baseline_survives_as_evidence(bench: Make) -> None:
    made = bench({**CALC, **BAD}, gate(), LINT)
    verdict = made.baseline()
    kept = json.loads(json.dumps(verdict.to_dict()))
    assert from_verdict(kept) == from_results(verdict.gates)
    assert from_verdict(kept)["tests"].passed == {"tests/test_calc.py::test_zero"}
