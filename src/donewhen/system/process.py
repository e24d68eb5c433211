"""Processes that are already there: found by marker or id, ended only with proof that they are ours."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from donewhen.system import clock
from donewhen.system.locks import start_of

MARKER = "DONEWHEN_ATTEMPT"


def marked(marker: str) -> list[int]:
    """Ids of the processes whose environment carries the marker of an attempt."""
    wanted = f"{MARKER}={marker}".encode()
    if not sys.platform.startswith("linux"):
        return _marked_elsewhere(marker)
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208  # thousands of entries: no Path for each
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                environ = Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if wanted in environ.split(b"\0"):
                found.append(int(entry))
    return found


def _marked_elsewhere(marker: str) -> list[int]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARKER) == marker:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def end_marked(marker: str, seconds: float = 5.0) -> int:
    """End every process of an attempt; returns how many there were."""
    seen: set[int] = set()
    deadline = clock.monotonic() + seconds
    while left := marked(marker):
        for pid in left:
            seen.add(pid)
            _kill(pid)
        if clock.monotonic() > deadline:
            break
        clock.sleep(0.01)
    return len(seen)


def end_group(pgid: int, start: str) -> None:
    """End a process group if its leader is still the one that was started."""
    if start and start_of(pgid) == start:
        try:
            os.killpg(pgid, signal.SIGKILL)
        except OSError:
            return


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return
