"""What a program wrote: its report file or all of its standard output, whole or not at all.

The program can be changed by the agent: sizes are capped, links and pipes are not followed, and
what is cut off is an error, never a pass.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.gates.base import Completed

CAP = 64 << 20
ROWS = 1_000_000
CHUNK = 1 << 16
WORDS = 1 << 14  # bytes of the words that may stand before a document


class BadReport(Exception):
    """The report cannot be believed; the text says why."""


def content(done: Completed, cap: int = CAP) -> bytes:
    """The report file if the gate was given one, else its whole standard output.

    Raises BadReport for what is missing, no plain file, over `cap` bytes or not all there.
    """
    if done.report is not None:
        return b"".join(chunks(done.report, cap))
    if done.output is None:
        return done.stdout.encode("utf-8", "surrogatepass")
    if done.output.size > cap:
        raise BadReport(f"its output is over {cap >> 20} MB")
    data = done.output.tail(done.output.size)
    if len(data) != done.output.size:
        raise BadReport("its output is not all there")
    return data


def chunks(path: Path | None, cap: int) -> Iterator[bytes]:
    """A report file piece by piece. Raises BadReport for one that is missing, no file, too large."""
    if path is None:
        raise BadReport("no report was written")
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise BadReport("no report was written") from None
    except OSError as error:
        raise BadReport(f"the report is no plain file: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise BadReport("the report is no plain file")
    with os.fdopen(handle, "rb") as source:
        size = 0
        while chunk := source.read(CHUNK):
            size += len(chunk)
            if size > cap:
                raise BadReport(f"the report is over {cap >> 20} MB")
            yield chunk


def text(done: Completed, cap: int = CAP) -> str:
    """The same as text, whatever bytes it has."""
    return content(done, cap).decode("utf-8-sig", "replace")


def document(done: Completed, cap: int = CAP) -> Any:
    """The one JSON value in it; a few lines of a wrapper may stand before. Raises BadReport."""
    said = content(done, cap)
    if not said.strip():
        raise BadReport("no report was written")
    first: BadReport | None = None
    for start in _starts(said):
        try:
            return json.loads(said[start:])
        except (ValueError, RecursionError) as error:
            first = first or BadReport(f"its JSON is broken or cut off: {error}")
    raise first or BadReport("it wrote no JSON")


def _starts(said: bytes) -> Iterator[int]:
    """Where a line begins that may be a document, among the first lines."""
    at = 0
    while at < min(len(said), WORDS):
        if said[at : at + 8].lstrip(b"\xef\xbb\xbf \t\r")[:1] in {b"{", b"["}:
            yield at
        end = said.find(b"\n", at)
        if end < 0:
            return
        at = end + 1


def rows(done: Completed, cap: int = CAP) -> list[dict[str, Any]]:
    """JSON objects, one a line. Raises BadReport for a line that is none."""
    found: list[dict[str, Any]] = []
    for number, line in enumerate(content(done, cap).splitlines(), 1):
        if not line.strip():
            continue
        if len(found) >= ROWS:
            raise BadReport(f"it has over {ROWS:,} rows")
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise BadReport(f"line {number} is broken or cut off: {_start(line)}") from None
        if not isinstance(row, dict):
            raise BadReport(f"line {number} is no object: {_start(line)}")
        found.append(row)
    return found


def _start(line: bytes) -> str:
    return line[:80].decode("utf-8", "replace")


def objects(value: Any, what: str) -> list[dict[str, Any]]:
    """A list of JSON objects, or BadReport: the report is of some other kind."""
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        raise BadReport(f"its JSON is not {what}")
    return value


def field(value: Any, *keys: str, default: Any = None) -> Any:
    """value[key][key]..., `default` where something on the way is missing or no table."""
    for key in keys:
        if not isinstance(value, dict):
            return default
        value = value.get(key)
    return default if value is None else value


def number(value: Any) -> int:
    """A line or column, 0 for what is none."""
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31
    return value if whole else 0


def words(value: Any) -> str:
    """A text, "" for what is none."""
    return value if isinstance(value, str) else ""
