"""The journal of a run: appended to by one writer at a time, the only truth about the run.

Appending compares first: the caller says which sequence number it saw last. A torn last line (from
a crash) is put aside by the next append and ignored by every reader. A mirror in the user's state
folder gets the same bytes after each durable append: what it has and the journal lacks was lost.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from donewhen.errors import Conflict, Corrupt, StoreError
from donewhen.store import chain
from donewhen.store.chain import Mark
from donewhen.system import clock, fs, locks

LOCK_WAIT_S = 10.0
BLOCK = 1 << 20


def last_records(path: Path, most: int = 1 << 16) -> list[dict[str, Any]]:
    """The records in the last `most` bytes, unchecked: for lists, never for a decision."""
    try:
        with path.open("rb") as source:
            size = source.seek(0, 2)
            source.seek(max(0, size - most))
            lines = source.read().split(b"\n")
    except OSError:
        return []
    found = []
    for line in lines[1 if size > most else 0 :]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and record.keys() >= chain.GIVEN:
            found.append(record)
    return found


class Journal:
    """One file and its mirror. `seq` is the last sequence number (0: empty), `head` its hash.

    `mirror_error` says why the mirror could not be written ("" while it could): a journal whose
    mirror is short is whole, and the next append tries again.
    """

    def __init__(self, path: Path, mirror: Path) -> None:
        self.path = path
        self.mirror = mirror
        self.mirror_error = ""
        self._lock = path.with_suffix(".lock")
        self._mark = Mark()
        self._line = b""  # the last one that we wrote, as it stands before the mark
        self._compared = False

    @property
    def seq(self) -> int:
        return self._mark.seq

    @property
    def head(self) -> str:
        return self._mark.head

    @staticmethod
    def open(
        path: Path, mirror: Path, each: Callable[[dict[str, Any]], None] = lambda _record: None
    ) -> Journal:
        """Read the chain through once, each record also by `each`. Raises Corrupt where it does
        not hold; never writes."""
        journal = Journal(path, mirror)
        for record, mark in journal._walk(Mark()):
            each(record)
            journal._mark = mark
        return journal

    def records(self) -> Iterator[dict[str, Any]]:
        """All records in order, as they are on disk now. Raises Corrupt where the chain breaks."""
        for record, _mark in self._walk(Mark()):
            yield record

    def verify(self) -> None:
        """Raises Corrupt if the chain breaks, lacks what was read before, or is not its mirror's."""
        mirrored, mark, mine = fs.size(self.mirror), Mark(), not self.seq
        for _record, mark in self._walk(Mark()):
            mine = mine or mark == self._mark
        if not mine:
            raise self._corrupt(f"it does not hold what it held up to record {self.seq}")
        self._compare(mirrored, mark.end)

    def append(self, expected: int, records: list[dict[str, Any]]) -> int:
        """Append after sequence number `expected`, durably, in one write; returns the new last one.

        A record is `{"kind", "type", "data"}`. Raises Conflict if somebody appended first, Corrupt if
        the file is not what it was or lacks what its mirror has. Neither changes what we know: who
        wants to go on from what somebody else wrote opens the journal again.
        """
        with locks.lock(self._lock, wait=LOCK_WAIT_S):
            now = self._caught_up()
            if expected != now.seq:
                raise Conflict(
                    f"{self.path} is at record {now.seq}, not at {expected}: "
                    "another process has appended",
                    hint="Type: donewhen status",
                )
            self._mark = now
            self._compare_before()
            data, mark = chain.chained(self._mark, records, clock.now())
            if data:
                fs.append_fsync(self.path, data)
                before, self._mark = self._mark, mark
                self._line = data[mark.begin - before.end :]
                self._copy(data, before.end)
        return self.seq

    def _walk(self, mark: Mark) -> Iterator[tuple[dict[str, Any], Mark]]:
        try:
            yield from chain.walk(self.path, mark)
        except Corrupt as error:
            raise Corrupt(error.message, hint=f"Its mirror is {self.mirror}") from error

    def _end(self) -> Mark:
        """The place after the last whole record on disk, read from the one we know."""
        mark = self._mark
        for _record, after in self._walk(self._mark):
            mark = after
        return mark

    def _caught_up(self) -> Mark:
        """The file still has what we know; read what came after it, put aside a torn tail."""
        if chain.stands(self.path, self._mark, self._line):
            return self._mark
        if not chain.ends_at(self.path, self._mark):
            raise self._corrupt(f"it does not end as it did at record {self.seq}")
        mark = self._end()
        if fs.size(self.path) > mark.end:
            with self.path.open("rb") as source:
                source.seek(mark.end)
                tail = source.read()
            fs.write_atomic(self.path.with_name(f"journal.torn-{mark.seq + 1}"), tail)
            fs.truncate(self.path, mark.end)
        return mark

    # -- the mirror --------------------------------------------------------------------------------

    def _compare_before(self) -> None:
        """Byte by byte before our first append, by size before every one."""
        mirrored = fs.size(self.mirror)
        if not self._compared or mirrored > self._mark.end:
            self._compare(mirrored, self._mark.end)
        self._compared = True

    def _compare(self, mirrored: int, end: int) -> None:
        if mirrored > end:
            raise self._corrupt(
                f"it has {end} bytes and its mirror {self.mirror} has {mirrored}: records were lost"
            )
        if mirrored and not _same_start(self.path, self.mirror, mirrored):
            raise self._corrupt(f"it differs from its mirror {self.mirror}")

    def _copy(self, data: bytes, before: int) -> None:
        """Add `data` to a mirror that has `before` bytes; any other one is written whole."""
        try:
            if before > 0 and fs.size(self.mirror) == before:
                fs.append_fsync(self.mirror, data, durable=False)
            else:
                fs.make_private_dir(self.mirror.parent)
                fs.write_atomic(self.mirror, self.path.read_bytes(), durable=False)
            self.mirror_error = ""
        except StoreError as error:
            self.mirror_error = error.message

    def refresh_mirror(self) -> None:
        """Write the mirror if it is missing or short; the reason why that fails is `mirror_error`."""
        with locks.lock(self._lock, wait=LOCK_WAIT_S):
            self._mark = self._caught_up()
            self._compare(fs.size(self.mirror), self._mark.end)
            if fs.size(self.mirror) < self._mark.end:
                self._copy(b"", before=-1)

    @staticmethod
    def open_or_restore(path: Path, mirror: Path) -> Journal:
        """The journal if it holds against its mirror; else the one that the mirror restores."""
        try:
            journal = Journal.open(path, mirror)
            journal.verify()
        except Corrupt:
            return Journal.restore_from_mirror(path, mirror)
        return journal

    @staticmethod
    def restore_from_mirror(path: Path, mirror: Path, head: str = "") -> Journal:
        """Put a lost or broken journal back as its mirror has it; the broken one is kept beside it.

        With `head`, the hash of the last record that is known to be ours, what the mirror has after
        it is left out. Raises Corrupt if the mirror is empty, breaks, or does not hold `head`.
        """
        with locks.lock(path.with_suffix(".lock"), wait=LOCK_WAIT_S):
            end = _ours(mirror, head)
            if end is None:
                raise Corrupt(f"{path} cannot be restored from its mirror {mirror}")
            data = (fs.read_bytes(mirror) or b"")[:end]
            if (broken := fs.read_bytes(path)) is not None:
                fs.write_atomic(_free(path.with_name("journal.broken")), broken)
            fs.write_atomic(path, data)
            fs.make_private_dir(mirror.parent)
            fs.write_atomic(mirror, data)
        return Journal.open(path, mirror)

    def _corrupt(self, what: str) -> Corrupt:
        return Corrupt(f"{self.path}: {what}", hint=f"Its mirror is {self.mirror}")


def _ours(mirror: Path, head: str) -> int | None:
    """How many bytes of a mirror to believe: up to `head`, else every whole record. None: nothing."""
    if head == chain.START:
        return 0
    end = None
    for _record, mark in chain.walk(mirror, Mark()):
        end = mark.end
        if mark.head == head:
            return end
    return None if head else end


def _same_start(one: Path, other: Path, size: int) -> bool:
    """Do both files begin with the same `size` bytes? Read in blocks, never whole."""
    try:
        with one.open("rb") as left, other.open("rb") as right:
            for at in range(0, size, BLOCK):
                most = min(BLOCK, size - at)
                if left.read(most) != right.read(most):
                    return False
    except OSError as error:
        raise StoreError(f"cannot compare {one} and {other}: {error.strerror}") from error
    return True


def _free(path: Path) -> Path:
    """`path`, or with the first free number behind it: nothing that was put aside is replaced."""
    number, found = 1, path
    while found.exists():
        number += 1
        found = path.with_name(f"{path.name}.{number}")
    return found
