"""Starting the shim for a request, hearing what it says at its end, and why a command cannot start."""

from __future__ import annotations

import errno
import os
import select
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from donewhen.system import fs, orphans, process
from donewhen.system.redact import is_secret

# A bare package, so that the shim loads its three modules and nothing else of ours.
SHIM = (
    "import sys; ours = sys.modules['donewhen'] = type(sys)('donewhen'); "
    f"ours.__path__ = [{str(Path(__file__).parents[1])!r}]; "
    "import donewhen.system.shim as shim; shim.main()"
)
# What an interpreter sets in its own environment as it starts.
CHANGED = ("LC_CTYPE", "__CF_USER_TEXT_ENCODING", "__PYVENV_LAUNCHER__")


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


class Unstartable(Exception):
    """Not even the shim could be started; the text says why. Never leaves system/."""


class Shim:
    """A shim of ours, and the pipe on which it says its result at first hand."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.process = process
        self.pipe = process.stdout
        self.said = b""
        self.poll = select.poll()
        self.poll.register(self.pipe, select.POLLIN)

    def ended(self, seconds: float) -> bool:
        """Waits up to `seconds` for the shim to end."""
        if not self.poll.poll(seconds * 1000):
            return False
        data = os.read(self.pipe.fileno(), 1 << 16)
        self.said += data
        if data:
            return False
        self.process.wait()
        orphans.KNOWN.discard(self.process.pid)
        self.pipe.close()
        return True


def start(request: Request, attempt: Path, lock: int) -> Shim:
    """Start the shim, which inherits the lock. Raises Unstartable."""
    fs.write_atomic(attempt / "request", written(request), durable=False)
    log = os.open(attempt / "shim.log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with orphans.STARTING:
            started = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", SHIM, str(attempt), str(lock)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                env=environment(request),
                pass_fds=(lock,),
                start_new_session=True,
            )
            orphans.KNOWN.add(started.pid)
        return Shim(started)
    except OSError as error:
        raise Unstartable(no_shim(request, error)) from error
    finally:
        os.close(log)


def written(request: Request) -> bytes:
    """The request as the shim reads it; of secrets only the names. Raises Unstartable."""
    names = [name for name in request.env if is_secret(name)]
    env = request.env
    put_back = [f"{name}={env[name]}" if name in env else name for name in CHANGED]
    words = [
        *(str(number) for number in (request.timeout, request.grace, request.silence)),
        str(request.cwd),
        str(request.stdin or ""),
        *(str(len(put_back)), *put_back),
        *(str(len(names)), *names),
        *request.argv,
        "",
    ]
    if not request.argv:
        raise Unstartable("an empty command line")
    if any("\0" in word for word in words):
        raise Unstartable(f"{request.argv[0]!r}: a NUL byte in its command line or folder")
    return "\0".join(words).encode("utf-8", "surrogateescape")


def environment(request: Request) -> dict[str, str]:
    """The child's environment, marked; what no environment can hold is left out."""
    env = {k: v for k, v in request.env.items() if k and "=" not in k and "\0" not in k + v}
    env[process.MARKER] = request.marker
    around = [os.environ.get(process.WITHIN, ""), os.environ.get(process.MARKER, "")]
    if any(around):  # we run inside an attempt: whoever ends that one finds these processes too
        env[process.WITHIN] = "\n".join(filter(None, around))
    return env


def size(request: Request) -> str:
    """How much a command brings along, and the largest piece of it."""
    pieces = [(len(os.fsencode(value)), name) for name, value in request.env.items()]
    pieces += [(len(os.fsencode(word)), "an argument") for word in request.argv]
    largest, name = max(pieces)
    return f"about {sum(length for length, _ in pieces)} bytes in all, most in {name} ({largest})"


def no_shim(request: Request, error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return f"{request.argv[0]}: {error.strerror}: its environment is {size(request)}"
    return f"{request.argv[0]}: cannot start {sys.executable} for it: {error.strerror}"


def why(request: Request, stage: str, number: int) -> str:
    """Why the shim could not start the command, for a person. `stage` is what it was about to do."""
    program, said = request.argv[0], os.strerror(number)
    if stage == "cwd":
        return f"{program}: {said}: its folder {request.cwd}"
    if stage == "stdin":
        return f"{program}: {said}: its standard input {request.stdin}"
    if number == errno.E2BIG:
        return f"{program}: {said}: {size(request)}"
    if number == errno.ENOEXEC:
        return f"{program}: {said}: neither a program for this machine nor a script with a #! line"
    if "/" not in program:
        return f"{program}: {said} (looked in PATH={request.env.get('PATH', os.defpath)})"
    place = request.cwd / program
    if place.is_dir():
        return f"{program}: {said}: it is a folder"
    if number == errno.ENOENT and place.exists():
        return f"{program}: {said}: the interpreter in its first line"
    return f"{program}: {said}"
