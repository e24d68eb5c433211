"""run_once: once, whoever calls how often; bounded, redacted, and nothing is left behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.system import process
from donewhen.system.proc import Outcome, Request, adoptable, run_once, was_cancelled

Run = Callable[..., Outcome]


def request(place: Path, *argv: str, marker: str = "m", **more: Any) -> Request:
    return Request(argv, place, {**os.environ}, f"{marker}-{place.name}", **more)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    count = 0

    def start(*argv: str, **more: Any) -> Outcome:
        nonlocal count
        count += 1
        return run_once(request(tmp_path, *argv, **more), tmp_path / f"attempt-{count}")

    return start


def alive(marker: str) -> list[int]:
    return process.marked(marker)


def test_exit_code_and_both_streams(run: Run) -> None:
    done = run("sh", "-c", "echo out; echo err >&2; exit 3")
    assert (done.code, done.stdout.tail(99), done.stderr.tail(99)) == (3, b"out\n", b"err\n")


def test_killed_by_a_signal(run: Run) -> None:
    assert run("sh", "-c", "kill -9 $$").code == -9


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (("nosuchprogram",), "No such file or directory (looked in PATH="),
        (("./nosuchprogram",), "No such file or directory"),
        (("/etc/passwd",), "Permission denied"),
        (("/etc",), "Permission denied: it is a folder"),
        (("./no-interpreter",), "No such file or directory: the interpreter in its first line"),
        (("./no-program",), "Exec format error: neither a program"),
        (("true", "x" * 200_000), "Argument list too long: about "),
        (("true", "nul\0byte"), "a NUL byte in its command line"),
        ((), "an empty command line"),
    ],
    ids=lambda value: str(value)[:40].replace("\0", "0"),
)
def test_what_cannot_start_is_said_and_not_raised(
    run: Run, tmp_path: Path, argv: tuple[str, ...], why: str
) -> None:
    for name, text in (("no-interpreter", "#!/no/such\n"), ("no-program", "echo said\n")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = run(*argv)
    assert why in done.spawn_error
    assert "".join(argv[:1]) in done.spawn_error
    assert done.code == 127


def test_a_program_is_looked_for_in_the_path_of_its_own_environment(tmp_path: Path) -> None:
    """As os.execvpe: the first that runs; of several faults the first that is not "not there"."""
    for name, mode in (("first", 0o644), ("second", 0o755)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tool").write_text(f"#!/bin/sh\necho {name}\n")
        (tmp_path / name / "tool").chmod(mode)

    def told(number: int, *path: str) -> str:
        env = {"PATH": ":".join(path)}
        done = run_once(Request(("tool",), tmp_path / "second", env, "m"), tmp_path / f"a{number}")
        return done.spawn_error or done.stdout.tail(99).decode().strip()

    first, second, gone = (str(tmp_path / name) for name in ("first", "second", "gone"))
    assert told(1, gone, f"{second}/tool", first, second) == "second"
    assert told(2, "", gone) == "second"
    assert told(3, first, gone).startswith("tool: Permission denied")
    assert told(4, gone, gone).startswith("tool: No such file or directory (looked in PATH=")


def test_a_missing_folder_or_input_is_not_called_a_missing_program(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    folder = Request(("true",), gone, {**os.environ}, "m")
    assert run_once(folder, tmp_path / "a").spawn_error.endswith(f"its folder {gone}")
    done = run_once(request(tmp_path, "true", stdin=gone), tmp_path / "b")
    assert done.spawn_error.endswith(f"its standard input {gone}")


def test_an_environment_that_is_too_large_is_said_and_tried_again(tmp_path: Path) -> None:
    huge = Request(("true",), tmp_path, {**os.environ, "HUGE": "x" * 200_000}, "m")
    done = run_once(huge, tmp_path / "a")
    assert "HUGE (200000)" in done.spawn_error
    assert adoptable(tmp_path / "a") == "new"
    assert run_once(request(tmp_path, "true"), tmp_path / "a").code == 0


def test_a_second_call_uses_the_result(tmp_path: Path) -> None:
    asked = request(tmp_path, "sh", "-c", "echo x >> count; cat count")
    seen: list[bytes] = []
    for _ in range(3):
        done = run_once(asked, tmp_path / "attempt", on_stdout=seen.append)
    assert done.stdout.tail(99) == b"x\n"
    assert b"".join(seen) == b"x\n" * 3
    assert adoptable(tmp_path / "attempt") == "result"


def test_a_time_limit_ends_what_ignores_sigterm_and_its_children(run: Run, tmp_path: Path) -> None:
    script = "trap '' TERM; setsid sleep 600 & sleep 600 & wait"
    done = run("sh", "-c", script, timeout=0.3, grace=0.2, marker="slow")
    assert done.timed_out
    assert done.code == -9
    assert alive(f"slow-{tmp_path.name}") == []


@pytest.mark.parametrize(
    "script",
    [
        "sleep 600 & exit 0",
        "setsid sleep 600 & exit 0",
        "(setsid sh -c 'sleep 600 & sleep 600' >/dev/null 2>&1 &); exit 0",
        "trap '' TERM; (trap '' TERM; sleep 600) & exit 0",
    ],
)
def test_nothing_is_left_behind(run: Run, tmp_path: Path, script: str) -> None:
    done = run("sh", "-c", script, marker="left")
    assert done.code == 0
    assert done.orphans > 0
    assert alive(f"left-{tmp_path.name}") == []


def test_a_grandchild_that_keeps_the_pipe_does_not_hold_us(run: Run) -> None:
    assert run("sh", "-c", "echo said; sleep 600 & exit 5").stdout.tail(9) == b"said\n"


def test_silence_ends_but_work_is_not_silence(run: Run) -> None:
    assert run("sleep", "600", silence=0.4, grace=0.2).silent
    busy = f"{sys.executable} -c 'import time; e=time.time()+1.5\nwhile time.time()<e: pass'"
    done = run("sh", "-c", f"{busy}; exit 4", silence=0.4)
    assert (done.silent, done.code) == (False, 4)


def test_a_flood_is_bounded_on_disk_and_counted(run: Run, tmp_path: Path) -> None:
    done = run("sh", "-c", "yes 0123456789abcde | head -c 150000000; echo END")
    kept = sum(p.stat().st_size for p in tmp_path.glob("attempt-1/stdout.*"))
    assert done.stdout.size == 150_000_004
    assert kept <= 64 << 20
    assert done.stdout.skipped == done.stdout.size - kept
    assert done.stdout.tail(4) == b"END\n"
    assert done.stdout.head(4) == b"0123"
    text = done.stdout.head_tail(1000)
    assert len(text) < 1100
    assert b"bytes left out" in text


def test_a_line_of_fifty_megabytes(run: Run) -> None:
    assert run("sh", "-c", "head -c 50000000 /dev/zero | tr '\\0' x").stdout.size == 50_000_000


def test_secrets_are_redacted_also_across_pieces(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "correct-horse-battery")
    monkeypatch.setenv("PLAIN", "correct-horse")
    done = run("sh", "-c", "printf 'a correct-hor'; sleep 0.3; printf 'se-battery b %s' $PLAIN")
    assert done.stdout.tail(99) == b"a [redacted] b correct-horse"
    for path in (tmp_path / "attempt-1").iterdir():
        assert b"correct-horse-battery" not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0


def test_standard_input_is_a_file_or_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("given")
    assert run("cat", stdin=tmp_path / "in").stdout.tail(9) == b"given"
    assert run("cat").stdout.size == 0


def test_a_program_that_asks_the_terminal_gets_an_error(run: Run) -> None:
    assert run("sh", "-c", "cat </dev/tty").code != 0


def test_the_environment_arrives_whole(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": "/x", "ODD": "é\udcff\nline", "EMPTY": ""}
    code = (
        "import os,sys; sys.stdout.buffer.write(os.environb[b'ODD'] + os.environb[b'PYTHONPATH'])"
    )
    asked = Request((sys.executable, "-S", "-c", code), tmp_path, env, "m")
    assert run_once(asked, tmp_path / "a").stdout.tail(99) == "é\udcff\nline/x".encode(
        errors="surrogateescape"
    )


def test_odd_folders(tmp_path: Path) -> None:
    place = tmp_path / "a b\n'c' é"
    place.mkdir()
    assert (
        run_once(request(place, "pwd"), place / "at tempt").stdout.tail(999).decode()
        == f"{place}\n"
    )


def test_the_command_inherits_nothing_of_ours(run: Run) -> None:
    done = run("sh", "-c", "ls /proc/self/fd; trap")
    handles = done.stdout.tail(99).split()
    assert set(handles) <= {b"0", b"1", b"2", b"3"}, "3 is the folder that ls reads"


def test_cancel_is_polled(tmp_path: Path) -> None:
    done = run_once(
        request(tmp_path, "sleep", "600", grace=0.2), tmp_path / "a", cancelled=lambda: True
    )
    assert done.cancelled
    assert was_cancelled(tmp_path / "a")


CALLER = """
import os, sys
from pathlib import Path
from donewhen.system.proc import Request, run_once
place = Path(sys.argv[1])
run_once(Request(("sh", "-c", sys.argv[2]), place, dict(os.environ), "adopt-" + place.name), place / "attempt")
"""


def started(place: Path, script: str) -> subprocess.Popen[bytes]:
    """A caller of its own process, when its command is running."""
    caller = subprocess.Popen([sys.executable, "-c", CALLER, str(place), script])
    deadline = time.monotonic() + 30
    while not (place / "attempt/pgid").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    return caller


def test_a_caller_that_died_and_came_back_adopts(tmp_path: Path) -> None:
    script = "echo start >> log; sleep 1; echo end >> log; echo said"
    caller = started(tmp_path, script)
    caller.send_signal(signal.SIGKILL)
    caller.wait()
    assert adoptable(tmp_path / "attempt") == "running"
    seen: list[bytes] = []
    asked = request(tmp_path, "sh", "-c", script, marker="adopt")
    done = run_once(asked, tmp_path / "attempt", on_stdout=seen.append)
    assert (done.code, b"".join(seen)) == (0, b"said\n")
    assert (tmp_path / "log").read_text() == "start\nend\n"


def command_line(pid: int) -> bytes:
    """Of a process; empty once it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def test_a_shim_that_died_is_said_and_its_command_has_ended(tmp_path: Path) -> None:
    caller = started(tmp_path, "setsid sleep 600 & echo x >> log; touch ready; sleep 600")
    shims = [p for p in process.marked(f"adopt-{tmp_path.name}") if b"shim.main" in command_line(p)]
    while not (tmp_path / "ready").exists():
        time.sleep(0.01)
    for pid in (caller.pid, *shims):
        os.kill(pid, signal.SIGKILL)
    caller.wait()
    deadline = time.monotonic() + 30
    while adoptable(tmp_path / "attempt") == "running" and time.monotonic() < deadline:
        time.sleep(0.01)
    asked = request(tmp_path, "sh", "-c", "echo y >> log", marker="adopt")
    done = run_once(asked, tmp_path / "attempt")
    assert done.lost
    assert alive(f"adopt-{tmp_path.name}") == []
    assert (tmp_path / "log").read_text() == "x\n", (
        "a lost attempt is not started again behind the caller's back"
    )


def test_eight_callers_at_once_start_one_command(tmp_path: Path) -> None:
    callers = [
        subprocess.Popen([sys.executable, "-c", CALLER, str(tmp_path), "echo x >> log; sleep 0.5"])
        for _ in range(8)
    ]
    assert [c.wait(60) for c in callers] == [0] * 8
    assert (tmp_path / "log").read_text() == "x\n"


def test_result_json_is_complete(tmp_path: Path) -> None:
    run_once(request(tmp_path, "true"), tmp_path / "a")
    result = json.loads((tmp_path / "a/result.json").read_text())
    assert {
        "code",
        "seconds",
        "timed_out",
        "silent",
        "cancelled",
        "orphans",
        "maxrss_kb",
    } <= result.keys()
