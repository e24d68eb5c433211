"""What runs out, and what does not count."""

from __future__ import annotations

import pytest

from donewhen.core.budget import ran_out, wall
from donewhen.core.contract import Limits
from donewhen.core.events import Usage


@pytest.mark.parametrize(
    ("limits", "spent", "worked", "what"),
    [
        (Limits(), Usage(1e6, 10**9), 0.0, ""),
        (Limits(usd=1.0), Usage(usd=0.99), 0.0, ""),
        (Limits(usd=1.0), Usage(usd=1.0), 0.0, "usd"),
        (Limits(tokens=10), Usage(tokens=10), 0.0, "tokens"),
        (Limits(wall_s=60.0), Usage(), 60.0, "wall"),
        (Limits(wall_s=60.0), Usage(), 59.9, ""),
        (Limits(wall_s=0.0), Usage(), 1e9, ""),
        (Limits(usd=1.0, tokens=1, wall_s=1.0), Usage(2.0, 2), 2.0, "usd"),
    ],
)
def test_what_ran_out(limits: Limits, spent: Usage, worked: float, what: str) -> None:
    assert ran_out(limits, spent, worked) == what


def test_waiting_is_no_work_and_time_never_runs_backwards() -> None:
    assert wall(100.0, 160.0, 20.0) == 40.0
    assert wall(100.0, 90.0, 0.0) == 0.0
    assert wall(0.0, 160.0, 0.0) == 0.0, "not started"
