"""The journal under kill -9, other writers, and hands that are not ours."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.errors import Conflict, Corrupt, StoreError
from donewhen.store import chain
from donewhen.store.chain import Mark
from donewhen.store.journal import Journal, last_records


def record(text: str = "x") -> dict[str, Any]:
    return {"kind": "event", "type": "Note", "data": {"text": text}}


def opened(place: Path) -> Journal:
    return Journal.open(place / "run" / "journal.jsonl", place / "state" / "journal.jsonl")


def filled(place: Path, count: int) -> Journal:
    journal = opened(place)
    for number in range(count):
        journal.append(number, [record(str(number))])
    return journal


def texts(journal: Journal) -> list[str]:
    return [r["data"]["text"] for r in journal.records()]


# -- the format ------------------------------------------------------------------------------------


def test_a_line_is_a_versioned_record_with_the_hash_of_its_canonical_text(tmp_path: Path) -> None:
    filled(tmp_path, 2)
    first, second = (
        json.loads(line) for line in (tmp_path / "run/journal.jsonl").read_text().splitlines()
    )
    assert list(first) == ["v", "seq", "at", "kind", "type", "data", "prev", "hash"]
    assert (first["v"], first["seq"], first["prev"]) == (1, 1, "0" * 64)
    assert second["prev"] == first["hash"] == chain.digest(first)


@given(st.lists(st.text(), max_size=5), st.dictionaries(st.text(), st.floats(allow_nan=False)))
def test_what_is_appended_comes_back_whatever_it_says(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], more: dict[str, float]
) -> None:
    place = tmp_path_factory.mktemp("journal")
    given_ = [{"kind": "intent", "type": t, "data": {"t": t, "more": more}} for t in lines]
    journal = opened(place)
    assert journal.append(0, given_) == len(lines)
    again = opened(place)
    assert (again.seq, again.head) == (journal.seq, journal.head)
    assert [{k: r[k] for k in chain.GIVEN} for r in again.records()] == given_


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"kind": "event", "type": "X"},
        {"kind": "event", "type": "X", "data": {}, "seq": 7},
        {"kind": "other", "type": "X", "data": {}},
    ],
)
def test_what_is_no_record_is_refused_and_nothing_is_written(
    tmp_path: Path, bad: dict[str, Any]
) -> None:
    journal = filled(tmp_path, 1)
    before = journal.path.read_bytes()
    with pytest.raises(StoreError, match="no record for a journal"):
        journal.append(1, [record(), bad])
    assert journal.path.read_bytes() == before
    assert journal.append(1, [record("next")]) == 2


def test_appending_nothing_writes_nothing(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    assert journal.append(0, []) == 0
    assert not journal.path.exists()


def test_files_and_folders_are_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = filled(tmp_path, 1)
    finally:
        os.umask(before)
    for path in (journal.path, journal.mirror, journal.path.with_suffix(".lock")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


# -- crashes ---------------------------------------------------------------------------------------


def test_a_batch_torn_at_any_byte_keeps_the_whole_records_before_it(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1)
    start = journal.path.stat().st_size
    journal.append(1, [record("a"), record("b")])
    whole, mirrored = journal.path.read_bytes(), journal.mirror.read_bytes()[:start]
    for cut in range(start, len(whole) + 1):
        journal.path.write_bytes(whole[:cut])
        journal.mirror.write_bytes(mirrored)  # written after the journal: it has less
        kept = whole[:cut].count(b"\n")
        again = opened(tmp_path)
        assert (again.seq, len(texts(again))) == (kept, kept)
        assert journal.path.read_bytes() == whole[:cut]  # reading changes nothing
        if cut % 5 and whole[cut - 2 : cut + 2].count(b"\n") == 0:
            continue  # appending is slow: at some cuts, and at all that are near the end of a line
        assert again.append(kept, [record("after")]) == kept + 1
        assert texts(opened(tmp_path)) == [*["0", "a", "b"][:kept], "after"]
        assert again.path.read_bytes() == again.mirror.read_bytes()
        torn = whole[:cut].rpartition(b"\n")[2]
        aside = tmp_path / "run" / f"journal.torn-{kept + 1}"
        assert (aside.read_bytes() if torn else b"") == torn
        aside.unlink(missing_ok=True)


KILLED = """
import os, sys
from pathlib import Path
from donewhen.store.journal import Journal
place = Path(sys.argv[1])
journal = Journal.open(place / "run" / "journal.jsonl", place / "state" / "journal.jsonl")
while True:
    number = journal.seq
    journal.append(number, [{"kind": "event", "type": "Note", "data": {"text": str(number)}}])
    os.write(1, b"%d\\n" % journal.seq)
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    acknowledged = 0
    for kill in range(12):
        writer = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        for _ in range(3 + 7 * kill):
            writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
        rest = writer.communicate()[0].split(b"\n")
        said = [int(line) for line in rest[:-1]]
        acknowledged = max([acknowledged + 3 + 7 * kill, *said])
        journal = opened(tmp_path)
        journal.verify()
        assert journal.seq >= acknowledged
        assert texts(journal) == [str(n) for n in range(journal.seq)]
        acknowledged = journal.seq


