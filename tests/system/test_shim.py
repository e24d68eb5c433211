"""The shim alone between us and a command: what arrives, what is bounded, what cannot be forged."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from donewhen.system import below, process
from donewhen.system.proc import Outcome, Request, adoptable, run_once

linux = pytest.mark.skipif(not below.LINUX, reason="needs /proc")


def request(place: Path, *argv: str, **more: Any) -> Request:
    env = more.pop("env", {**os.environ})
    return Request(argv, place, env, more.pop("marker", f"shim-{place.name}"), **more)


def until(true: Callable[[], object]) -> None:
    """Waits for what will surely come; the suite's own limit ends a wait for what does not."""
    while not true():
        time.sleep(0.01)


def test_the_umask_is_the_callers_and_what_it_leaves_in_the_attempt_is_private(
    tmp_path: Path,
) -> None:
    attempt = tmp_path / "attempt"
    before = os.umask(0o022)
    try:
        script = f"umask; echo x > work; mkdir '{attempt}/reports'; echo x > '{attempt}/reports/r'"
        done = run_once(request(tmp_path, "sh", "-c", script), attempt)
    finally:
        os.umask(before)
    assert done.stdout.tail(99) == b"0022\n"
    assert (tmp_path / "work").stat().st_mode & 0o777 == 0o644
    for path in (attempt, *attempt.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path


def test_links_in_the_attempt_are_not_followed(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    (tmp_path / "mine").write_text("x")
    (tmp_path / "mine").chmod(0o644)
    script = f"ln -s '{tmp_path}/mine' '{attempt}/link'; ln -s / '{attempt}/root'"
    run_once(request(tmp_path, "sh", "-c", script), attempt)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"LC_CTYPE": "C"},
        {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/x", "PYTHONSTARTUP": "/y", "PYTHONUTF8": "0"},
        {"with space": "1", "é-\udcff": "\udcfe", "EMPTY": "", "LINES": "a\nb"},
    ],
)
def test_the_environment_is_the_one_given_and_the_marker(
    tmp_path: Path, extra: dict[str, str]
) -> None:
    env = {"PATH": os.environ["PATH"], **extra}
    done = run_once(request(tmp_path, "env", "-0", env=env, marker="m"), tmp_path / "a")
    words = [word.split(b"=", 1) for word in done.stdout.tail(9999).split(b"\0")[:-1]]
    found = {os.fsdecode(name): os.fsdecode(value) for name, value in words}
    assert {n: v for n, v in found.items() if n != process.WITHIN} == {**env, process.MARKER: "m"}


def test_the_name_of_a_secret_may_hold_anything(tmp_path: Path) -> None:
    env = {**os.environ, "ODD\nNAME_TOKEN": "correct-horse"}
    done = run_once(request(tmp_path, "env", env=env), tmp_path / "a")
    assert b"correct-horse" not in done.stdout.tail(99_999)
    assert b"correct-horse" not in (tmp_path / "a/request").read_bytes()


@linux
def test_signals_are_as_in_a_new_session(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from donewhen.system.proc import Request, run_once\n"
        "for one in (signal.SIGINT, signal.SIGCHLD, signal.SIGUSR1): signal.signal(one, signal.SIG_IGN)\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGCHLD])\n"
        "argv = ('grep', '^Sig[BI]', '/proc/self/status')\n"
        "done = run_once(Request(argv, Path(sys.argv[1]), dict(os.environ), 's'), Path(sys.argv[1]) / 'a')\n"
        "assert done.code == 0\n"
        "sys.stdout.buffer.write(done.stdout.tail(999))\n"
    )
    said = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=True)
    glibc = 1 << 31 | 1 << 32  # signals 32 and 33: the C library's own, no program can set them
    values = [int(line.split()[1], 16) & ~glibc for line in said.stdout.splitlines()]
    assert values == [0, 0]


