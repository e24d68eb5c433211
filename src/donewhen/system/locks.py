"""Locks with an owner: flock decides, the content (pid, start time, host) says who holds it.

flock ends with its process, so a stale lock recovers itself; the content is for people.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from donewhen.errors import Locked, StoreError
from donewhen.system import clock, fs


@dataclass(frozen=True)
class Owner:
    """Who holds a lock: process id, when it started (clock ticks since boot), which host."""

    pid: int
    start: str
    host: str


def start_of(pid: int) -> str:
    """When a process started, in clock ticks since boot; "" where that cannot be known."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


@contextmanager
def lock(path: Path, wait: float = 0.0) -> Iterator[None]:
    """Hold `path` exclusively, waiting at most `wait` seconds.

    Raises Locked naming the owner, StoreError where the file cannot be made.
    """
    fs.make_private_dir(path.parent)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror}") from error
    try:
        _take(handle, path, wait)
        me = {"pid": os.getpid(), "start": start_of(os.getpid()), "host": socket.gethostname()}
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps(me).encode(), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _take(handle: int, path: Path, wait: float) -> None:
    deadline = clock.monotonic() + wait
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if clock.monotonic() >= deadline:
                held = _read(path)
                who = f"process {held.pid} on {held.host}" if held else "another process"
                raise Locked(f"{path.name} is held by {who}") from error
        clock.sleep(0.01)


def owner(path: Path) -> Owner | None:
    """Who holds the lock now; None if nobody alive does. Takes nothing, needs no write access."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(path) or Owner(0, "", "")
    finally:
        os.close(handle)
    return None


def _read(path: Path) -> Owner | None:
    try:
        data = json.loads(path.read_bytes())
        return Owner(int(data["pid"]), str(data["start"]), str(data["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
