"""Locks between real processes: one holder, named; nothing that a dead one left is believed."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from donewhen.errors import Locked, StoreError
from donewhen.system import locks

HOLD = """
import sys, time
from pathlib import Path
from donewhen.system import locks
with locks.lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock until its standard input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.communicate()


def test_the_holder_is_named_and_the_lock_ends_with_the_block(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "a.lock"
    process = holder(path)
    found = locks.owner(path)
    assert found == locks.Owner(process.pid, locks.start_of(process.pid), socket.gethostname())
    with (
        pytest.raises(Locked, match=f"a.lock is held by process {process.pid} on") as error,
        locks.lock(path),
    ):
        pass
    assert error.value.exit_code == 1
    end(process)
    assert locks.owner(path) is None
    with locks.lock(path):
        pass


def test_the_content_is_json_with_pid_start_and_host_and_is_cleared(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locks.lock(path):
        assert json.loads(path.read_bytes()) == {
            "pid": os.getpid(),
            "start": locks.start_of(os.getpid()),
            "host": socket.gethostname(),
        }
    assert path.read_bytes() == b""
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_lock_is_released_when_the_block_raises(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with pytest.raises(RuntimeError), locks.lock(path):
        raise RuntimeError
    assert locks.owner(path) is None
    assert path.read_bytes() == b""


def test_a_killed_owner_leaves_its_name_but_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    process = holder(path)
    process.send_signal(signal.SIGKILL)
    end(process)
    assert json.loads(path.read_bytes())["pid"] == process.pid
    assert locks.owner(path) is None
    with locks.lock(path):
        assert json.loads(path.read_bytes())["pid"] == os.getpid()


@pytest.mark.parametrize("start", ["1", ""], ids=["wrong start", "no start"])
def test_a_left_over_name_that_a_living_process_has_again_is_no_owner(
    tmp_path: Path, start: str
) -> None:
    path = tmp_path / "a.lock"
    path.write_text(json.dumps({"pid": os.getpid(), "start": start, "host": socket.gethostname()}))
    assert locks.owner(path) is None
    with locks.lock(path):
        pass


def test_a_left_over_name_is_not_blamed_for_another_ones_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    process = holder(path)
    path.write_text(json.dumps({"pid": os.getpid(), "start": "1", "host": socket.gethostname()}))
    assert locks.owner(path) == locks.NOBODY_KNOWN
    with pytest.raises(Locked, match="held by another process"), locks.lock(path):
        pass
    end(process)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": "x"}', b"\xff", b"null"])
def test_nonsense_in_the_file_neither_locks_nor_breaks(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.lock"
    path.write_bytes(content)
    assert locks.owner(path) is None
    with locks.lock(path):
        assert locks.owner(path) is not None


def test_waiting_gets_the_lock_when_it_is_free(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    process = holder(path)
    threading.Timer(0.3, lambda: end(process)).start()
    before = time.monotonic()
    with locks.lock(path, wait=20):
        assert time.monotonic() - before >= 0.2


def test_somebody_who_only_looks_takes_no_lock_away(tmp_path: Path) -> None:
    """`owner` in a tight loop in another process must not make one lock(wait=0) fail."""
    path = tmp_path / "a.lock"
    code = (
        "import sys; from pathlib import Path; from donewhen.system import locks\n"
        "print('on', flush=True)\n"
        "while True: locks.owner(Path(sys.argv[1]))"
    )
    looker = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    try:
        assert looker.stdout is not None
        looker.stdout.readline()
        for _ in range(300):
            with locks.lock(path):
                pass
    finally:
        looker.kill()
        looker.communicate()


def test_a_lock_on_a_removed_file_is_not_the_lock(tmp_path: Path) -> None:
    """Who waits for a file that is replaced meanwhile gets the lock of the new one."""
    path = tmp_path / "a.lock"
    process = holder(path)
    path.unlink()
    with locks.lock(path):
        assert json.loads(path.read_bytes())["pid"] == os.getpid()
        end(process)  # the old holder's end changes nothing
        assert locks.owner(path) is not None


ADD = """
import sys
from pathlib import Path
from donewhen.system import locks
path = Path(sys.argv[1])
for _ in range(50):
    with locks.lock(path.with_suffix(".lock"), wait=60):
        path.write_text(str(int(path.read_text()) + 1))
"""


def test_eight_processes_lose_no_update(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")
    workers = [subprocess.Popen([sys.executable, "-c", ADD, str(path)]) for _ in range(8)]
    assert [w.wait() for w in workers] == [0] * 8
    assert path.read_text() == "400"


def test_threads_of_one_process_exclude_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locks.lock(path), pytest.raises(Locked), locks.lock(path):
        pass


def test_a_started_program_does_not_inherit_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    with locks.lock(path):
        child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        assert locks.owner(path) is None
    finally:
        child.kill()
        child.wait()


def test_a_file_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(StoreError, match="cannot lock"), locks.lock(tmp_path / "folder"):
        pass


def test_owner_of_no_file_is_none_and_makes_none(tmp_path: Path) -> None:
    assert locks.owner(tmp_path / "none" / "a.lock") is None
    assert list(tmp_path.iterdir()) == []


def test_start_of_tells_processes_apart_and_knows_no_dead_ones() -> None:
    assert locks.start_of(os.getpid()) == locks.start_of(os.getpid()) != ""
    process = subprocess.Popen(["true"])
    process.wait()
    assert locks.start_of(process.pid) == ""
