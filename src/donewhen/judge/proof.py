"""What a green verdict proves: the goal, if a goal gate was red before and really passes now."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.verdict import GateResult, GateState, Proof
from donewhen.judge.baseline import Baseline


def proof(
    raw: Sequence[GateResult],
    green: bool,
    before: Baseline | None,
    goals: frozenset[str],
    renamed: bool = False,
) -> Proof:
    """`raw` are the results before anything was excused: what is excused proves nothing.

    `renamed` lets tests of the goal stand under other names, for a verdict that does not decide:
    the deciding one runs them as they were as well.
    """
    if not green or before is None:
        return Proof.NONE
    for result in raw:
        was = before.get(result.name)
        if was is None or was.state is GateState.PASS or result.name not in goals:
            continue
        if result.state is not GateState.PASS:
            continue
        if renamed or all(ran(t, result.passed_tests) for t in was.failed):
            return Proof.GOAL
    return Proof.NO_REGRESSION


def ran(test: str, passed: tuple[str, ...]) -> bool:
    """Did the test that was red run and pass? A file that could not be collected: any test of it.

    A failed sub-test is named after its test; unittest's stand-in for a failed import after none.
    """
    if "_FailedTest" in test:
        return bool(passed)
    return any(p == test or p.startswith(f"{test}::") or test.startswith(f"{p} ") for p in passed)
