"""Every reason has one exit code, and only the good ends have 0."""

from __future__ import annotations

import pytest

from donewhen.core.conditions import RETRIED
from donewhen.core.reasons import EXITS, FINAL, exit_code


def test_only_good_ends_are_0() -> None:
    assert {reason for reason, code in EXITS.items() if code == 0} == {
        "gates-passed",
        "idle",
        "report",
    }


@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("stuck:repeat", 1),
        ("max-iterations", 1),
        ("budget:usd", 1),
        ("integrity", 1),
        ("tampered", 1),
        ("agent-unavailable:auth", 3),
        ("gate-error:any name", 3),
        ("internal", 3),
        ("needs-human:unproven", 4),
        ("cancelled", 130),
    ],
)
def test_codes(reason: str, code: int) -> None:
    assert exit_code(reason) == code
    assert exit_code(reason, 2) == code, "a signal tells only who interrupted"


@pytest.mark.parametrize(("signal", "code"), [(2, 130), (15, 143), (1, 143)])
def test_interrupted_tells_the_signal(signal: int, code: int) -> None:
    assert exit_code("interrupted", signal) == code


def test_no_reason_is_made_up() -> None:
    with pytest.raises(KeyError):
        exit_code("done")
    assert set(EXITS) >= FINAL
    assert {f"agent-unavailable:{end}" for end in RETRIED} <= set(EXITS)
