"""The inbox: one file an item, idempotent, every change kept in the item's own history."""

from __future__ import annotations

import json
from typing import Any

from donewhen.errors import NotFound, UsageError
from donewhen.store.layout import Layout
from donewhen.system import clock, fs, locks

VERSION = 1
OPEN = frozenset({"open", "later"})


class Inbox:
    """Items of one repository. `state`: open, later, answered, accepted, rejected."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def put(
        self,
        *,
        run: str,
        kind: str,
        reason: str,
        goal: str,
        question: str,
        offers: tuple[str, ...],
        evidence: dict[str, Any],
        at: float,
    ) -> str:
        """Add an item, or bring the open one of the same run up to date; returns its id."""
        self.layout.prepare()
        with locks.lock(self.layout.lock("inbox"), wait=10.0):
            old = next((i for i in self.of_run(run) if i["state"] in OPEN), None)
            item = old or self._new(run, at)
            if item["reason"] != reason:
                item["history"].append({"at": clock.stamp(at), "what": reason})
            item.update(
                kind=kind if question or not item.get("question") else item["kind"],
                reason=reason,
                goal=goal,
                question=question or (item.get("question", "") if item["reason"] == reason else ""),
                offers=list(offers),
                evidence=evidence,
            )
            self._write(item)
        return str(item["id"])

    def _new(self, run: str, at: float) -> dict[str, Any]:
        number = 1 + len(self.of_run(run))
        return {
            "version": VERSION,
            "id": f"i-{run}-{number}",
            "run": run,
            "state": "open",
            "created": clock.stamp(at),
            "reason": "",
            "answer": "",
            "history": [],
        }

    def items(self, open_only: bool = True) -> list[dict[str, Any]]:
        """Items, oldest first."""
        if not self.layout.inbox.is_dir():
            return []
        items = [json.loads(p.read_bytes()) for p in sorted(self.layout.inbox.glob("i-*.json"))]
        return [i for i in items if not open_only or i["state"] in OPEN]

    def of_run(self, run: str) -> list[dict[str, Any]]:
        return [i for i in self.items(open_only=False) if i["run"] == run]

    def closed(self, run: str) -> bool:
        """Has a person accepted or rejected this run?"""
        return any(i["state"] in {"accepted", "rejected"} for i in self.of_run(run))

    def get(self, prefix: str) -> dict[str, Any]:
        """The newest item whose id, or whose run's id, begins so. Raises NotFound, UsageError."""
        found = [
            i
            for i in self.items(open_only=False)
            if i["id"].startswith(prefix) or i["run"].startswith(prefix)
        ]
        runs = sorted({i["run"] for i in found})
        if not prefix or not found:
            waiting = ", ".join(i["run"] for i in self.items()) or "nothing waits"
            raise NotFound(
                f"no inbox item {prefix!r} (waiting: {waiting})", hint="Type: donewhen inbox"
            )
        if len(runs) > 1:
            raise UsageError(
                f"{prefix!r} fits {len(runs)} runs: {', '.join(runs)}", hint="Type more of it."
            )
        return found[-1]

    def close(self, item_id: str, how: str, answer: str = "") -> None:
        """A person's word on an item; the item stays, with what happened to it."""
        with locks.lock(self.layout.lock("inbox"), wait=10.0):
            item = self.get(item_id)
            item.update(state=how, answer=answer)
            item["history"].append({"at": clock.stamp(clock.now()), "what": how})
            self._write(item)

    def _write(self, item: dict[str, Any]) -> None:
        fs.make_private_dir(self.layout.inbox)
        fs.write_atomic(
            self.layout.inbox / f"{item['id']}.json", json.dumps(item, indent=2).encode()
        )