def test_a_journal_that_was_killed_in_the_middle_of_a_line_goes_on(tmp_path: Path) -> None:
    """A second writer dies half-way while ours lives: its half line is put aside, not joined."""
    journal = filled(tmp_path, 2)
    code = (
        "import os, sys, signal\n"
        "out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)\n"
        'os.write(out, b\'{"v": 1, "seq": 3, "at\')\n'
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(journal.path)], check=False)
    assert journal.append(2, [record("2")]) == 3
    assert texts(opened(tmp_path)) == ["0", "1", "2"]
    assert (tmp_path / "run/journal.torn-3").read_bytes() == b'{"v": 1, "seq": 3, "at'


# -- other writers ---------------------------------------------------------------------------------


def test_a_conflict_changes_nothing_and_stays_until_the_journal_is_opened_again(
    tmp_path: Path,
) -> None:
    ours, theirs = filled(tmp_path, 1), opened(tmp_path)
    before = (ours.seq, ours.head)
    theirs.append(1, [record("theirs")])
    for _ in range(2):
        with pytest.raises(Conflict, match="at record 2, not at 1") as error:
            ours.append(ours.seq, [record("ours")])
        assert error.value.exit_code == 3
        assert (ours.seq, ours.head) == before
    again = opened(tmp_path)
    again.append(again.seq, [record("ours")])
    assert texts(opened(tmp_path)) == ["0", "theirs", "ours"]


def test_who_knows_what_another_wrote_may_go_on_from_it(tmp_path: Path) -> None:
    ours, theirs = filled(tmp_path, 1), opened(tmp_path)
    assert ours.append(theirs.append(1, [record("theirs")]), [record("ours")]) == 3
    assert texts(opened(tmp_path)) == ["0", "theirs", "ours"]


WRITER = """
import sys
import tempfile
from pathlib import Path
from donewhen.errors import Conflict
from donewhen.store.journal import Journal
place, me = Path(sys.argv[1]), sys.argv[2]
paths = place / "run" / "journal.jsonl", place / "state" / "journal.jsonl"
journal, left = Journal.open(*paths), 25
while left:
    try:
        text = f"{me}:{left}"
        journal.append(journal.seq, [{"kind": "event", "type": "Note", "data": {"text": text}}])
        left -= 1
    except Conflict:
        journal = Journal.open(*paths)
"""


def test_eight_processes_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(n)]) for n in range(8)
    ]
    assert [w.wait() for w in writers] == [0] * 8
    journal = opened(tmp_path)
    journal.verify()
    assert sorted(texts(journal)) == sorted(
        f"{n}:{left}" for n in range(8) for left in range(1, 26)
    )
    assert journal.path.read_bytes() == journal.mirror.read_bytes()


def test_a_reader_beside_a_writer_sees_a_prefix_and_never_a_fault(tmp_path: Path) -> None:
    filled(tmp_path, 1)
    writer = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE)
    try:
        assert writer.stdout is not None
        last = 0
        for _ in range(100):
            found = texts(opened(tmp_path))
            assert len(found) >= last
            assert found == ["0", *(str(n) for n in range(1, len(found)))]
            last = len(found)
    finally:
        writer.kill()
        writer.communicate()


# -- hands that are not ours -----------------------------------------------------------------------


def rechained(path: Path, change: int) -> None:
    """Forge record `change` and repair every hash after it, as an agent could."""
    mark, lines = Mark(), []
    for line in path.read_bytes().splitlines():
        old = json.loads(line)
        new = {k: old[k] for k in chain.GIVEN}
        if old["seq"] == change:
            new["data"] = {"text": "9"}
        data, mark = chain.chained(mark, [new], old["at"])
        lines.append(data)
    path.write_bytes(b"".join(lines))


@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_a_changed_record_is_found_and_named(tmp_path: Path, at: int) -> None:
    journal = filled(tmp_path, 4)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    lines[at - 1] = lines[at - 1].replace(b'{"text": "%d"}' % (at - 1), b'{"text": "7"}')
    journal.path.write_bytes(b"".join(lines))
    with pytest.raises(Corrupt, match=f"line {at} was changed") as error:
        opened(tmp_path)
    assert str(journal.path) in error.value.message
    assert str(journal.mirror) in error.value.hint


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_removed_record_is_found_where_the_chain_breaks(tmp_path: Path, at: int) -> None:
    journal = filled(tmp_path, 4)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(b"".join(lines[: at - 1] + lines[at:]))
    with pytest.raises(Corrupt, match=f"the chain breaks at line {at}"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"garbage", "line 2 is no JSON"),
        (b"\xff\xfe", "line 2 is no JSON"),
        (b"[" * 100_000, "line 2 is no JSON"),
        (b"", "line 2 is no JSON"),
        (b"null", "line 2 is no record of version 1"),
        (b'{"v": 2, "seq": 2}', "line 2 is no record of version 1"),
        (b'{"v": 1, "seq": 2}', "line 2 is no event and no intent"),
    ],
)
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: bytes, why: str) -> None:
    journal = filled(tmp_path, 1)
    with journal.path.open("ab") as out:
        out.write(line + b"\n")
    with pytest.raises(Corrupt, match=why):
        opened(tmp_path)


