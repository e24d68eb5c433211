"""run_once: the only spawner of agents and gates. A caller that comes back finds what it started.

An attempt folder holds `lock` (held exactly as long as the shim lives), `request`, `pgid`,
`result.json` and the output files. Result there: use it. Lock held: adopt and wait. Neither, but a
`pgid`: the shim died; what it left is ended and the outcome is `lost`. A caller that started the
shim itself believes what the shim says on its pipe, never a file that somebody may have written.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.errors import SpawnError, StoreError
from donewhen.system import clock, fs, orphans, process, spawn
from donewhen.system.output import Follower, Output
from donewhen.system.spawn import Request

__all__ = ["Outcome", "Request", "adoptable", "capture", "run_once", "was_cancelled"]

POLL_S = (0.005, 0.008, 0.012, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class Outcome:
    """How it ended. `code` is negative for a signal; `lost` means the shim died without a word.

    `orphans` outlived the command and were ended, `survivors` could not be. `unheard` bytes of
    standard output were gone before `on_stdout` could be handed them.
    """

    code: int
    seconds: float
    stdout: Output
    stderr: Output
    timed_out: bool = False
    silent: bool = False
    cancelled: bool = False
    lost: bool = False
    spawn_error: str = ""
    orphans: int = 0
    survivors: int = 0
    cpu_s: float = 0.0
    maxrss_kb: int = 0
    unheard: int = 0


def adoptable(attempt: Path) -> str:
    """`result`, `running`, `dead` (started, but its shim is gone) or `new`."""
    if (attempt / "result.json").exists():
        return "result"
    if _held(attempt / "lock"):
        return "running"
    return "dead" if (attempt / "pgid").exists() else "new"


def was_cancelled(attempt: Path) -> bool:
    """Did the attempt end because its caller asked for that?"""
    try:
        return bool(json.loads((attempt / "result.json").read_bytes())["cancelled"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _held(path: Path) -> bool:
    from donewhen.system.locks import owner

    return owner(path) is not None


def run_once(
    request: Request,
    attempt: Path,
    *,
    on_stdout: Callable[[bytes], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Outcome:
    """Run the request in its attempt folder, once, whoever calls how often. Raises StoreError.

    `on_stdout` is handed the output as it comes; `cancelled` is polled, and true ends the command.
    A command that cannot start is an Outcome with `spawn_error`, never an exception.
    """
    fs.make_private_dir(attempt)
    follower = Follower(attempt / "stdout", on_stdout or _ignore)
    with contextlib.closing(follower), contextlib.ExitStack() as kept:
        handle = _opened(attempt / "lock")
        lock = kept.enter_context(os.fdopen(handle, "r+b", buffering=0))
        if not _lock(handle):
            _follow(attempt, follower, cancelled, lambda pause: _freed(handle, pause))
        # Nobody else is at it. Whoever held the lock may also only have looked, or died early.
        said = fs.read_bytes(attempt / "result.json")
        if said is None and not (attempt / "pgid").exists():
            try:
                shim = spawn.start(request, attempt, handle)
            except spawn.Unstartable as error:
                return _unstarted(attempt, str(error))
            kept.callback(shim.pipe.close)
            lock.close()  # from here on it lives as long as the shim
            _follow(attempt, follower, cancelled, shim.ended)
            said = shim.said
        follower.pump()
        _make_private(attempt)
        return _outcome(request, attempt, said, follower.skipped)


def _make_private(attempt: Path) -> None:
    """What the command wrote into its attempt folder, such as reports, by the user's own umask."""
    for folder, below, names in os.walk(attempt):
        for name in (*below, *names):
            path = Path(folder, name)
            with contextlib.suppress(OSError):
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode) and mode & 0o077:
                    path.chmod(stat.S_IMODE(mode) & ~0o077)


def _ignore(_data: bytes) -> None:
    return


def _opened(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _cannot(f"open {path}", error) from error


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # a file system without locks: better not started than started twice
        raise _cannot("lock an attempt folder", error) from error
    return True


def _cannot(what: str, error: OSError) -> StoreError:
    return StoreError(f"cannot {what}: {error.strerror}", hint="Type: donewhen doctor")


def _freed(handle: int, pause: float) -> bool:
    clock.sleep(pause)
    return _lock(handle)


def _follow(
    attempt: Path,
    follower: Follower,
    cancelled: Callable[[], bool] | None,
    ended: Callable[[float], bool],
) -> None:
    """Hand on output until the shim is gone; polls faster while there is news."""
    quiet = 0
    asked = False
    while not ended(POLL_S[min(quiet, len(POLL_S) - 1)]):
        quiet = 0 if follower.pump() else quiet + 1
        if not asked and cancelled is not None and cancelled():
            with contextlib.suppress(OSError):  # a full disk: asked again at the next look
                (attempt / "cancel").touch(mode=0o600)
                asked = True


def _outcome(request: Request, attempt: Path, said: bytes | None, unheard: int) -> Outcome:
    try:
        found: dict[str, Any] = json.loads(said or b"")
        outcome = Outcome(
            code=found["code"],
            seconds=found["seconds"],
            stdout=Output(attempt / "stdout", found["stdout"]),
            stderr=Output(attempt / "stderr", found["stderr"]),
            timed_out=found["timed_out"],
            silent=found["silent"],
            cancelled=found["cancelled"],
            spawn_error=spawn.why(request, found["stage"], found["errno"])
            if found["errno"]
            else "",
            orphans=found["orphans"],
            survivors=found["survivors"],
            cpu_s=found["cpu_s"],
            maxrss_kb=found["maxrss_kb"],
            unheard=unheard,
        )
    except (ValueError, KeyError, TypeError):
        return _lost(request, attempt)
    if not found["reaper"]:  # no kernel that hands us the orphans: look for them
        process.end_marked(request.marker)
    return outcome


def _lost(request: Request, attempt: Path) -> Outcome:
    """The shim died: end what it left. A result that it did not live to say is nobody's word."""
    ended = process.end_marked(request.marker, process.read_trace(attempt / "pgid"))
    ended += orphans.end()
    (attempt / "result.json").unlink(missing_ok=True)
    return _nothing(attempt, -9, lost=True, orphans=ended)


def _unstarted(attempt: Path, why: str) -> Outcome:
    """No shim, no trace: the next call with this folder tries again."""
    return _nothing(attempt, 127, spawn_error=why)


def _nothing(
    attempt: Path, code: int, lost: bool = False, spawn_error: str = "", orphans: int = 0
) -> Outcome:
    out, err = (Output(attempt / name, 0) for name in ("stdout", "stderr"))
    out, err = Output(out.base, out.kept), Output(err.base, err.kept)
    return Outcome(code, 0.0, out, err, lost=lost, spawn_error=spawn_error, orphans=orphans)


def capture(
    argv: tuple[str, ...], cwd: Path, env: Mapping[str, str], timeout: float
) -> tuple[int, bytes, bytes]:
    """A short question to a program: exit code, output, errors. Raises SpawnError if it cannot run."""
    try:
        done = subprocess.run(
            argv,
            cwd=cwd,
            env=dict(env),
            capture_output=True,
            timeout=timeout,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SpawnError(f"{argv[0]}: {error}") from error
    return done.returncode, done.stdout, done.stderr
