"""The process between us and an agent or gate; it outlives the runner. Standard library only.

    python -I -S -c '(a bare package donewhen) import donewhen.system.shim; ...main()' ATTEMPT LOCK_FD

It starts the command in a session of its own, owns its pipes, writes them (redacted, bounded) to
files, ends everything the command left behind, and writes result.json, which it also says on its
standard output: what the caller hears there was said by this very process. As long as it lives it
holds the lock of the attempt. Few imports on purpose, since it starts once for every agent and
gate: posix and _signal spare the helpers of os and the enums of signal, and an imported module is
compiled once, a script never.
"""

import errno
import select
import sys
import time

from donewhen.system import below
from donewhen.system.sink import Sink, forms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal
    from collections.abc import Iterator
else:
    import _signal as signal
    import posix as os

PIPE_GRACE_S = 2.0
TERM_GRACE_S = 0.5
KILL_S = 3.0  # what lives on after that is another user's, as after sudo, or stuck in the kernel
TICK_S = 0.1
PIECE = 1 << 16
# Less than this share of one processor over the whole silence limit is what an idle event loop
# uses, not work.
IDLE_SHARE = 0.005
TICKS = os.sysconf("SC_CLK_TCK")
DEFAULT_PATH = b"/bin:/usr/bin"  # os.defpath


