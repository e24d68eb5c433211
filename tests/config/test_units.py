"""config.units: numbers, durations and money as people type them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.config import units
from donewhen.config.units import FLAGS, iterations, limit_flags, money, seconds, tokens, whole
from donewhen.core.contract import Limits
from donewhen.core.events import Usage
from donewhen.errors import UsageError
from donewhen.ui.text import duration


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("08", 8), ("007", 7), ("1000", 1000), (10, 10)]
)
def test_iterations(text: str | int, number: int) -> None:
    assert iterations(text) == number


@pytest.mark.parametrize("text", ["0", "1001", "99999", "00"])
def test_iterations_out_of_range(text: str) -> None:
    with pytest.raises(ValueError, match="1 to 1000"):
        iterations(text)


@pytest.mark.parametrize(
    "text", ["", " ", "-1", "+1", "1e3", "0x10", "1_000", "1.0", "ten", "٣", "8\n", True, "9" * 16]
)
def test_what_is_no_whole_number(text: Any) -> None:
    with pytest.raises(ValueError, match="whole number"):
        whole(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("90s", 90.0),
        ("30m", 1800.0),
        ("4h", 14400.0),
        ("1h30m", 5400.0),
        ("1h0m5s", 3605.0),
        ("1.5h", 5400.0),
        ("0.5s", 0.5),
        ("8760h", 31536000.0),
    ],
)
def test_durations(text: str, found: float) -> None:
    assert seconds(text) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "duration such as"),
        ("30", "duration such as"),
        ("30m1h", "duration such as"),
        ("1h 30m", "duration such as"),
        ("-5m", "duration such as"),
        ("5d", "duration such as"),
        ("soon", "duration such as"),
        ("0s", "longer than nothing"),
        ("0h0m", "longer than nothing"),
        ("8761h", "at most a year"),
    ],
)
def test_what_is_no_duration(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        seconds(text)


@given(st.integers(1, 365 * 24 * 3600))
def test_a_shown_duration_reads_back(count: int) -> None:
    assert seconds(duration(count)) == count


@pytest.mark.parametrize(
    ("text", "found"), [("5", 5.0), ("2.50", 2.5), (0.1, 0.1), ("0.000001", 1e-6)]
)
def test_money(text: str | float, found: float) -> None:
    assert money(text) == found


@pytest.mark.parametrize("text", ["", "$5", "-1", "1e3", "inf", "nan", "5,00", ".5", True])
def test_what_is_no_money(text: Any) -> None:
    with pytest.raises(ValueError, match="amount such as"):
        money(text)


@pytest.mark.parametrize(("read", "text"), [(money, "0"), (money, "0.00"), (tokens, "0")])
def test_nothing_is_no_budget(read: Callable[[str], float], text: str) -> None:
    with pytest.raises(ValueError, match=r"more than 0|at least 1"):
        read(text)


def test_flags_become_limits() -> None:
    assert limit_flags(max_iter="08", budget_usd="2.5", budget_tokens=None, timeout="1h30m") == {
        "max_iterations": 8,
        "usd": 2.5,
        "wall_s": 5400.0,
    }
    assert limit_flags(max_iter=None) == {}


@pytest.mark.parametrize("name", FLAGS)
def test_a_bad_flag_is_named_and_an_example_is_given(name: str) -> None:
    flag, _field, read, example = FLAGS[name]
    with pytest.raises(UsageError, match=f"{flag} 'oops' must be") as caught:
        limit_flags(**{name: "oops"})
    assert caught.value.hint == f"Type: {flag} {example}"
    assert read(example)


def test_bounds_are_read_from_their_variables_and_only_lower() -> None:
    bounds = units.ceilings({"DONEWHEN_MAX_ITER": "08", "DONEWHEN_BUDGET_USD": "2.5", "OTHER": "x"})
    assert bounds == {"max_iterations": 8, "usd": 2.5}
    assert units.lowered(Limits(), bounds) == Limits(max_iterations=8, usd=2.5)
    lower = Limits(max_iterations=3, usd=1.0)
    assert units.lowered(lower, bounds) == lower
    assert units.lowered(lower, {}) == lower


@given(
    st.integers(1, 1000),
    st.floats(0, 1e6),
    st.integers(0, 10**9),
    st.floats(0, 2e6),
    st.integers(0, 2 * 10**9),
    st.floats(0.001, 1e6),
)
def test_what_is_handed_on_can_be_read_and_is_never_more_than_is_left(
    iterations: int, usd: float, tokens: int, used_usd: float, used: int, left_s: float
) -> None:
    limits = Limits(max_iterations=iterations, usd=usd, tokens=tokens)
    handed = units.handed_on(limits, Usage(used_usd, used), iterations - 1, left_s)
    bounds = units.ceilings(handed)
    assert bounds["max_iterations"] == 1
    assert bounds["wall_s"] <= max(1.0, left_s)
    assert ("usd" in bounds, "tokens" in bounds) == (usd > 0, tokens > 0)
    assert bounds.get("usd", 0) <= max(0.000002, usd - used_usd + 0.000001)
    assert bounds.get("tokens", 0) <= max(1, tokens - used)
