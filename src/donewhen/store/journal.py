"""The journal of a run: append-only JSON lines with sequence numbers and a hash chain.

Appending compares first: the caller says which sequence number it saw last. A torn last line
(from a crash) is put aside; a broken chain is Corrupt. A mirror in the user's state folder gets
the same bytes after each durable append.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.errors import Conflict, Corrupt
from donewhen.system import clock, fs, locks

VERSION = 1
START = "0" * 64
LOCK_WAIT_S = 10.0


def digest(record: dict[str, Any]) -> str:
    """The chain hash of a record: over everything but its own hash, keys sorted."""
    body = {k: v for k, v in record.items() if k != "hash"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


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
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


class Journal:
    """One file, one writer at a time. `seq` is the last sequence number (0: empty), `head` its hash."""

    def __init__(self, path: Path, mirror: Path, seq: int, head: str, size: int) -> None:
        self.path = path
        self.mirror = mirror
        self.seq = seq
        self.head = head
        self._size = size

    @staticmethod
    def open(path: Path, mirror: Path) -> Journal:
        """Read the chain through once. Raises Corrupt where it does not hold; never writes."""
        journal = Journal(path, mirror, 0, START, 0)
        for record, end in journal._checked():
            journal.seq, journal.head, journal._size = record["seq"], record["hash"], end
        return journal

    def records(self) -> Iterator[dict[str, Any]]:
        """All records in order, as they are on disk now. Raises Corrupt where the chain breaks."""
        for record, _end in self._checked():
            yield record

    def _checked(self) -> Iterator[tuple[dict[str, Any], int]]:
        head, seq, end = START, 0, 0
        for number, line in self._lines():
            record = self._parsed(line, number)
            if (
                record.get("seq") != seq + 1
                or record.get("prev") != head
                or digest(record) != record.get("hash")
            ):
                raise Corrupt(
                    f"{self.path}: the chain breaks at line {number}",
                    hint=f"The mirror is {self.mirror}",
                )
            seq, head, end = record["seq"], record["hash"], end + len(line)
            yield record, end

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Whole lines only: a last one without its newline was torn by a crash."""
        if not self.path.exists():
            return
        with self.path.open("rb") as source:
            for number, line in enumerate(source, 1):
                if line.endswith(b"\n"):
                    yield number, line

    def _parsed(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except ValueError as error:
            raise Corrupt(f"{self.path}: line {number} is no JSON") from error
        if not isinstance(record, dict) or record.get("v") != VERSION:
            raise Corrupt(f"{self.path}: line {number} is no record of version {VERSION}")
        return record

    def append(self, expected: int, records: list[dict[str, Any]]) -> int:
        """Append after sequence number `expected`, durably, in one write; returns the new last one.

        Raises Conflict if somebody appended first, Corrupt if the file is not what it was.
        """
        with locks.lock(self.path.with_suffix(".lock"), wait=LOCK_WAIT_S):
            self._still_ours()
            if expected != self.seq:
                raise Conflict(f"{self.path}: at {self.seq}, not at {expected}")
            data, seq, head = self._chained(records)
            fs.append_fsync(self.path, data)
            self._mirror(data)
            self.seq, self.head, self._size = seq, head, self._size + len(data)
        return self.seq

    def _chained(self, records: list[dict[str, Any]]) -> tuple[bytes, int, str]:
        seq, head, lines = self.seq, self.head, []
        for record in records:
            seq += 1
            whole = {"v": VERSION, "seq": seq, "at": clock.now(), **record, "prev": head}
            head = digest(whole)
            lines.append(json.dumps({**whole, "hash": head}, ensure_ascii=True) + "\n")
        return "".join(lines).encode(), seq, head

    def _still_ours(self) -> None:
        """The file must end where we left it; a torn tail beyond that is put aside."""
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._size:
            return
        if size > self._size:
            with self.path.open("rb") as source:
                source.seek(self._size)
                tail = source.read()
            if b"\n" not in tail:
                fs.write_atomic(self.path.with_name(f"journal.torn-{self.seq + 1}"), tail)
                fs.truncate(self.path, self._size)
                return
            raise Conflict(f"{self.path}: another process has appended")
        raise Corrupt(
            f"{self.path} was cut behind our back: {size} of {self._size} bytes are left",
            hint=f"The mirror is {self.mirror}",
        )

    def _mirror(self, data: bytes) -> None:
        fs.make_private_dir(self.mirror.parent)
        size = self.mirror.stat().st_size if self.mirror.exists() else 0
        if size != self._size:  # missing, or cut: write it whole
            self.mirror.unlink(missing_ok=True)
            data = self.path.read_bytes()
        fs.append_fsync(self.mirror, data, durable=False)