def write_file(attempt: str, name: str, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder."""
    path = f"{attempt}/{name}"
    temp = f"{path}.tmp"
    out = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.write(out, data)
    os.fsync(out)
    os.close(out)
    os.rename(temp, path)
    folder = os.open(attempt, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class Command:
    """The request, as system.proc wrote it: NUL between the fields, counts before lists, argv last."""

    def __init__(self, attempt: str, umask: int) -> None:
        with open(f"{attempt}/request", "rb") as request:
            words = iter(request.read().split(b"\0")[:-1])
        self.timeout, self.grace, self.silence = (float(next(words)) for _ in range(3))
        self.cwd, self.stdin = next(words), next(words)
        self.umask = umask
        self.env: dict[bytes, bytes] = dict(os.environ)  # type: ignore[arg-type]  # posix: bytes
        for word in listed(words):  # what our own interpreter changed, to be put back
            name, given, value = word.partition(b"=")
            self.env.pop(name, None)
            if given:
                self.env[name] = value
        secrets: set[bytes] = set()
        for name in listed(words):
            secrets |= forms(self.env.get(name, b""))
        self.secrets = tuple(sorted(secrets, key=len, reverse=True))
        self.argv = list(words)


def listed(words: "Iterator[bytes]") -> list[bytes]:
    return [next(words) for _ in range(int(next(words)))]


def execute(argv: list[bytes], env: dict[bytes, bytes]) -> None:
    """Become the program, looked for as os.execvpe does: a fault other than "not there" is told."""
    program = argv[0]
    if b"/" in program:
        os.execve(program, argv, env)
    fault: OSError | None = None
    told = False
    for folder in env.get(b"PATH", DEFAULT_PATH).split(b":"):
        try:
            os.execve(folder + b"/" + program if folder else program, argv, env)
        except OSError as error:
            absent = error.errno in (errno.ENOENT, errno.ENOTDIR)
            if not told:
                fault, told = error, not absent
    if fault is not None:
        raise fault


def child(command: Command, go: int, fault: int, out: int, err: int) -> None:
    """In the forked process: own session, die with the shim, wait for the go, exec."""
    stage = "start"
    try:
        parent = os.getppid()
        os.setsid()
        below.prctl(below.PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent or not os.read(go, 1):
            os._exit(1)
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    pass
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.umask(command.umask)
        stage = "cwd"
        os.chdir(command.cwd)
        stage = "stdin"
        os.dup2(os.open(command.stdin or b"/dev/null", os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        stage = "exec"
        execute(command.argv, command.env)
    except OSError as error:
        os.write(fault, f"{stage} {error.errno or errno.EIO}".encode())
    except BaseException:  # noqa: BLE001  # not one line of the shim may run on in this process
        os.write(fault, f"{stage} {errno.EINVAL}".encode())
    finally:
        os._exit(127)


class Silence:
    """Nothing said, nothing started or ended, no processor used, no file written: for how long?"""

    def __init__(self, limit: float, now: float, cwd: bytes) -> None:
        self.limit = limit
        self.cwd = cwd
        self.since = now
        self.looked = now
        self.heard = False
        self.known: set[int] = set()
        self.ticks = 0

    def over(self, now: float) -> bool:
        """Looks at most ten times in the span of the limit, since looking costs."""
        if not self.limit or now - self.looked < self.limit / 10:
            return False
        self.looked = now
        known = set(below.descendants(os.getpid()))
        ticks = below.cpu_ticks(list(known))
        used = (ticks - self.ticks) / TICKS
        if self.heard or known != self.known or used > IDLE_SHARE * self.limit:
            self.since, self.known, self.ticks = now, known, ticks
        self.heard = False
        if now - self.since <= self.limit:
            return False
        clock = time.time()
        written = below.changed(below.top(self.cwd), clock - self.limit)
        if written:  # walked only where all else is silent, since a tree can be large
            self.since = now - (clock - written)
        return now - self.since > self.limit


class Shim:
    def __init__(self, attempt: str, command: Command, reaper: bool) -> None:
        self.attempt = attempt
        self.command = command
        self.reaper = reaper  # whatever loses its parent becomes our child
        self.sinks: dict[int, Sink] = {}
        self.names: dict[int, str] = {}
        self.pid = 0
        self.status: int | None = None
        self.started = self.ended = self.kill_at = self.limits_at = 0.0
        self.cpu_s, self.maxrss = 0.0, 0
        self.timed_out = self.silent = self.cancelled = False
        self.asked_to_end = False
        self.fault = b""
        self.orphans = self.survivors = 0

    def spawn(self) -> None:
        """The command waits until its process group is on disk: no moment without a trace."""
        go_r, go_w = os.pipe()
        self.fault_r, fault_w = os.pipe()
        out_r, out_w = os.pipe()
        err_r, err_w = os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(go_w)
            child(self.command, go_r, fault_w, out_w, err_w)
        for handle in (go_r, fault_w, out_w, err_w):
            os.close(handle)
        pipes = " ".join(str(os.fstat(handle).st_ino) for handle in (out_r, err_r))
        began = below.start_ticks(self.pid) or f"@{time.time():.3f}"
        trace = f"{self.pid} {began} {below.boot_id()} {pipes}\n"
        write_file(self.attempt, "pgid", trace.encode())
        self.names = {out_r: "stdout", err_r: "stderr"}
        for handle, name in self.names.items():
            self.sinks[handle] = Sink(f"{self.attempt}/{name}", self.command.secrets)
        os.write(go_w, b"g")
        os.close(go_w)

    def reap(self) -> bool:
        """Collect what ended; remember how the command itself did. Is anything left below us?"""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.maxrss = max(self.maxrss, usage.ru_maxrss)
            if pid == self.pid:
                self.status, self.ended = status, time.monotonic()

    def send(self, number: int) -> None:
        """A signal to everything below us and, while its number is surely its own, to the group."""
        if self.status is None or not self.reaper:
            try:
                os.killpg(self.pid, number)
            except OSError:
                pass
        for target in below.descendants(os.getpid()):
            try:
                os.kill(target, number)
            except OSError:
                pass

    def watch(self) -> None:
        """Copy output until the command has ended and its pipes are shut, or time is up."""
        poll = select.poll()
        wake_r, wake_w = os.pipe()
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w, warn_on_full_buffer=False)
        for handle in (*self.sinks, self.fault_r, wake_r):
            poll.register(handle, select.POLLIN)
        silence = Silence(self.command.silence, self.started, self.command.cwd)
        shut: set[int] = set()
        self.reap()
        while self.status is None or len(shut) < len(self.sinks):
            woken = False
            for handle, _event in poll.poll(TICK_S * 1000):
                data = os.read(handle, PIECE)
                woken = woken or handle == wake_r
                if handle in self.sinks and data:
                    silence.heard = True
                    self.sinks[handle].write(data)
                elif handle == self.fault_r and data:
                    self.fault += data
                elif not data:
                    poll.unregister(handle)
                    shut |= {handle} & self.sinks.keys()
            now = time.monotonic()
            if woken or now >= self.limits_at:
                self.limits_at = now + TICK_S / 2
                if not self.reap() and self.status is None:
                    self.status, self.ended = 127 << 8, now  # somebody else collected it
                if self.status is None:
                    self.limits(now, silence)
            if self.status is not None and now - self.ended > PIPE_GRACE_S:
                break
            if self.status is None and self.kill_at and now - self.kill_at > KILL_S:
                self.ended = now
                break

    def limits(self, now: float, silence: Silence) -> None:
        """Is it time to end the command? SIGTERM first, after the grace SIGKILL until it works."""
        if self.kill_at:
            if now >= self.kill_at:
                self.send(signal.SIGKILL)
            return
        command = self.command
        self.cancelled = self.asked_to_end or below.exists(f"{self.attempt}/cancel")
        self.timed_out = bool(command.timeout) and now - self.started > command.timeout
        self.silent = silence.over(now)
        if self.timed_out or self.silent or self.cancelled:
            self.send(signal.SIGTERM)
            self.kill_at = now + command.grace

    def left(self) -> bool:
        """Is anything left of the command? A reaper without a child has no descendant either."""
        some = self.reap()
        if not self.reaper:
            try:
                os.killpg(self.pid, 0)
            except OSError:
                return some
            return True
        return some

    def end_the_rest(self) -> None:
        """Whatever the command left behind ends with it. What may not be ended is counted."""
        if not self.left():
            return
        self.orphans = len(below.descendants(os.getpid())) or 1
        self.send(signal.SIGTERM)
        self.wait_for_none(TERM_GRACE_S, 0)
        self.wait_for_none(KILL_S, signal.SIGKILL)
        if self.left():
            self.survivors = len(below.descendants(os.getpid())) or 1

    def wait_for_none(self, seconds: float, number: int) -> None:
        deadline = time.monotonic() + seconds
        pause = 0.002
        while self.left() and time.monotonic() < deadline:
            if number:
                self.send(number)
            time.sleep(pause)
            pause = min(pause * 2, 0.1)

    def close(self) -> None:
        for sink in self.sinks.values():
            sink.close()

    def report(self) -> None:
        status = signal.SIGKILL if self.status is None else self.status
        stage, _, number = self.fault.decode().partition(" ")
        flags = {n: getattr(self, n) for n in ("timed_out", "silent", "cancelled", "reaper")}
        words = [f'"{name}": {"true" if value else "false"}' for name, value in flags.items()]
        words += [f'"{self.names[h]}": {sink.size}' for h, sink in self.sinks.items()]
        words += [
            '"version": 1',
            f'"code": {os.waitstatus_to_exitcode(status)}',
            f'"seconds": {self.ended - self.started:.6f}',
            f'"errno": {number or 0}',
            f'"stage": "{stage}"',
            f'"orphans": {self.orphans}',
            f'"survivors": {self.survivors}',
            f'"cpu_s": {self.cpu_s:.6f}',
            f'"maxrss_kb": {self.maxrss if below.LINUX else self.maxrss // 1024}',
        ]
        said = f"{{{', '.join(words)}}}\n".encode()
        write_file(self.attempt, "result.json", said)
        try:
            os.write(1, said)
        except OSError:  # the caller died; the file is for the one that comes back
            pass


def main() -> None:
    attempt, lock = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(lock, False)
    command = Command(attempt, os.umask(0o077))
    shim = Shim(attempt, command, below.prctl(below.PR_SET_CHILD_SUBREAPER, 1))

    def asked(_number: int, _frame: object) -> None:
        shim.asked_to_end = True

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, asked)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # a caller that ignored it left it ignored
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    shim.spawn()
    try:
        shim.watch()
    finally:  # a fault of ours leaves nothing running either
        shim.end_the_rest()
        shim.close()
    shim.report()
    os._exit(0)  # all is said and on disk: tearing the interpreter down costs as much as loading us
