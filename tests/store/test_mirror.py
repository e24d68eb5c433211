"""The mirror: the same bytes a moment later; it finds losses, and mends them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from donewhen.errors import Conflict, Corrupt
from donewhen.store.journal import Journal
from tests.store.test_chain import filled, opened, rechained, record, texts


def test_the_mirror_has_the_same_bytes_after_every_append(tmp_path: Path) -> None:
    journal = opened(tmp_path)
    for number in range(3):
        journal.append(number, [record()])
        assert journal.mirror.read_bytes() == journal.path.read_bytes()


@pytest.mark.parametrize("left", [None, 0, 1, 100, -1], ids=str)
def test_a_mirror_that_is_gone_or_short_is_made_whole(tmp_path: Path, left: int | None) -> None:
    journal = filled(tmp_path, 3)
    whole = journal.mirror.read_bytes()
    journal.mirror.unlink() if left is None else journal.mirror.write_bytes(whole[:left])
    opened(tmp_path).verify()
    again = opened(tmp_path)
    again.append(3, [record()])
    assert again.mirror.read_bytes() == again.path.read_bytes()
    assert again.mirror.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_a_mirror_that_has_more_means_that_records_were_lost(tmp_path: Path, kept: int) -> None:
    """The chain of what is left holds, so nothing but the mirror can tell."""
    journal = filled(tmp_path, 3)
    lines = journal.path.read_bytes().splitlines(keepends=True)
    journal.path.write_bytes(b"".join(lines[:kept]))
    again = opened(tmp_path)
    assert again.seq == kept
    for attempt in (again.verify, lambda: again.append(kept, [record()])):
        with pytest.raises(Corrupt, match="records were lost") as error:
            attempt()
        assert str(journal.path) in error.value.message
        assert str(journal.mirror) in error.value.message
    assert len(journal.mirror.read_bytes().splitlines()) == 3


def test_a_removed_journal_is_found_by_its_mirror(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    journal.path.unlink()
    with pytest.raises(Corrupt, match="records were lost"):
        opened(tmp_path).append(0, [record()])
    assert not journal.path.exists()


@pytest.mark.parametrize("at", [1, 3])
def test_a_journal_forged_between_two_processes_differs_from_its_mirror(
    tmp_path: Path, at: int
) -> None:
    journal = filled(tmp_path, 3)
    rechained(journal.path, at)
    again = opened(tmp_path)
    for attempt in (again.verify, lambda: again.append(3, [record()])):
        with pytest.raises(Corrupt, match="differs from its mirror"):
            attempt()


def test_a_mirror_that_grows_while_we_hold_the_journal_is_found(tmp_path: Path) -> None:
    journal = filled(tmp_path, 2)
    with journal.mirror.open("ab") as out:
        out.write(b"more\n")
    with pytest.raises(Corrupt, match="records were lost"):
        journal.append(2, [record()])


def test_a_mirror_that_cannot_be_written_costs_no_record(tmp_path: Path) -> None:
    journal = filled(tmp_path, 1)
    journal.mirror.unlink()
    journal.mirror.parent.rmdir()
    journal.mirror.parent.write_text("in the way")
    assert journal.append(1, [record()]) == 2
    assert "cannot create the folder" in journal.mirror_error
    assert journal.append(2, [record()]) == 3
    journal.mirror.parent.unlink()
    journal.append(3, [record()])
    assert journal.mirror_error == ""
    assert journal.mirror.read_bytes() == journal.path.read_bytes()
    assert opened(tmp_path).seq == 4


# -- mending ---------------------------------------------------------------------------------------


def test_a_lost_journal_comes_back(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    whole = journal.path.read_bytes()
    for path in list(journal.path.parent.iterdir()):
        path.unlink()
    journal.path.parent.rmdir()
    again = Journal.restore_from_mirror(journal.path, journal.mirror, head=journal.head)
    assert again.path.read_bytes() == whole
    again.append(3, [record("3")])
    assert texts(opened(tmp_path)) == ["0", "1", "2", "3"]


def test_a_broken_journal_is_kept_beside_the_mended_one(tmp_path: Path) -> None:
    journal = filled(tmp_path, 2)
    whole = journal.path.read_bytes()
    for number, name in enumerate(("journal.broken", "journal.broken.2"), 1):
        journal.path.write_bytes(b"broken %d" % number)
        Journal.restore_from_mirror(journal.path, journal.mirror)
        assert journal.path.read_bytes() == whole
        assert (tmp_path / "run" / name).read_bytes() == b"broken %d" % number
    assert os.stat(tmp_path / "run/journal.broken").st_mode & 0o777 == 0o600


@pytest.mark.parametrize("both", [False, True], ids=["journal", "journal and mirror"])
@pytest.mark.parametrize("known", [0, 2])
def test_records_forged_with_a_chain_that_holds_are_taken_out_again(
    tmp_path: Path, known: int, both: bool
) -> None:
    """Only the head in our memory can tell: whoever writes to both files leaves no other trace."""
    journal = filled(tmp_path, known)
    forger = opened(tmp_path)
    mirrored = journal.mirror.read_bytes() if known else b""
    forger.append(known, [record("forged")])
    if not both:
        journal.mirror.write_bytes(mirrored)
    with pytest.raises(Conflict):
        journal.append(known, [record("ours")])
    again = Journal.restore_from_mirror(journal.path, journal.mirror, head=journal.head)
    again.append(known, [record("ours")])
    assert texts(opened(tmp_path)) == [*map(str, range(known)), "ours"]
    assert journal.path.read_bytes() == journal.mirror.read_bytes()
    assert b"forged" in (tmp_path / "run/journal.broken").read_bytes()


def test_a_torn_mirror_mends_what_it_has_whole(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    journal.mirror.write_bytes(journal.mirror.read_bytes()[:-5])
    journal.path.unlink()
    again = Journal.restore_from_mirror(journal.path, journal.mirror)
    again.verify()
    assert texts(again) == ["0", "1"]


@pytest.mark.parametrize("harm", ["gone", "empty", "broken", "another head"])
def test_a_mirror_that_cannot_mend_changes_nothing(tmp_path: Path, harm: str) -> None:
    journal = filled(tmp_path, 2)
    journal.path.write_bytes(b"broken\n")
    if harm == "gone":
        journal.mirror.unlink()
    elif harm == "empty":
        journal.mirror.write_bytes(b"")
    elif harm == "broken":
        journal.mirror.write_bytes(b"broken too\n")
    head = "f" * 64 if harm == "another head" else ""
    with pytest.raises(Corrupt):
        Journal.restore_from_mirror(journal.path, journal.mirror, head=head)
    assert journal.path.read_bytes() == b"broken\n"


def test_a_whole_journal_is_not_replaced_by_a_shorter_mirror(tmp_path: Path) -> None:
    journal = filled(tmp_path, 3)
    whole = journal.path.read_bytes()
    journal.mirror.write_bytes(whole[: len(whole) // 2])
    Journal.open_or_restore(journal.path, journal.mirror).refresh_mirror()
    assert journal.path.read_bytes() == whole == journal.mirror.read_bytes()
