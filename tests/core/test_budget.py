"""What runs out, and what does not count."""

from __future__ import annotations

import math

import pytest

from donewhen.core.budget import ran_out, together, used_up, wall
from donewhen.core.conditions import seconds_left
from donewhen.core.contract import Contract, Limits, Rung
from donewhen.core.events import Usage
from donewhen.core.state import LoopState


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


def test_seconds_left_do_not_count_waiting_and_lying_stopped() -> None:
    state = LoopState(started_at=100.0, waited_s=20.0, paused_s=10.0)
    contract = Contract((Rung("a"),), Limits(wall_s=60.0))
    assert seconds_left(contract, state, 160.0) == 30.0
    assert seconds_left(contract, state, 999.0) == 0.0
    assert seconds_left(contract, state.but(limits=Limits(wall_s=90.0)), 160.0) == 60.0
    assert seconds_left(Contract((Rung("a"),), Limits(wall_s=0.0)), state, 160.0) == math.inf


def test_used_up_knows_no_time_and_usage_adds_up() -> None:
    assert used_up(Limits(wall_s=1.0, tokens=5), Usage(tokens=4)) == ""
    assert used_up(Limits(tokens=5), together(Usage(tokens=4), Usage(0.5, 1, True))) == "tokens"
    assert together(Usage(0.25, 4), Usage(0.5, 1, True)) == Usage(0.75, 5, True)
