"""The ladder of agents, cheap to strong: when to climb, and to where."""

from __future__ import annotations

from donewhen.core.contract import Rung


def can_climb(rungs: tuple[Rung, ...], rung: int) -> bool:
    """Is there a stronger agent?"""
    return rung + 1 < len(rungs)


def should_climb(rungs: tuple[Rung, ...], rung: int, failures: int) -> bool:
    """After `after` failed judgements on this rung, and only if there is a higher one."""
    return can_climb(rungs, rung) and failures >= rungs[rung].after
