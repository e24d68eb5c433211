"""Pure: bytes in any pieces -> lines -> JSON objects. A line over the cap is skipped, never held."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

LINE_CAP = 8 << 20


class Lines:
    """Splits a stream into lines of at most `cap` bytes; longer ones are counted and dropped."""

    def __init__(self, cap: int = LINE_CAP) -> None:
        self.cap = cap
        self.skipped = 0
        self._kept: list[bytes] = []
        self._size = 0
        self._dropping = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Whole lines, without their newline."""
        *whole, rest = chunk.split(b"\n")
        for piece in whole:
            line = self._finish(piece)
            if line is not None:
                yield line
        self._hold(rest)

    def last(self) -> Iterator[bytes]:
        """What stands after the last newline."""
        line = self._finish(b"")
        if line:
            yield line

    def _finish(self, piece: bytes) -> bytes | None:
        self._hold(piece)
        line = None if self._dropping else b"".join(self._kept)
        self.skipped += self._dropping
        self._kept, self._size, self._dropping = [], 0, False
        return line

    def _hold(self, piece: bytes) -> None:
        if self._dropping or not piece:
            return
        self._size += len(piece)
        if self._size > self.cap:
            self._dropping, self._kept = True, []
        else:
            self._kept.append(piece)


def objects(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects among the lines; anything else is passed over."""
    for line in lines:
        if line.lstrip()[:1] != b"{":
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
