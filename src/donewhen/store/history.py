"""history.jsonl: one line a finished run. Appending costs one write, the newest are read backwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from donewhen.system import fs, locks

VERSION = 1
BLOCK = 1 << 14


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add one entry; a torn last line of an earlier crash is closed first."""
    line = json.dumps({"v": VERSION, **entry}, ensure_ascii=True).encode() + b"\n"
    with locks.lock(path.with_suffix(".lock"), wait=10.0):
        fs.append_fsync(path, b"\n" + line if _torn(path) else line)


def _torn(path: Path) -> bool:
    if not path.exists() or not path.stat().st_size:
        return False
    with path.open("rb") as source:
        source.seek(-1, 2)
        return source.read(1) != b"\n"


def tail(path: Path, count: int) -> list[dict[str, Any]]:
    """The newest `count` entries, newest first; reads only the end of the file."""
    if not path.exists():
        return []
    data = b""
    with path.open("rb") as source:
        at = source.seek(0, 2)
        while at > 0 and data.count(b"\n") <= count:
            step = min(BLOCK, at)
            at -= step
            source.seek(at)
            data = source.read(step) + data
    lines = data.split(b"\n")[1 if at > 0 else 0 :]
    found = [entry for line in reversed(lines) if (entry := _parsed(line))]
    return found[:count]


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None
