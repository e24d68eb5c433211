"""The process between us and an agent or gate; it outlives the runner. Standard library only.

    python -I -S -c 'import sys; sys.path.append(FOLDER); import shim; shim.main()' ATTEMPT LOCK_FD

It starts the command in a session of its own, owns its pipes, writes them (redacted, bounded) to
files, ends everything the command left behind, and writes result.json. As long as it lives it
holds the lock of the attempt. Few imports on purpose, since it starts once for every agent and
gate: _signal spares the enums of signal, and an imported module is compiled once, a script never.
Imports nothing of ours.
"""

import errno
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

HEAD = 32 << 20
SEGMENT = 8 << 20
SEGMENTS = 4
PIPE_GRACE_S = 2.0
TERM_GRACE_S = 0.5
TICK_S = 0.1
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LINUX = sys.platform.startswith("linux")


def prctl(option: int, value: int) -> None:
    """Linux only, best effort."""
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class Sink:
    """One output stream on disk: a head, then segments of which the oldest go."""

    def __init__(self, folder: str, name: str, secrets: list[bytes]) -> None:
        self.base = os.path.join(folder, name)
        self.secrets = secrets
        self.hold = max((len(s) for s in secrets), default=1) - 1
        self.carry = b""
        self.size = 0
        self.number = 0
        self.room = HEAD
        self.out = self._open()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.open(f"{self.base}.{self.number}", flags, 0o600)

    def write(self, data: bytes) -> None:
        data = self.carry + data
        for secret in self.secrets:
            if secret in data:
                data = data.replace(secret, b"[redacted]")
        keep = self._may_begin_a_secret(data)
        self.carry = data[len(data) - keep :] if keep else b""
        self._put(data[: len(data) - keep] if keep else data)

    def _may_begin_a_secret(self, data: bytes) -> int:
        """How many bytes at the end could be the start of a secret."""
        for length in range(min(self.hold, len(data)), 0, -1):
            tail = data[-length:]
            if any(s.startswith(tail) for s in self.secrets):
                return length
        return 0

    def _put(self, data: bytes) -> None:
        while data:
            if not self.room:
                os.close(self.out)
                self.number += 1
                self.room = SEGMENT
                self.out = self._open()
                if self.number > SEGMENTS:
                    os.unlink(f"{self.base}.{self.number - SEGMENTS}")
            piece, data = data[: self.room], data[self.room :]
            self.size += len(piece)
            self.room -= len(piece)
            try:
                os.write(self.out, piece)
            except OSError:  # a full disk loses output, never the child
                pass

    def close(self) -> None:
        self._put(self.carry)
        os.close(self.out)


