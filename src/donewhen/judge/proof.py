"""What a green verdict proves: the goal, if a goal gate was red before and really passes now."""

from __future__ import annotations

from collections.abc import Sequence

from donewhen.core.verdict import GateResult, GateState, Proof
from donewhen.judge.baseline import Baseline


def proof(
    raw: Sequence[GateResult], green: bool, before: Baseline | None, goals: frozenset[str]
) -> Proof:
    """`raw` are the results before anything was excused: what is excused proves nothing."""
    if not green or before is None:
        return Proof.NONE
    for result in raw:
        was_red = result.name in before and before[result.name].state is not GateState.PASS
        if result.name in goals and was_red and result.state is GateState.PASS:
            return Proof.GOAL
    return Proof.NO_REGRESSION
