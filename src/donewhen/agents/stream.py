"""Pure: bytes in any pieces -> lines -> JSON objects. A line over the cap is skipped, never held."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

LINE_CAP = 2 << 20  # as Python objects a line of brackets takes twenty times its length
SHOWN = 20_000  # characters of one event's text


class Lines:
    """Splits a stream into lines of at most `cap` bytes; longer ones are counted and dropped."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self.cap = cap
        self.skipped = 0
        self._kept = bytearray()
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Whole lines, without their newline."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(chunk, start, end)
            start = end + 1
            line = self._take()
            if line is not None:
                yield line
        self._hold(chunk, start, len(chunk))

    def last(self) -> Iterator[bytes]:
        """What stands after the last newline."""
        line = self._take()
        if line:
            yield line

    def _take(self) -> bytes | None:
        line = None if self._dropping else bytes(self._kept)
        self.skipped += self._dropping
        self._kept, self._dropping = bytearray(), False
        return line

    def _hold(self, chunk: bytes, start: int, end: int) -> None:
        if self._dropping:
            return
        if len(self._kept) + end - start > self.cap:
            self._dropping, self._kept = True, bytearray()
        else:
            self._kept += memoryview(chunk)[start:end]


def objects(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; anything else is passed over.

    A byte that is no UTF-8 spoils one character, not the line that may say how it all ended.
    """
    for line in lines:
        if line.lstrip()[:1] != b"{":
            continue
        try:
            value = json.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def words(value: object, most: int = SHOWN) -> str:
    """A foreign value as bounded text that can be written anywhere; "" for what is no text."""
    if not isinstance(value, str):
        return ""
    text = value if len(value) <= most else value[:most] + "..."
    return text.encode("utf-8", "replace").decode()  # a lone surrogate breaks every later write


def number(value: object) -> float:
    """A foreign value as a finite number that is not negative; 0 for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        found = float(value)
    except OverflowError:
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0


def record(value: object) -> dict[str, Any]:
    """A foreign value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}
