"""Locks with an owner: flock decides, the content (pid, start time, host) says who holds it.

flock ends with its process, so a stale lock recovers itself: what a killed owner left in the file
is never believed. Lock files are never removed, except together with the folder they are in.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from donewhen.errors import Locked, StoreError
from donewhen.system import clock, fs

POLL_S = 0.01
# `owner` holds a shared lock for an instant. Nobody may lose a lock to somebody who only looks, so
# a lock that names no living owner is asked for again this long, whatever `wait` says.
GRACE_S = 0.25


@dataclass(frozen=True)
class Owner:
    """Who holds a lock: process id, when it started (clock ticks since boot), which host.

    `Owner(0, "", "")` is somebody who has not signed yet.
    """

    pid: int
    start: str
    host: str


NOBODY_KNOWN = Owner(0, "", "")


def start_of(pid: int) -> str:
    """When a process started, in a unit of the platform's; "" where that cannot be known."""
    if not sys.platform.startswith("linux"):
        return _start_elsewhere(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def _start_elsewhere(pid: int) -> str:
    import psutil

    try:
        return str(psutil.Process(pid).create_time())
    except psutil.Error:
        return ""


@contextmanager
def lock(path: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold `path` exclusively, waiting at most `wait` seconds.

    Raises Locked naming the owner, StoreError where the file cannot be made or locked.
    """
    fs.make_private_dir(path.parent)
    handle = _take(path, wait)
    try:
        _sign(handle, _signature(os.getpid()))
        yield
    finally:
        _sign(handle, b"")
        os.close(handle)


@lru_cache(maxsize=1)  # by the process id, for one that was forked
def _signature(pid: int) -> bytes:
    return json.dumps(asdict(Owner(pid, start_of(pid), os.uname().nodename))).encode()


def _sign(handle: int, content: bytes) -> None:
    """The content is for people: a full disk must not cost the lock."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, content, 0)


def _take(path: Path, wait: float) -> int:
    began = clock.monotonic()
    while True:
        handle = _try(path)
        if handle is not None:
            return handle
        waited = clock.monotonic() - began
        if waited >= wait:
            held = _named(path)
            if held != NOBODY_KNOWN:
                raise Locked(f"{path} is held by process {held.pid} on {held.host}")
            if waited >= wait + GRACE_S:
                raise Locked(f"{path} is held by another process")
        clock.sleep(POLL_S)


def _try(path: Path) -> int | None:
    """The locked file, None if somebody holds it."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot(path, error) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError as error:
        os.close(handle)
        raise _cannot(path, error) from error
    return handle


def owner(path: Path) -> Owner | None:
    """Who holds the lock now; None if nobody alive does. Waits for nothing, needs no write access."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _named(path)
    except OSError:
        return None
    finally:
        os.close(handle)
    return None


def _named(path: Path) -> Owner:
    """The owner that the content names, unless that is a dead process's word."""
    try:
        data = json.loads(path.read_bytes())
        found = Owner(int(data["pid"]), str(data["start"]), str(data["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return NOBODY_KNOWN
    here = found.host == os.uname().nodename
    return NOBODY_KNOWN if here and start_of(found.pid) != found.start else found


def _cannot(path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot lock {path}: {error.strerror}", hint="Type: donewhen doctor")