@given(at=st.integers(0, 10_000), bit=st.integers(0, 7))
@settings(max_examples=200, deadline=None)
def test_no_flipped_bit_reads_as_another_story(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    """A flip is found, tears the tail, or only changed how the same record is written."""
    place = tmp_path_factory.mktemp("journal")
    journal = filled(place, 3)
    story = list(journal.records())
    data = bytearray(journal.path.read_bytes())
    at %= len(data)
    data[at] ^= 1 << bit
    journal.path.write_bytes(bytes(data))
    try:
        found = list(opened(place).records())
    except Corrupt:
        return
    assert found == story[: len(found)]


def test_a_journal_rewritten_while_we_hold_it_open_is_found_at_the_next_append(
    tmp_path: Path,
) -> None:
    journal = filled(tmp_path, 3)
    rechained(journal.path, 3)
    with pytest.raises(Corrupt, match="does not end as it did at record 3"):
        journal.append(3, [record()])


def test_a_chain_repaired_from_an_earlier_record_is_found(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    rechained(journal.path, 1)
    with pytest.raises(Corrupt, match="does not end as it did at record 3"):
        journal.append(3, [record()])
    with pytest.raises(Corrupt, match="does not hold what it held up to record 3"):
        journal.verify()


@pytest.mark.parametrize("size", [0, 10, -1])
def test_a_journal_cut_while_we_hold_it_open_is_found(tmp_path: Path, size: int) -> None:
    journal = filled(tmp_path, 3)
    whole = journal.path.read_bytes()
    journal.path.write_bytes(whole[:size])
    with pytest.raises(Corrupt, match="does not end as it did"):
        journal.append(3, [record()])


def test_a_journal_removed_while_we_hold_it_open_is_found(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    journal.path.unlink()
    with pytest.raises(Corrupt, match="does not end as it did"):
        journal.append(3, [record()])
    assert not journal.path.exists()


def test_a_sequence_number_out_of_order_is_found_though_every_hash_fits(tmp_path: Path) -> None:
    journal = filled(tmp_path, 2)
    data, _mark = chain.chained(Mark(7, journal.head, 0, 0), [record()], 1.0)
    with journal.path.open("ab") as out:
        out.write(data)
    with pytest.raises(Corrupt, match="the chain breaks at line 3"):
        opened(tmp_path)


# -- reading ---------------------------------------------------------------------------------------


def test_no_file_is_an_empty_journal(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    assert (journal.seq, journal.head, texts(journal)) == (0, chain.START, [])
    assert list(tmp_path.iterdir()) == []


def test_reading_is_streaming(tmp_path: Path) -> None:
    """The first record comes although a later one is broken: nothing is read ahead of it."""
    journal = filled(tmp_path, 3)
    with journal.path.open("ab") as out:
        out.write(b"garbage\n")
    found = journal.records()
    assert [next(found)["seq"] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(Corrupt):
        next(found)


def test_a_reader_sees_the_journal_of_the_moment_it_began(tmp_path: Path) -> None:
    """So that a torn line it has begun to read is never joined with what replaced it."""
    journal = filled(tmp_path, 2)
    found = opened(tmp_path).records()
    first = next(found)
    journal.append(2, [record("x" * 100_000)])
    assert [first["seq"], *(r["seq"] for r in found)] == [1, 2]


READ = """
import os, sys
from pathlib import Path
from donewhen.store.journal import Journal
os.setgroups([]); os.setgid(65534); os.setuid(65534)
place = Path(sys.argv[1])
journal = Journal.open(place / "run" / "journal.jsonl", place / "state" / "journal.jsonl")
journal.verify()
print(journal.seq, len(list(journal.records())))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_somebody_who_may_only_read_can_read() -> None:
    """As another user, in folders and files that are not writable."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        filled(place, 3)
        for path in (place, *place.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = sorted(place.rglob("*"))
        done = subprocess.run(
            [sys.executable, "-c", READ, name],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert (done.stdout, done.stderr) == ("3 3\n", "")
        assert sorted(place.rglob("*")) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_be_read_is_a_store_error() -> None:
    with tempfile.TemporaryDirectory() as name:
        filled(Path(name), 1)  # 0600 in 0700: not for others
        Path(name).chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", READ, name], capture_output=True, text=True, check=False, cwd="/"
        )
        assert "StoreError: cannot read" in done.stderr


def test_the_end_of_a_journal_is_read_without_being_believed(tmp_path: Path) -> None:
    journal = filled(tmp_path, 30)
    with journal.path.open("ab") as out:
        out.write(b'null\n[1]\n{"seq": 1}\ngarbage\n{"v": 1, "se')
    found = last_records(journal.path, most=2000)
    assert [r["seq"] for r in found] == list(range(31 - len(found), 31))
    assert 2 <= len(found) < 10
