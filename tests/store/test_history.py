"""history.jsonl: appending costs one write, reading the newest costs the end of the file."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.store import history

COUNT = """
import os, sys
from pathlib import Path
from donewhen.store import history
def read_so_far():
    return int(Path("/proc/self/io").read_text().split("rchar: ")[1].split()[0])
history.tail(Path(sys.argv[1]), 1)
before = read_so_far(); overhead = read_so_far() - before
before = read_so_far()
found = history.tail(Path(sys.argv[1]), int(sys.argv[2]))
print(len(found), found[0]["n"], found[-1]["n"], read_so_far() - before - overhead)
"""


def lines(path: Path, count: int) -> None:
    path.write_text("".join(f'{{"v": 1, "n": {n}}}\n' for n in range(count)))


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts what the kernel was asked")
@pytest.mark.parametrize("count", [1, 20, 1000])
def test_the_newest_of_100_000_cost_the_bytes_of_a_few_blocks(tmp_path: Path, count: int) -> None:
    path = tmp_path / "history.jsonl"
    lines(path, 100_000)
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(path), str(count)],
        capture_output=True,
        text=True,
        check=True,
    )
    got, newest, oldest, cost = map(int, done.stdout.split())
    assert (got, newest, oldest) == (count, 99_999, 100_000 - count)
    assert cost <= count * 20 + 3 * history.BLOCK


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="counts what the kernel was asked")
def test_appending_to_100_000_reads_next_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    lines(path, 100_000)
    code = COUNT.split("history.tail")[0] + (
        "history.append(Path(sys.argv[1]), {'run': 'a'})\n"
        "before = read_so_far(); history.append(Path(sys.argv[1]), {'run': 'b'})\n"
        "print(read_so_far() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 4 * history.BLOCK


def test_an_entry_is_one_private_line_with_a_version(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.jsonl"
    history.append(path, {"run": "a", "goal": "line one\nline two \udcff", "exit": 0})
    assert path.read_bytes().count(b"\n") == 1
    assert json.loads(path.read_bytes()) == {
        "v": 1,
        "run": "a",
        "goal": "line one\nline two \udcff",
        "exit": 0,
    }
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_line_torn_at_any_byte_costs_that_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    for run in "ab":
        history.append(path, {"run": run})
    whole = path.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole)):
        path.write_bytes(whole[:cut])
        assert [e["run"] for e in history.tail(path, 9)] == (
            ["b", "a"] if cut == len(whole) - 1 else ["a"]
        )
        history.append(path, {"run": "c"})
        kept = ["c", "b", "a"] if cut == len(whole) - 1 else ["c", "a"]
        assert [e["run"] for e in history.tail(path, 9)] == kept


@pytest.mark.parametrize(
    "rubbish", [b"\n", b"null\n", b"[1]\n", b"\xff\xfe\n", b"{]\n", b"[" * 50_000 + b"\n"]
)
def test_rubbish_between_lines_is_stepped_over(tmp_path: Path, rubbish: bytes) -> None:
    path = tmp_path / "history.jsonl"
    history.append(path, {"run": "a"})
    with path.open("ab") as out:
        out.write(rubbish * 3)
    history.append(path, {"run": "b"})
    assert [e["run"] for e in history.tail(path, 2)] == ["b", "a"]


def test_no_history_is_an_empty_one(tmp_path: Path) -> None:
    assert history.tail(tmp_path / "none", 5) == []
    (tmp_path / "empty").write_bytes(b"")
    assert history.tail(tmp_path / "empty", 5) == []
    history.append(tmp_path / "file", {"run": "a"})
    assert history.tail(tmp_path / "file", 0) == []


@given(st.lists(st.integers(0, 3 * history.BLOCK), max_size=6), st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_lines_of_any_length_come_whole_wherever_blocks_begin(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], count: int
) -> None:
    path = tmp_path_factory.mktemp("history") / "history.jsonl"
    entries = [{"v": 1, "n": n, "text": "x" * size} for n, size in enumerate(sizes)]
    path.write_text("".join(json.dumps(e) + "\n" for e in entries))
    assert history.tail(path, count) == entries[::-1][:count]


APPEND = """
import sys
from pathlib import Path
from donewhen.store import history
for n in range(50):
    history.append(Path(sys.argv[1]), {"run": f"{sys.argv[2]}:{n}"})
"""


def test_eight_processes_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    workers = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(path), str(n)]) for n in range(8)
    ]
    assert [w.wait() for w in workers] == [0] * 8
    found = [e["run"] for e in history.tail(path, 1000)]
    assert sorted(found) == sorted(f"{w}:{n}" for w in range(8) for n in range(50))
    assert re.fullmatch(rb"(\{[^\n]*\}\n){400}", path.read_bytes())
    assert sorted(os.listdir(tmp_path)) == ["history.jsonl", "history.lock"]
