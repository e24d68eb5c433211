"""What lost its parent below this process, where the kernel hands it to us. Linux; elsewhere nothing.

A shim takes in whatever its command leaves behind. If the shim itself is killed, its processes come
to a runner that asked for them, also those that hid: own session, no environment, no open pipe.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading

from donewhen.system import below, clock

# Known children of this process: shims at work, and what was there before we asked.
KNOWN: set[int] = set()
STARTING = threading.Lock()  # held while a child is started that is not yet known
_asked = False


def adopt() -> None:
    """Ask for them. Only for a process of our own: a library's caller may have children like these."""
    global _asked
    if not _asked:
        KNOWN.update(_children())
        _asked = below.prctl(below.PR_SET_CHILD_SUBREAPER, 1)


def end(seconds: float = 3.0) -> int:
    """End the strangers among our children, and all below them; returns how many there were.

    What we start ourselves is a known shim or shares our session. An agent's processes never do.
    """
    ended: set[int] = set()
    deadline = clock.monotonic() + seconds
    while strangers := _strangers():
        under = [one for pid in strangers for one in below.descendants(pid)]
        for pid in (*strangers, *under):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
            ended.add(pid)
        for pid in strangers:
            with contextlib.suppress(OSError):
                os.waitpid(pid, os.WNOHANG)
        if clock.monotonic() > deadline:
            break
        clock.sleep(0.01)
    return len(ended)


def _strangers() -> list[int]:
    if not _asked:
        return []
    with STARTING:
        return [pid for pid in _children() if pid not in KNOWN and not _shares_session(pid)]


def _shares_session(pid: int) -> bool:
    try:
        return os.getsid(pid) == os.getsid(0)
    except OSError:  # gone meanwhile
        return True


def _children() -> list[int]:
    if not below.LINUX:
        return []
    try:
        return below.children(os.getpid())
    except FileNotFoundError:
        return below.family().get(os.getpid(), [])
