"""Who is there, and whose: no process ends on the word of a number alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from donewhen.system import below, process
from donewhen.system.process import MARKER, WITHIN, Trace

linux = pytest.mark.skipif(not below.LINUX, reason="needs /proc")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as started:
        yield started
        started.kill()


def test_alive_means_that_very_process(sleeper: subprocess.Popen[bytes]) -> None:
    start = process.start_time(sleeper.pid)
    assert process.alive(sleeper.pid, start)
    assert not process.alive(sleeper.pid, "1")
    assert not process.alive(sleeper.pid, "")
    sleeper.kill()
    sleeper.wait()
    assert process.start_time(sleeper.pid) == ""
    assert not process.alive(sleeper.pid, start)


def test_ancestors_nearest_first(sleeper: subprocess.Popen[bytes]) -> None:
    (parent, name, line), *more = process.ancestors(sleeper.pid)
    assert parent == os.getpid()
    assert name
    assert line
    assert [one[0] for one in more] == [one[0] for one in process.ancestors()]


def test_nobody_has_no_ancestors(sleeper: subprocess.Popen[bytes]) -> None:
    sleeper.kill()
    sleeper.wait()
    assert process.ancestors(sleeper.pid) == []


def test_describe_names_terminal_and_chain() -> None:
    code = "import json; from donewhen.system import process; print(json.dumps(process.describe()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, start_new_session=True
    )
    said = json.loads(done.stdout)
    assert said["terminal"] == ""
    assert said["chain"][0].endswith(f"({os.getpid()})")


def test_marked_finds_the_attempt_and_those_inside_it(tmp_path: Path) -> None:
    mine = tmp_path.name
    envs = [{MARKER: mine}, {MARKER: "inner", WITHIN: f"outer\n{mine}"}, {MARKER: f"{mine}-2"}]
    started = [subprocess.Popen(["sleep", "600"], env={**os.environ, **env}) for env in envs]
    try:
        assert set(process.marked(mine)) == {started[0].pid, started[1].pid}
        assert process.end_marked(mine) == 2
        assert [one.wait() for one in started[:2]] == [-9, -9]
        assert started[2].poll() is None
    finally:
        for one in started:
            one.kill()
            one.wait()


@linux
def test_a_process_without_environment_is_known_by_the_pipe_it_holds() -> None:
    ours, theirs = os.pipe()
    holder = subprocess.Popen(["sleep", "600"], env={}, stdout=theirs)
    os.close(theirs)
    inode = str(os.fstat(ours).st_ino)
    os.close(ours)  # whoever holds it would be ended
    trace = Trace(holder.pid, "", "", (inode,))
    assert process.holders(trace.pipes) == [holder.pid]
    assert process.end_marked("no-such-marker", trace) == 1
    assert holder.wait() == -9


@pytest.mark.parametrize("start", ["1", "", "@1.5"])
def test_a_stranger_with_the_same_number_is_left_alone(
    sleeper: subprocess.Popen[bytes], start: str
) -> None:
    assert process.end_marked("no-such-marker", Trace(sleeper.pid, start)) == 0
    assert sleeper.poll() is None


def test_the_recorded_group_ends_also_where_starts_are_instants() -> None:
    for by_instant in (False, True):
        script = "sleep 600 & exec sleep 600"
        with subprocess.Popen(["sh", "-c", script], start_new_session=True) as leader:
            start = process.start_time(leader.pid)
            if by_instant:
                start = f"@{psutil.Process(leader.pid).create_time():.3f}"
            assert process.end_marked("no-such-marker", Trace(leader.pid, start)) == 1
            assert leader.wait() == -9


def test_a_trace_is_read_back_and_an_older_boots_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "pgid"
    path.write_text(f"12 345 {below.boot_id()} 6 7\n")
    assert process.read_trace(path) == Trace(12, "345", below.boot_id(), ("6", "7"))
    path.write_text("12 345\n")
    assert process.read_trace(path) == Trace(12, "345")
    for text in ("12 345 another-boot 6 7\n", "", "12\n", "x 345\n", "12 @x\n", "\xff"):
        path.write_text(text)
        assert process.read_trace(path) is None
    assert process.read_trace(tmp_path / "none") is None


@linux
def test_descendants_with_and_without_the_kernels_list() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo; wait"], stdout=subprocess.PIPE) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        (grandchild,) = below.descendants(shell.pid)
        family = below.family()
        assert family[shell.pid] == [grandchild]
        assert below.walk(shell.pid, lambda pid: family.get(pid, [])) == [grandchild]
        assert below.cpu_ticks([shell.pid, grandchild]) >= 0
        os.kill(grandchild, 9)
