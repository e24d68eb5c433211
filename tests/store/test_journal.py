"""The journal: compare-and-append, a chain, a mirror, and a tail that a crash tore."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.core.events import Anchored, Waited
from donewhen.errors import Conflict, Corrupt
from donewhen.store.journal import Journal, last_records
from donewhen.store.records import event_record, facts, intent_record


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path


def opened(place: Path) -> Journal:
    return Journal.open(place / "run/journal.jsonl", place / "mirror/journal.jsonl")


def filled(place: Path, count: int = 3) -> Journal:
    journal = opened(place)
    for number in range(count):
        journal.append(journal.seq, [event_record(Waited(float(number)))])
    return journal


def test_records_come_back_in_order_with_a_chain(place: Path) -> None:
    filled(place)
    again = opened(place)
    found = list(again.records())
    assert [r["seq"] for r in found] == [1, 2, 3]
    assert [r["prev"] for r in found][1:] == [r["hash"] for r in found][:-1]
    assert list(facts(found)) == [Waited(0.0), Waited(1.0), Waited(2.0)]
    assert (again.seq, again.head) == (3, found[-1]["hash"])


def test_several_records_are_one_write(place: Path) -> None:
    from donewhen.core.commands import WaitUntil

    journal = opened(place)
    journal.append(0, [event_record(Anchored(1.0, "p")), intent_record(WaitUntil(2.0, "x"))])
    assert [(r["kind"], r["type"]) for r in journal.records()] == [
        ("event", "Anchored"),
        ("intent", "WaitUntil"),
    ]
    assert list(facts(journal.records())) == [Anchored(1.0, "p")]


def test_whoever_comes_second_is_told(place: Path) -> None:
    first, second = filled(place), opened(place)
    first.append(3, [event_record(Waited(9.0))])
    with pytest.raises(Conflict):
        second.append(3, [event_record(Waited(8.0))])
    with pytest.raises(Conflict):
        first.append(2, [event_record(Waited(8.0))])
    assert [f.at for f in facts(opened(place).records())] == [0.0, 1.0, 2.0, 9.0]


def test_a_torn_tail_is_ignored_put_aside_and_written_over(place: Path) -> None:
    filled(place, 2)
    path = place / "run/journal.jsonl"
    whole = path.read_bytes()
    first, last = whole.splitlines(keepends=True)
    for cut in range(1, len(last)):
        path.write_bytes(first + last[:-cut])
        (place / "mirror/journal.jsonl").write_bytes(first)
        journal = opened(place)
        assert journal.seq == 1
        journal.append(1, [event_record(Waited(5.0))])
        assert [f.at for f in facts(opened(place).records())] == [0.0, 5.0]
        assert (place / "run/journal.torn-2").read_bytes() == last[:-cut]


@pytest.mark.parametrize(
    "harm",
    [
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[0], lines[1].replace(b"1.0", b"7.0"), lines[2]],
        lambda lines: [lines[0], b"garbage\n", lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
    ],
)
def test_a_broken_chain_is_found(place: Path, harm: object) -> None:
    filled(place)
    path = place / "run/journal.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(harm(lines)))  # type: ignore[operator]
    with pytest.raises(Corrupt) as caught:
        opened(place)
    assert str(place / "mirror") in str(caught.value) or "JSON" in str(caught.value)


def test_a_journal_that_was_cut_behind_our_back(place: Path) -> None:
    journal = filled(place)
    path = place / "run/journal.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:2]))
    with pytest.raises(Corrupt):
        journal.append(3, [event_record(Waited(9.0))])


def test_the_mirror_has_the_same_bytes_and_is_made_again(place: Path) -> None:
    journal = filled(place)
    mirror = place / "mirror/journal.jsonl"
    assert mirror.read_bytes() == journal.path.read_bytes()
    mirror.unlink()
    journal.append(3, [event_record(Waited(9.0))])
    assert mirror.read_bytes() == journal.path.read_bytes()


def test_private_files(place: Path) -> None:
    filled(place)
    for path in place.rglob("*.jsonl"):
        assert path.stat().st_mode & 0o077 == 0


WRITER = """
import sys
from pathlib import Path
from donewhen.core.events import Waited
from donewhen.errors import Conflict
from donewhen.store.journal import Journal
from donewhen.store.records import event_record
place, me, done = Path(sys.argv[1]), float(sys.argv[2]), 0
while done < 20:
    journal = Journal.open(place / "run/journal.jsonl", place / "mirror/journal.jsonl")
    try:
        journal.append(journal.seq, [event_record(Waited(me))])
        done += 1
    except Conflict:
        pass
"""


def test_eight_writers_at_once_lose_nothing(place: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(place), str(n)]) for n in range(8)
    ]
    assert [w.wait(120) for w in writers] == [0] * 8
    journal = opened(place)
    assert journal.seq == 160
    times = [f.at for f in facts(journal.records())]
    assert all(times.count(float(n)) == 20 for n in range(8))
    assert journal.mirror.read_bytes() == journal.path.read_bytes()


def test_the_end_is_read_without_the_rest(place: Path) -> None:
    journal = filled(place, 50)
    found = last_records(journal.path, most=1000)
    assert 1 <= len(found) < 10
    assert found[-1]["seq"] == 50
    assert last_records(place / "nosuch") == []


def test_reading_needs_no_writing(place: Path) -> None:
    filled(place)
    before = sorted(os.listdir(place / "run"))
    assert len(list(opened(place).records())) == 3
    assert sorted(os.listdir(place / "run")) == before
    assert json.loads((place / "run/journal.jsonl").read_text().splitlines()[0])["v"] == 1
