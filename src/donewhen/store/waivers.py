"""What a person allowed, one signed file for each repository, in the user's state folder."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from donewhen.core.codec import build
from donewhen.core.waiver import Waiver
from donewhen.errors import Corrupt
from donewhen.store import signed
from donewhen.store.layout import Layout
from donewhen.system import locks

VERSION = 1
LOCK_WAIT_S = 10.0


class Waivers:
    """Waivers of one repository, in the order in which they were said."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def read(self) -> tuple[Waiver, ...]:
        """Raises Corrupt if there is a file that was not written by `inbox allow`."""
        path = self.layout.waivers
        if not path.exists():
            return ()
        body = signed.read(path, path.name, self.layout.cache_key)
        try:
            data = json.loads(body or b"")
            if data["version"] != VERSION:
                raise ValueError(data["version"])
            return tuple(build(Waiver, one) for one in data["waivers"])
        except (ValueError, KeyError, TypeError, Corrupt) as error:
            raise Corrupt(
                f"{path} was not written by `donewhen inbox allow`",
                hint=f"Remove it, and allow again what you allowed: rm {path}",
            ) from error

    def in_force(self, run: str, day: str) -> tuple[Waiver, ...]:
        """Those that count for `run` on that day (YYYY-MM-DD)."""
        return tuple(w for w in self.read() if w.in_force(run, day))

    def add(self, new: Iterable[Waiver]) -> None:
        self.layout.prepare()
        with locks.lock(self.layout.lock("waivers"), wait=LOCK_WAIT_S):
            self._write((*self.read(), *new))

    def revoke(self, number: int) -> Waiver:
        """Take back the one that `read` has at `number`, from 1. Raises IndexError for none."""
        with locks.lock(self.layout.lock("waivers"), wait=LOCK_WAIT_S):
            kept = list(self.read())
            if not 1 <= number <= len(kept):
                raise IndexError(number)
            gone = kept.pop(number - 1)
            self._write(kept)
        return gone

    def _write(self, waivers: Iterable[Waiver]) -> None:
        path = self.layout.waivers
        data = {"version": VERSION, "waivers": [asdict(w) for w in waivers]}
        body = json.dumps(data, indent=1, ensure_ascii=True).encode() + b"\n"
        signed.write(path, path.name, self.layout.cache_key, body)
