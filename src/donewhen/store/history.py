"""history.jsonl: one line a finished run. Appending costs one write, the newest are read backwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.system import fs, locks

VERSION = 1
BLOCK = 1 << 14


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add one entry: {run, goal, reason, exit, iterations, at, seconds, ...}.

    A torn last line of an earlier crash is closed first.
    """
    fs.make_private_dir(path.parent)
    line = json.dumps({"v": VERSION, **entry}, ensure_ascii=True).encode() + b"\n"
    with locks.lock(path.with_suffix(".lock"), wait=10.0):
        fs.append_fsync(path, b"\n" + line if _torn(path) else line)


def _torn(path: Path) -> bool:
    if not fs.size(path):
        return False
    with path.open("rb") as source:
        source.seek(-1, 2)
        return source.read(1) != b"\n"


def tail(path: Path, count: int) -> list[dict[str, Any]]:
    """The newest `count` entries, newest first; reads only the end of the file."""
    found: list[dict[str, Any]] = []
    for line in _backwards(path):
        if len(found) >= count:
            break
        if entry := _parsed(line):
            found.append(entry)
    return found


def _backwards(path: Path) -> Iterator[bytes]:
    """The lines from the last to the first, read in blocks. What is torn is yielded too."""
    if not path.exists():
        return
    with path.open("rb") as source:
        at = source.seek(0, 2)
        rest: list[bytes] = []  # the pieces of a line whose beginning is not read yet, last first
        while at > 0:
            step = min(BLOCK, at)
            at -= step
            source.seek(at)
            first, *whole = source.read(step).split(b"\n")
            if whole:
                yield b"".join((whole[-1], *reversed(rest)))
                yield from reversed(whole[:-1])
                rest = []
            rest.append(first)
        yield b"".join(reversed(rest))


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None
