"""The lines of a journal: JSON records with sequence numbers, each holding the hash of the one before.

Reading needs no lock and no write access, is streaming, and stops before a torn last line.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from donewhen.errors import Corrupt, StoreError
from donewhen.system import fs

VERSION = 1
START = "0" * 64
KEYS = frozenset({"v", "seq", "at", "kind", "type", "data", "prev", "hash"})
GIVEN = frozenset({"kind", "type", "data"})
KINDS = ("event", "intent")
SORTED = json.JSONEncoder(sort_keys=True, ensure_ascii=True)


class Mark(NamedTuple):
    """A place in the chain: the last record before it, its hash, and where its line begins and ends."""

    seq: int = 0
    head: str = START
    begin: int = 0
    end: int = 0


def digest(record: dict[str, Any]) -> str:
    """The chain hash of a record: over everything but its own hash, keys sorted."""
    body = {k: v for k, v in record.items() if k != "hash"}
    return hashlib.sha256(SORTED.encode(body).encode()).hexdigest()


def chained(mark: Mark, records: Iterable[dict[str, Any]], at: float) -> tuple[bytes, Mark]:
    """The lines of new records after `mark`, and the place after them."""
    lines = []
    for record in records:
        if record.keys() != GIVEN or record["kind"] not in KINDS:
            raise StoreError(f"no record for a journal: {record!r:.200}")
        whole = {"v": VERSION, "seq": mark.seq + 1, "at": at, **record, "prev": mark.head}
        whole["hash"] = digest(whole)
        line = json.dumps(whole, ensure_ascii=True).encode() + b"\n"
        mark = Mark(mark.seq + 1, whole["hash"], mark.end, mark.end + len(line))
        lines.append(line)
    return b"".join(lines), mark


def walk(path: Path, mark: Mark) -> Iterator[tuple[dict[str, Any], Mark]]:
    """The records after `mark` and the places after them, checked one by one.

    What is appended after the start is not seen. Raises Corrupt where the chain breaks.
    """
    until = fs.size(path)
    if until <= mark.end:
        return
    try:
        with path.open("rb") as source:
            source.seek(mark.end)
            while line := source.readline(until - mark.end):
                if not line.endswith(b"\n"):  # torn by a crash, or being written
                    return
                record, mark = _next(path, line, mark)
                yield record, mark
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error


def _next(path: Path, line: bytes, mark: Mark) -> tuple[dict[str, Any], Mark]:
    number = mark.seq + 1
    record = _parsed(path, line, number)
    if record["seq"] != number or record["prev"] != mark.head:
        raise Corrupt(f"{path}: the chain breaks at line {number}")
    if digest(record) != record["hash"]:
        raise Corrupt(f"{path}: line {number} was changed")
    return record, Mark(number, record["hash"], mark.end, mark.end + len(line))


def _parsed(path: Path, line: bytes, number: int) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Corrupt(f"{path}: line {number} is no JSON") from error
    if not isinstance(record, dict) or record.get("v") != VERSION:
        raise Corrupt(f"{path}: line {number} is no record of version {VERSION}")
    if record.keys() != KEYS or record["kind"] not in KINDS:
        raise Corrupt(f"{path}: line {number} is no event and no intent")
    return record


def stands(path: Path, mark: Mark, line: bytes) -> bool:
    """Is `line`, which we wrote before `mark`, still the last one, byte by byte?"""
    if not line or fs.size(path) != mark.end:
        return False
    with path.open("rb", buffering=0) as source:
        source.seek(mark.begin)
        return source.read(len(line) + 1) == line


def ends_at(path: Path, mark: Mark) -> bool:
    """Cheap: is the record before `mark` still what it was? Reads that one line alone."""
    if fs.size(path) < mark.end:
        return False
    if not mark.seq:
        return True
    with path.open("rb") as source:
        source.seek(mark.begin)
        line = source.read(mark.end - mark.begin)
    try:
        record = _parsed(path, line, mark.seq)
    except Corrupt:
        return False
    return bool(record["hash"] == mark.head == digest(record))