def start_ticks(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return ""


def children(pid: int) -> list[int]:
    """Direct children, by the kernel's own list (Linux)."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", "rb") as listed:
                found += [int(word) for word in listed.read().split()]
    except OSError:
        pass
    return found


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    queue = children(pid)
    while queue:
        one = queue.pop()
        found.append(one)
        queue += children(one)
    return found


def send(number: int, pid: int) -> None:
    """A signal to the command's group and to everything below us."""
    for target in descendants(os.getpid()) if LINUX else []:
        try:
            os.kill(target, number)
        except OSError:
            pass
    try:
        os.killpg(pid, number)
    except OSError:
        pass


def cpu_below(pid: int) -> int:
    """Clock ticks used by all descendants."""
    total = 0
    for one in descendants(pid):
        try:
            with open(f"/proc/{one}/stat", "rb") as stat:
                words = stat.read().rpartition(b")")[2].split()
            total += int(words[11]) + int(words[12])
        except (OSError, IndexError):
            pass
    return total


def write_file(path: str, data: bytes) -> None:
    """Temporary file in the same folder, fsync, rename, fsync of the folder."""
    temp = f"{path}.tmp"
    out = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    os.write(out, data)
    os.fsync(out)
    os.close(out)
    os.rename(temp, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


class Command:
    """The request, as system.proc wrote it: NUL between the fields, argv last."""

    def __init__(self, attempt: str) -> None:
        with open(os.path.join(attempt, "request"), "rb") as request:
            words = request.read().split(b"\0")
        self.timeout, self.grace, self.silence = (float(w) for w in words[:3])
        self.cwd, self.stdin, names = words[3:6]
        self.argv = words[6:-1]
        self.env = dict(os.environb)
        values = {self.env[n] for n in names.split(b"\n") if n in self.env}
        self.secrets = sorted(values, key=len, reverse=True)


def child(command: Command, go: int, fault: int, out: int, err: int) -> None:
    """In the forked process: own session, die with the shim, wait for the go, exec."""
    try:
        parent = os.getppid()
        os.setsid()
        if LINUX:
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(1)
        if not os.read(go, 1):
            os._exit(1)
        for number in range(1, signal.NSIG):
            if number not in (signal.SIGKILL, signal.SIGSTOP):
                try:
                    signal.signal(number, signal.SIG_DFL)
                except (OSError, ValueError):
                    pass
        os.chdir(command.cwd)
        os.dup2(os.open(command.stdin or b"/dev/null", os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.execvpe(command.argv[0], command.argv, command.env)
    except OSError as error:
        os.write(fault, str(error.errno or errno.EIO).encode())
    finally:
        os._exit(127)


class Shim:
    def __init__(self, attempt: str) -> None:
        self.attempt = attempt
        self.command = Command(attempt)
        self.status: int | None = None
        self.usage = (0.0, 0)
        self.timed_out = self.silent = self.cancelled = False
        self.asked_to_end = False
        self.spawn_errno = 0

    def spawn(self) -> None:
        go_r, go_w = os.pipe()
        fault_r, fault_w = os.pipe()
        self.out_r, out_w = os.pipe()
        self.err_r, err_w = os.pipe()
        self.started = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(go_w)
            child(self.command, go_r, fault_w, out_w, err_w)
        for handle in (go_r, fault_w, out_w, err_w):
            os.close(handle)
        mine = f"{self.pid} {start_ticks(self.pid)}\n".encode()
        write_file(os.path.join(self.attempt, "pgid"), mine)
        os.write(go_w, b"g")
        os.close(go_w)
        self.spawn_errno = int(os.read(fault_r, 16) or b"0")
        os.close(fault_r)

    def reap(self) -> None:
        """Collect everything that ended; remember how the command itself did."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            cpu = usage.ru_utime + usage.ru_stime
            self.usage = (self.usage[0] + cpu, max(self.usage[1], usage.ru_maxrss))
            if pid == self.pid:
                self.status = status

    def watch(self) -> None:
        """Copy output until the command has ended and its pipes are shut, or time is up."""
        sinks = {
            self.out_r: Sink(self.attempt, "stdout", self.command.secrets),
            self.err_r: Sink(self.attempt, "stderr", self.command.secrets),
        }
        poll = select.poll()
        for handle in sinks:
            poll.register(handle, select.POLLIN | select.POLLHUP)
        wake_r, wake_w = os.pipe()
        os.set_blocking(wake_w, False)
        signal.set_wakeup_fd(wake_w)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        poll.register(wake_r, select.POLLIN)
        open_pipes = set(sinks)
        ended_at = kill_at = 0.0
        last_byte, last_cpu = self.started, 0
        self.reap()
        while open_pipes or self.status is None:
            for handle, _event in poll.poll(TICK_S * 1000):
                if handle == wake_r:
                    os.read(wake_r, 4096)
                    continue
                data = os.read(handle, 1 << 16)
                if data:
                    last_byte = time.monotonic()
                    sinks[handle].write(data)
                else:
                    poll.unregister(handle)
                    open_pipes.discard(handle)
            self.reap()
            now = time.monotonic()
            if self.status is not None:
                ended_at = ended_at or now
                if now - ended_at > PIPE_GRACE_S:
                    break
                continue
            if kill_at:
                if now >= kill_at:
                    send(signal.SIGKILL, self.pid)
                continue
            if self.command.silence and now - last_byte > self.command.silence:
                cpu = cpu_below(os.getpid())
                if cpu > last_cpu:
                    last_byte, last_cpu = now, cpu
                else:
                    self.silent = True
            self.timed_out = (
                bool(self.command.timeout) and now - self.started > self.command.timeout
            )
            self.cancelled = self.asked_to_end or os.path.exists(
                os.path.join(self.attempt, "cancel")
            )
            if self.timed_out or self.silent or self.cancelled:
                send(signal.SIGTERM, self.pid)
                kill_at = now + self.command.grace
        for sink in sinks.values():
            sink.close()
        self.sizes = (sinks[self.out_r].size, sinks[self.err_r].size)

    def end_the_rest(self) -> int:
        """Whatever the command left behind ends with it."""
        left = descendants(os.getpid())
        try:
            os.killpg(self.pid, 0)
        except OSError:
            if not left:
                return 0
        send(signal.SIGTERM, self.pid)
        deadline = time.monotonic() + TERM_GRACE_S
        while time.monotonic() < deadline and (descendants(os.getpid()) or not LINUX):
            time.sleep(0.01)
            self.reap()
        while True:
            send(signal.SIGKILL, self.pid)
            self.reap()
            if not descendants(os.getpid()):
                return len(left)
            time.sleep(0.005)

    def report(self, orphans: int) -> None:
        code = os.waitstatus_to_exitcode(self.status or 0)
        error = os.strerror(self.spawn_errno) if self.spawn_errno else ""
        flags = (
            ("timed_out", self.timed_out),
            ("silent", self.silent),
            ("cancelled", self.cancelled),
        )
        words = [f'"{name}": {"true" if value else "false"}' for name, value in flags]
        words += [
            f'"code": {code}',
            f'"seconds": {time.monotonic() - self.started:.6f}',
            f'"errno": {self.spawn_errno}',
            f'"error": "{error}"',
            f'"stdout": {self.sizes[0]}',
            f'"stderr": {self.sizes[1]}',
            f'"orphans": {orphans}',
            f'"cpu_s": {self.usage[0]:.6f}',
            f'"maxrss_kb": {self.usage[1]}',
        ]
        write_file(os.path.join(self.attempt, "result.json"), f"{{{', '.join(words)}}}\n".encode())


def main() -> None:
    attempt, lock = sys.argv[1], int(sys.argv[2])
    os.set_inheritable(lock, False)
    os.umask(0o077)
    if LINUX:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    shim = Shim(attempt)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def asked(_number: int, _frame: object) -> None:
        shim.asked_to_end = True

    signal.signal(signal.SIGTERM, asked)
    shim.spawn()
    shim.watch()
    shim.report(shim.end_the_rest())
