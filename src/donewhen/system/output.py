"""Reading what the shim wrote: a head file, then segments of which the oldest may be gone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEAD = 32 << 20  # as in system.shim
SEGMENT = 8 << 20
CHUNK = 1 << 16


@dataclass(frozen=True)
class Output:
    """One stream of a finished attempt. `size` counts every byte ever written, kept or not."""

    base: Path
    size: int

    def parts(self) -> list[Path]:
        """The kept files, oldest first."""
        found = self.base.parent.glob(f"{self.base.name}.*")
        return sorted((p for p in found if p.suffix[1:].isdigit()), key=lambda p: int(p.suffix[1:]))

    @property
    def skipped(self) -> int:
        return max(0, self.size - sum(p.stat().st_size for p in self.parts()))

    def tail(self, count: int) -> bytes:
        """The last `count` bytes that were kept."""
        data = b""
        for part in reversed(self.parts()):
            with part.open("rb") as source:
                source.seek(max(0, part.stat().st_size - (count - len(data))))
                data = source.read() + data
            if len(data) >= count:
                break
        return data

    def head(self, count: int) -> bytes:
        parts = self.parts()
        if not parts:
            return b""
        with parts[0].open("rb") as source:
            return source.read(count)

    def head_tail(self, limit: int) -> bytes:
        """All of it if it fits in `limit`, else its two ends with a line that says what is left out."""
        if self.size <= limit:
            return self.tail(limit)
        half = limit // 2
        gap = f"\n[... {self.size - 2 * half} bytes left out ...]\n".encode()
        return self.head(half) + gap + self.tail(half)


class Follower:
    """Hands on new bytes of a stream while it is written; goes on at the oldest kept segment."""

    def __init__(self, base: Path, hand_on: Callable[[bytes], None]) -> None:
        self.base = base
        self.hand_on = hand_on
        self.number = 0
        self.offset = 0
        self.skipped = 0

    def pump(self) -> bool:
        """Read what is there; True if there was anything."""
        any_bytes = False
        while True:
            try:
                with self._part(self.number).open("rb") as source:
                    source.seek(self.offset)
                    while data := source.read(CHUNK):
                        self.offset += len(data)
                        any_bytes = True
                        self.hand_on(data)
            except FileNotFoundError:
                if not self._jump():
                    return any_bytes
                continue
            if not self._part(self.number + 1).exists() and not self._jump_needed():
                return any_bytes
            self._next()

    def _part(self, number: int) -> Path:
        return self.base.with_name(f"{self.base.name}.{number}")

    def _next(self) -> None:
        later = [n for n in self._numbers() if n > self.number]
        if later:
            full = HEAD if self.number == 0 else SEGMENT
            self.skipped += max(0, full - self.offset) + SEGMENT * (min(later) - self.number - 1)
            self.number, self.offset = min(later), 0

    def _jump(self) -> bool:
        before = self.number
        if any(n > self.number for n in self._numbers()):
            self._next()
        return self.number != before

    def _jump_needed(self) -> bool:
        return any(n > self.number for n in self._numbers())

    def _numbers(self) -> list[int]:
        return [
            int(p.suffix[1:])
            for p in self.base.parent.glob(f"{self.base.name}.*")
            if p.suffix[1:].isdigit()
        ]