def test_a_build_of_short_commands_is_not_silent(tmp_path: Path) -> None:
    busy = f"{sys.executable} -c 'import time; e=time.time()+0.3\nwhile time.time()<e: pass'"
    script = f"for n in 1 2 3 4 5; do {busy}; done; exit 4"
    done = run_once(request(tmp_path, "sh", "-c", script, silence=0.5), tmp_path / "a")
    assert (done.silent, done.code) == (False, 4)


def test_waiting_by_short_commands_is_not_silent_and_waiting_alone_is(tmp_path: Path) -> None:
    polls = "for n in 1 2 3 4 5 6 7 8; do sleep 0.2; done; exit 4"
    done = run_once(request(tmp_path, "sh", "-c", polls, silence=0.6), tmp_path / "a")
    assert (done.silent, done.code) == (False, 4)
    idle = "import time\nwhile True: time.sleep(0.2)"
    done = run_once(
        request(tmp_path, sys.executable, "-c", idle, silence=1.0, grace=0.2), tmp_path / "b"
    )
    assert done.silent


FORGER = """
import json, os, signal, sys
result = json.loads(open(sys.argv[1]).read())
open(os.path.join(sys.argv[2], "result.json"), "w").write(json.dumps({**result, "code": 0}))
os.kill(os.getppid(), signal.SIGKILL)
"""


