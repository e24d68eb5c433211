"""Processes that are already there: who they are, and those of an attempt, ended with proof.

A process is an attempt's if its environment carries the marker, if it holds one of the attempt's
pipes, or if it is the recorded leader with the recorded start. A number alone proves nothing.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from donewhen.system import below, clock
from donewhen.system.locks import start_of

MARKER = "DONEWHEN_ATTEMPT"
WITHIN = "DONEWHEN_WITHIN"  # the attempts around this one, where a command runs donewhen itself
CLOCK_SLACK_S = 2.0


def cores() -> int:
    """How many processors this process may use, at least 1."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def start_time(pid: int) -> str:
    """When a process started, in a unit of the platform's; "" if there is none."""
    return start_of(pid)


def alive(pid: int, start: str) -> bool:
    """Does that very process still live? Without a start nobody can tell, and the answer is no."""
    return bool(start) and start_of(pid) == start


def ancestors(pid: int | None = None) -> list[tuple[int, str, tuple[str, ...]]]:
    """(id, name, command line) of the processes above `pid` (default: this one), nearest first.

    A command line that may not be read is empty.
    """
    import psutil

    found = []
    try:
        parents = psutil.Process(pid).parents()
    except psutil.Error:
        return []
    for parent in parents:
        try:
            name = parent.name()
        except psutil.Error:
            continue
        try:
            line = tuple(parent.cmdline())
        except psutil.Error:
            line = ()
        found.append((parent.pid, name, line))
    return found


def describe() -> dict[str, object]:
    """This process, for the record: its id, terminal ("" for none) and the chain of its parents."""
    chain = [f"{name}({pid})" for pid, name, _line in ancestors()]
    return {"pid": os.getpid(), "terminal": _terminal(), "chain": chain}


def _terminal() -> str:
    """The controlling terminal, whatever the standard streams are tied to."""
    import psutil

    try:
        return psutil.Process().terminal() or ""
    except psutil.Error:
        return ""


def marked(marker: str) -> list[int]:
    """Ids of the processes whose environment carries the marker of an attempt; never this one."""
    if not below.LINUX:
        return _marked_elsewhere(marker)
    return [pid for pid in _others() if _carries(_environ(pid), marker)]


def _carries(environ: Mapping[bytes, bytes], marker: str) -> bool:
    wanted = os.fsencode(marker)
    inside = environ.get(WITHIN.encode(), b"").split(b"\n")
    return environ.get(MARKER.encode()) == wanted or wanted in inside


def _others() -> list[int]:
    found = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208  # thousands
    return [pid for pid in found if pid != os.getpid()]


def _environ(pid: int) -> dict[bytes, bytes]:
    try:
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return {}
    return {name: value for name, _, value in (word.partition(b"=") for word in words)}


def _marked_elsewhere(marker: str) -> list[int]:
    import psutil

    found = []
    for process in psutil.process_iter():
        try:
            env = {os.fsencode(n): os.fsencode(v) for n, v in process.environ().items()}
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and _carries(env, marker):
            found.append(process.pid)
    return found


@dataclass(frozen=True)
class Trace:
    """What a shim wrote down when it started its command. Empty strings where it could not."""

    pid: int
    start: str  # as `start_of`, or "@" and seconds since the epoch
    boot: str = ""
    pipes: tuple[str, ...] = ()

    def leads(self) -> bool:
        """Is that very process still the leader of its group?"""
        if not self.start.startswith("@"):
            return alive(self.pid, self.start)
        import psutil

        try:
            began = psutil.Process(self.pid).create_time()
        except psutil.Error:
            return False
        return abs(began - float(self.start[1:])) < CLOCK_SLACK_S


def read_trace(path: Path) -> Trace | None:
    """The trace of an attempt that was started since the machine was; None if there is none."""
    try:
        pid, start, *more = path.read_text(encoding="utf-8").split()
        trace = Trace(int(pid), start, more[0] if more else "", tuple(more[1:]))
        if start.startswith("@"):
            float(start[1:])
    except (OSError, ValueError):
        return None
    return None if trace.boot not in ("", below.boot_id()) else trace


def holders(pipes: Iterable[str]) -> list[int]:
    """Ids of the processes that hold one of these pipes open (Linux)."""
    wanted = {f"pipe:[{number}]" for number in pipes}
    if not wanted or not below.LINUX:
        return []
    return [pid for pid in _others() if wanted & _links(pid)]


def _links(pid: int) -> set[str]:
    found = set()
    try:
        for handle in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208  # thousands
            found.add(os.readlink(f"/proc/{pid}/fd/{handle}"))  # noqa: PTH115
    except OSError:  # ended meanwhile, or another user's
        pass
    return found


def end_marked(marker: str, trace: Trace | None = None, seconds: float = 5.0) -> int:
    """End every process of an attempt; returns how many there were."""
    seen: set[int] = set()
    deadline = clock.monotonic() + seconds
    if trace is not None and trace.leads():
        seen.add(trace.pid)
        _kill(trace.pid, group=True)
    while left := _left(marker, trace):
        for pid in left:
            seen.add(pid)
            _kill(pid)
        if clock.monotonic() > deadline:
            break
        clock.sleep(0.01)
    return len(seen)


def _left(marker: str, trace: Trace | None) -> set[int]:
    return {*marked(marker), *(holders(trace.pipes) if trace else ())}


def _kill(pid: int, group: bool = False) -> None:
    try:
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
    except OSError:
        return
