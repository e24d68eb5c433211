"""run_once: the only spawner of agents and gates. A caller that comes back finds what it started.

An attempt folder holds `lock` (held exactly as long as the shim lives), `request`, `pgid`,
`result.json` and the output files. Result there: use it. Lock held: adopt and wait. Neither, but a
`pgid`: the shim died; what it left is ended and the outcome is `lost`.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from donewhen.errors import SpawnError
from donewhen.system import clock, fs, process
from donewhen.system.output import Follower, Output
from donewhen.system.redact import SHORTEST, is_secret

SHIM = f"import sys; sys.path.append({str(Path(__file__).parent)!r}); import shim; shim.main()"
POLL_S = (0.002, 0.003, 0.005, 0.008, 0.012, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class Request:
    """What to start. Seconds for times, 0 for none; `env` is the whole environment of the child."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    marker: str
    stdin: Path | None = None
    timeout: float = 0.0
    grace: float = 5.0
    silence: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How it ended. `code` is negative for a signal; `lost` means the shim died without a word."""

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
    cpu_s: float = 0.0
    maxrss_kb: int = 0


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
    except (OSError, ValueError, KeyError):
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
    """Run the request in its attempt folder, once, whoever calls how often.

    `on_stdout` is handed the output as it comes; `cancelled` is polled, and true ends the command.
    Raises SpawnError only if our own shim cannot start; a command that cannot is an Outcome.
    """
    fs.make_private_dir(attempt)
    handle = os.open(attempt / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    follower = Follower(attempt / "stdout", on_stdout or _ignore)
    try:
        mine = _lock(handle)
        if mine and not (attempt / "result.json").exists():
            if (attempt / "pgid").exists():
                return _lost(request, attempt)
            shim = _start(request, attempt, handle)
            os.close(handle)
            handle = -1
            _follow(attempt, follower, cancelled, lambda: shim.poll() is None)
        elif not mine:
            _follow(attempt, follower, cancelled, lambda: not _lock(handle))
    finally:
        if handle >= 0:
            os.close(handle)
    follower.pump()
    return _outcome(request, attempt)


def _ignore(_data: bytes) -> None:
    return


def _lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _start(request: Request, attempt: Path, lock: int) -> subprocess.Popen[bytes]:
    names = [n for n, v in request.env.items() if is_secret(n) and len(v) >= SHORTEST]
    words = [
        str(request.timeout),
        str(request.grace),
        str(request.silence),
        str(request.cwd),
        str(request.stdin or ""),
        "\n".join(names),
        *request.argv,
        "",
    ]
    if any("\0" in word for word in words):
        raise SpawnError(f"a NUL byte in the command line of {request.argv[0]!r}")
    data = "\0".join(words).encode("utf-8", "surrogateescape")
    fs.write_atomic(attempt / "request", data)
    env = {k: v for k, v in request.env.items() if k and "\0" not in v and "=" not in k}
    env[process.MARKER] = request.marker
    try:
        log = os.open(attempt / "shim.log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            return subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", SHIM, str(attempt), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                env=env,
                pass_fds=(lock,),
                start_new_session=True,
            )
        finally:
            os.close(log)
    except OSError as error:
        raise SpawnError(f"cannot start {sys.executable}: {error.strerror}") from error


def _follow(
    attempt: Path,
    follower: Follower,
    cancelled: Callable[[], bool] | None,
    running: Callable[[], bool],
) -> None:
    """Hand on output until the shim is gone; polls faster while there is news."""
    quiet = 0
    asked = False
    while running():
        quiet = 0 if follower.pump() else quiet + 1
        if not asked and cancelled is not None and cancelled():
            asked = True
            (attempt / "cancel").touch()
        clock.sleep(POLL_S[min(quiet, len(POLL_S) - 1)])


def _outcome(request: Request, attempt: Path) -> Outcome:
    try:
        said = json.loads((attempt / "result.json").read_bytes())
    except (OSError, ValueError):
        return _lost(request, attempt)
    error = ""
    if said["errno"]:
        error = f"{request.argv[0]}: {said['error']} (looked in PATH={request.env.get('PATH', '')})"
    return Outcome(
        code=said["code"],
        seconds=said["seconds"],
        stdout=Output(attempt / "stdout", said["stdout"]),
        stderr=Output(attempt / "stderr", said["stderr"]),
        timed_out=said["timed_out"],
        silent=said["silent"],
        cancelled=said["cancelled"],
        spawn_error=error,
        orphans=said["orphans"],
        cpu_s=said["cpu_s"],
        maxrss_kb=said["maxrss_kb"],
    )


def _lost(request: Request, attempt: Path) -> Outcome:
    """The shim died: end what it left, by its marker and by its group."""
    orphans = process.end_marked(request.marker)
    try:
        pgid, _, start = (attempt / "pgid").read_text().strip().partition(" ")
        process.end_group(int(pgid), start)
    except (OSError, ValueError):
        pass
    nothing = {n: Output(attempt / n, 0) for n in ("stdout", "stderr")}
    return Outcome(-9, 0.0, nothing["stdout"], nothing["stderr"], lost=True, orphans=orphans)


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
