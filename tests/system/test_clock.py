"""Times as they are written: UTC, in two shapes."""

from __future__ import annotations

import time

import pytest

from donewhen.system import clock


@pytest.mark.parametrize(
    ("at", "stamp", "compact"),
    [
        (0.0, "1970-01-01T00:00:00Z", "19700101-000000"),
        (1796094000.9, "2026-12-01T03:00:00Z", "20261201-030000"),
        (951782400.0, "2000-02-29T00:00:00Z", "20000229-000000"),
    ],
)
def test_stamps_are_utc_whatever_the_zone(
    at: float, stamp: str, compact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    try:
        assert clock.stamp(at) == stamp
        assert clock.compact(at) == compact
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_clocks_move_on_and_sleep_takes_no_negative_time() -> None:
    before, wall = clock.monotonic(), clock.now()
    clock.sleep(-1)
    clock.sleep(0.01)
    assert clock.monotonic() - before >= 0.01
    assert abs(clock.now() - wall) < 60
