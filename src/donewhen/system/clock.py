"""The clock: everything else is handed the time."""

from __future__ import annotations

import time


def now() -> float:
    """Seconds since the epoch."""
    return time.time()


def monotonic() -> float:
    """Seconds of a clock that never goes back."""
    return time.monotonic()


def sleep(seconds: float) -> None:
    time.sleep(max(0.0, seconds))


def stamp(at: float) -> str:
    """`2026-12-01T03:00:00Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def compact(at: float) -> str:
    """`20261201-030000`, as in run ids."""
    return time.strftime("%Y%m%d-%H%M%S", time.gmtime(at))
