"""The runs of a repository: their ids, contracts, and requests to cancel."""

from __future__ import annotations

import json
import os
from difflib import get_close_matches
from typing import Any

from donewhen.errors import Corrupt, NotFound, UsageError
from donewhen.store.layout import RUN_ID, Layout
from donewhen.system import clock, fs


class RunStore:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def new_id(self, at: float) -> str:
        """`r<YYYYMMDD>-<HHMMSS>-<4 hex>`, UTC."""
        return f"r{clock.compact(at)}-{os.urandom(2).hex()}"

    def create(self, run: str, contract: dict[str, Any]) -> None:
        """The run's folder and its contract, here and in the mirror, written once."""
        self.layout.prepare()
        data = json.dumps(contract, indent=2, ensure_ascii=True).encode() + b"\n"
        for path in (self.layout.contract(run), self.layout.mirror_contract(run)):
            fs.make_private_dir(path.parent)
            fs.write_atomic(path, data)
        goal = self.layout.run(run) / "goal.md"
        fs.write_atomic(goal, contract["goal"].encode("utf-8", "surrogateescape"))

    def list(self) -> list[str]:
        """Ids, newest first."""
        if not self.layout.runs.is_dir():
            return []
        names = (p.name for p in self.layout.runs.iterdir())
        return sorted((n for n in names if RUN_ID.fullmatch(n)), reverse=True)

    def find(self, prefix: str) -> str:
        """The full id for a unique prefix. Raises NotFound with the nearest, UsageError if several."""
        runs = self.list()
        found = [r for r in runs if prefix and r.startswith(prefix)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(
                f"{prefix!r} fits {len(found)} runs: {', '.join(found[:8])}",
                hint="Type more of it.",
            )
        near = get_close_matches(prefix, runs, n=3) or runs[:3]
        known = f" (there are: {', '.join(near)})" if near else " (there are no runs here)"
        raise NotFound(f"no run {prefix!r}{known}", hint="Type: donewhen status")

    def contract(self, run: str) -> dict[str, Any]:
        """contract.json. Raises Corrupt if it is unreadable or differs from its mirror."""
        path, mirror = self.layout.contract(run), self.layout.mirror_contract(run)
        try:
            data = path.read_bytes()
            found: dict[str, Any] = json.loads(data)
        except (OSError, ValueError) as error:
            raise Corrupt(f"cannot read {path}: {error}", hint=f"The mirror is {mirror}") from error
        if mirror.exists() and mirror.read_bytes() != data:
            raise Corrupt(
                f"{path} was changed since the run started", hint=f"The mirror is {mirror}"
            )
        return found

    def request_cancel(self, run: str) -> None:
        fs.write_atomic(self.layout.cancel(run), b"cancel\n")

    def cancel_requested(self, run: str) -> bool:
        return self.layout.cancel(run).exists()