def test_a_command_that_writes_its_own_result_and_kills_its_witness_is_lost(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    run_once(request(tmp_path, "true"), tmp_path / "honest")
    honest = str(tmp_path / "honest/result.json")
    asked = request(tmp_path, sys.executable, "-c", FORGER, honest, str(attempt))
    for _ in range(2):
        done = run_once(asked, attempt)
        assert (done.lost, done.code) == (True, -9)
        assert adoptable(attempt) == "dead"


def test_a_result_that_cannot_be_read_is_lost(tmp_path: Path) -> None:
    for text in ("", "{}", "[]", "null", '{"code": 0}', "\0"):
        attempt = tmp_path / f"attempt-{len(text)}-{text[:1].encode().hex()}"
        attempt.mkdir()
        (attempt / "result.json").write_text(text)
        assert run_once(request(tmp_path, "true"), attempt).lost


def test_somebody_who_only_looks_costs_no_attempt(tmp_path: Path) -> None:
    stop = threading.Event()
    place = [tmp_path / "attempt-0"]

    def look() -> None:
        while not stop.is_set():
            adoptable(place[0])

    looker = threading.Thread(target=look)
    looker.start()
    try:
        for number in range(30):
            place[0] = tmp_path / f"attempt-{number}"
            assert not run_once(request(tmp_path, "true"), place[0]).lost
    finally:
        stop.set()
        looker.join()


def shim_of(attempt: Path) -> int:
    """The shim of an attempt: the parent of what it recorded."""
    until((attempt / "pgid").exists)
    pid = int((attempt / "pgid").read_text().split()[0])
    return int(below.stat(pid)[1])


def ended(pid: int) -> bool:
    return below.stat(pid)[:1] in ([], [b"Z"])


@linux
def test_kill_of_the_shim_ends_the_command_and_what_hid_its_environment(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    script = "env -i setsid sleep 600 & echo $! > hidden; echo ready; exec sleep 600"
    outcomes: list[Outcome] = []
    ready = threading.Event()

    def run() -> None:
        asked = request(tmp_path, "sh", "-c", script)
        outcomes.append(run_once(asked, attempt, on_stdout=lambda _d: ready.set()))

    caller = threading.Thread(target=run)
    caller.start()
    ready.wait()
    shim, command = shim_of(attempt), int((attempt / "pgid").read_text().split()[0])
    os.kill(shim, signal.SIGKILL)
    caller.join()
    assert outcomes[0].lost
    assert outcomes[0].stdout.tail(99) == b"ready\n"
    for pid in (command, int((tmp_path / "hidden").read_text())):
        until(partial(ended, pid))


@linux
def test_the_end_of_everything_is_seen_and_the_next_folder_is_free(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    code = (
        "import os, sys; from pathlib import Path\n"
        "from donewhen.system.proc import Request, run_once\n"
        "place = Path(sys.argv[1])\n"
        "run_once(Request(('sleep', '600'), place, dict(os.environ), 'all'), place / 'attempt')\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", code, tmp_path])
    shim = shim_of(attempt)
    for pid in (caller.pid, shim, int((attempt / "pgid").read_text().split()[0])):
        os.kill(pid, signal.SIGKILL)
    caller.wait()
    until(lambda: adoptable(attempt) == "dead")
    assert run_once(request(tmp_path, "true", marker="all"), attempt).lost
    assert run_once(request(tmp_path, "true", marker="all"), tmp_path / "again").code == 0


def test_a_term_to_the_shim_is_a_cancel(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    killer = threading.Thread(target=lambda: os.kill(shim_of(attempt), signal.SIGTERM))
    killer.start()
    done = run_once(request(tmp_path, "sleep", "600", grace=0.2), attempt)
    killer.join()
    assert (done.cancelled, done.lost) == (True, False)


@linux
def test_an_attempt_folder_that_is_removed_leaves_nothing_running(tmp_path: Path) -> None:
    attempt = tmp_path / "attempt"
    script = f"rm -rf '{attempt}'; echo said; sleep 600 & exit 0"
    assert run_once(request(tmp_path, "sh", "-c", script), attempt).lost
    assert process.marked(f"shim-{tmp_path.name}") == []


@linux
def test_a_flood_leaves_memory_alone_on_both_sides(tmp_path: Path) -> None:
    code = (
        "import os, resource, sys; from pathlib import Path\n"
        "from donewhen.system.proc import Request, run_once\n"
        "place, heard = Path(sys.argv[1]), 0\n"
        "def hear(data):\n    global heard\n    heard += len(data)\n"
        "argv = ('sh', '-c', 'head -c 200000000 /dev/zero')\n"
        "env = {**os.environ, 'LONG_PRIVATE_KEY': '-----BEGIN' + 'z' * 3000}\n"
        "done = run_once(Request(argv, place, env, 'f'), place / 'a', on_stdout=hear)\n"
        "assert done.stdout.size == heard + done.unheard == 200_000_000\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
        "own = [s for s in open('/proc/self/status') if s.startswith('VmHWM')]\n"
        "print(own[0].split()[1])\n"
    )
    said = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, check=True)
    assert all(int(kb) < 80_000 for kb in said.stdout.split()), said.stdout
    assert sum(path.stat().st_size for path in (tmp_path / "a").glob("stdout.*")) <= 64 << 20


UNKILLABLE = """
import os, sys, time
if len(sys.argv) > 1 and os.fork():
    os._exit(0)
os.setgid(65534); os.setuid(65534)
print(os.getpid(), flush=True)
time.sleep(600)
"""
needs_root = pytest.mark.skipif(
    not below.LINUX or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="needs root and setpriv for a process that its own parent may not end",
)


@needs_root
def test_what_may_not_be_ended_is_counted_and_not_waited_for(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path\n"
        "from donewhen.system.proc import Request, run_once\n"
        "place = Path(sys.argv[1])\n"
        "asked = Request(tuple(sys.argv[2:]), place, dict(os.environ), 'sudo', timeout=1.0, grace=0.1)\n"
        "done = run_once(asked, place / 'a')\n"
        "print(done.survivors, done.timed_out, done.lost, done.stdout.tail(99).decode())\n"
    )
    without = ["setpriv", "--bounding-set=-kill", sys.executable, "-c", code]
    command = [sys.executable, "-c", UNKILLABLE]
    both: list[subprocess.Popen[bytes]] = []
    for background in ([], ["fork"]):
        place = tmp_path / f"place{len(both)}"
        place.mkdir()
        both.append(
            subprocess.Popen([*without, str(place), *command, *background], stdout=subprocess.PIPE)
        )
    for run, timed_out in zip(both, (b"True", b"False"), strict=True):
        survivors, out_of_time, lost, pid = run.communicate(timeout=120)[0].split()
        os.kill(int(pid), signal.SIGKILL)
        assert (survivors, lost, out_of_time) == (b"1", b"False", timed_out)
