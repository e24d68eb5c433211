"""Reading what the shim wrote: a head file, then segments of which the oldest may be gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from donewhen.system.sink import HEAD, SEGMENT

CHUNK = 1 << 16


def numbers(base: Path) -> list[int]:
    """The numbers of the kept files of a stream, oldest first."""
    try:
        names = [path.name for path in base.parent.iterdir()]
    except FileNotFoundError:
        return []
    ends = (name.removeprefix(f"{base.name}.") for name in names if name.startswith(base.name))
    return sorted(int(end) for end in ends if end.isdigit())


def part(base: Path, number: int) -> Path:
    return base.with_name(f"{base.name}.{number}")


@dataclass(frozen=True)
class Output:
    """One stream of a finished attempt. `size` counts every byte ever written, kept or not."""

    base: Path
    size: int

    @property
    def kept(self) -> int:
        return sum(path.stat().st_size for path in self.parts())

    @property
    def skipped(self) -> int:
        return max(0, self.size - self.kept)

    def parts(self) -> list[Path]:
        """The kept files, oldest first."""
        return [part(self.base, number) for number in numbers(self.base)]

    def tail(self, count: int) -> bytes:
        """The last `count` bytes that were kept."""
        data = b""
        for path in reversed(self.parts()):
            missing = count - len(data)
            if missing <= 0:
                break
            with path.open("rb") as source:
                source.seek(max(0, path.stat().st_size - missing))
                data = source.read(missing) + data
        return data

    def head(self, count: int) -> bytes:
        """The first `count` bytes, never beyond a gap."""
        parts = self.parts()
        if not parts or parts[0] != part(self.base, 0):
            return b""
        with parts[0].open("rb") as source:
            return source.read(count)

    def head_tail(self, limit: int) -> bytes:
        """All of it if it fits in `limit`, else its two ends with a line that says what is left out."""
        if self.size <= limit:
            return self.tail(limit)
        half = limit // 2
        head, tail = self.head(half), self.tail(half)
        gap = self.size - len(head) - len(tail)
        return head + f"\n[... {gap} bytes left out ...]\n".encode() + tail


class Follower:
    """Hands on new bytes of a stream while it is written; goes on at the oldest kept segment.

    `skipped` counts the bytes that were gone before they could be read.
    """

    def __init__(self, base: Path, hand_on: Callable[[bytes], None]) -> None:
        self.base = base
        self.hand_on = hand_on
        self.number = 0
        self.offset = 0
        self.skipped = 0
        self._source: BinaryIO | None = None

    def pump(self) -> bool:
        """Hand on what is there; True if there was anything."""
        news = False
        while self._opened():
            news = self._drain() or news
            later = [number for number in numbers(self.base) if number > self.number]
            if not later:
                break
            # Only now is this one surely complete: what came between is read before it is left.
            news = self._drain() or news
            self._leave(later[0])
        return news

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        self._source = None

    def _opened(self) -> bool:
        """Open the file we are at, or the oldest later one if that is gone. False: not yet there."""
        while self._source is None:
            try:
                self._source = part(self.base, self.number).open("rb", buffering=0)
            except FileNotFoundError:
                later = [number for number in numbers(self.base) if number > self.number]
                if not later:
                    return False
                self._leave(later[0])
        return True

    def _drain(self) -> bool:
        assert self._source is not None
        news = False
        while data := self._source.read(CHUNK):
            self.offset += len(data)
            news = True
            self.hand_on(data)
        return news

    def _leave(self, number: int) -> None:
        full = HEAD if self.number == 0 else SEGMENT
        self.skipped += max(0, full - self.offset) + SEGMENT * (number - self.number - 1)
        self.close()
        self.number, self.offset = number, 0
