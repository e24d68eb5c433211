"""When to climb, and that nobody climbs above the top."""

from __future__ import annotations

import pytest

from donewhen.core.contract import Rung
from donewhen.core.ladder import can_climb, should_climb

RUNGS = (Rung("cheap", 2), Rung("middle", 1), Rung("strong", 1))


@pytest.mark.parametrize(
    ("rung", "failures", "climbs"),
    [(0, 0, False), (0, 1, False), (0, 2, True), (0, 9, True), (1, 1, True), (2, 9, False)],
)
def test_it_climbs_after_the_failures_of_its_rung(rung: int, failures: int, climbs: bool) -> None:
    assert should_climb(RUNGS, rung, failures) is climbs


def test_the_top() -> None:
    assert [can_climb(RUNGS, rung) for rung in range(3)] == [True, True, False]
    assert not can_climb(RUNGS[:1], 0)
