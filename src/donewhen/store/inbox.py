"""The inbox: one file an item, idempotent, every change kept in the item's own history."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from donewhen.errors import Corrupt, NotFound, UsageError
from donewhen.store.layout import RUN_ID, Layout, checked
from donewhen.system import clock, fs, locks

VERSION = 1
OPEN = frozenset({"open", "later"})
STATES = OPEN | {"answered", "accepted", "rejected"}
ITEM_ID = re.compile(rf"i-(?P<run>{RUN_ID.pattern})-(?P<number>[1-9][0-9]*)")
FIELDS = (
    ("run", str), ("kind", str), ("reason", str), ("goal", str), ("state", str), ("created", str),
    ("question", str), ("answer", str), ("offers", list), ("history", list), ("evidence", dict),
)  # fmt: skip
LOCK_WAIT_S = 10.0


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
        key: str = "",
    ) -> str:
        """Add an item, or bring the open one of the same run up to date; returns its id.

        With a `key` (a sequence number or iteration) the same run, reason and key is the same item
        also after a person closed it: doing it again changes nothing. A closed item is never opened.
        """
        self.layout.prepare()
        with locks.lock(self.layout.lock("inbox"), wait=LOCK_WAIT_S):
            known = self.of_run(checked(run))
            if key and (same := _same(known, reason, key)) and same["state"] not in OPEN:
                return str(same["id"])
            old = next((i for i in known if i["state"] in OPEN), None)
            item = old or _new(run, 1 + max((number_of(i) for i in known), default=0), at)
            before = json.dumps(item)
            if item["reason"] != reason or (question and item["question"] not in ("", question)):
                _happened(item, at, reason)
                item["question"] = ""
            stays = not question and bool(item["question"])  # what was asked is still open
            item.update(
                kind=item["kind"] if stays else kind,
                reason=reason,
                goal=goal,
                question=question or item["question"],
                offers=list(dict.fromkeys((*(item["offers"] if stays else ()), *offers))),
                evidence=evidence,
                key=key,
            )
            if json.dumps(item) != before:
                self._write(item)
        return str(item["id"])

    def items(self, open_only: bool = True) -> list[dict[str, Any]]:
        """Items in the order they were made. Raises Corrupt for a file that is none."""
        found = self._read("i-*.json")
        return [i for i in found if not open_only or i["state"] in OPEN]

    def of_run(self, run: str) -> list[dict[str, Any]]:
        """All items of a run, in the order they were made."""
        return self._read(f"i-{checked(run)}-*.json")

    def closed(self, run: str) -> bool:
        """Has a person accepted or rejected this run?"""
        return any(i["state"] in {"accepted", "rejected"} for i in self.of_run(run))

    def get(self, prefix: str) -> dict[str, Any]:
        """The item of this id; else the newest whose id, or whose run's id, begins so.

        Raises NotFound, UsageError for a prefix that fits several runs.
        """
        every = self.items(open_only=False)
        if exact := next((i for i in every if i["id"] == prefix), None):
            return exact
        found = [i for i in every if i["id"].startswith(prefix) or i["run"].startswith(prefix)]
        runs = sorted({i["run"] for i in found})
        if not prefix or not found:
            waiting = ", ".join(i["run"] for i in every if i["state"] in OPEN) or "nothing waits"
            raise NotFound(
                f"no inbox item {prefix!r} (waiting: {waiting})", hint="Type: donewhen inbox"
            )
        if len(runs) > 1:
            raise UsageError(
                f"{prefix!r} fits {len(runs)} runs: {', '.join(runs)}", hint="Type more of it."
            )
        return found[-1]

    def close(self, item_id: str, how: str, answer: str = "") -> None:
        """A person's word on an item, a state of STATES; what was said before stays in its history."""
        if how not in STATES:
            raise UsageError(f"an inbox item is never {how!r}", hint="Type: donewhen inbox --help")
        with locks.lock(self.layout.lock("inbox"), wait=LOCK_WAIT_S):
            item = self.get(item_id)
            if (item["state"], item["answer"]) == (how, answer or item["answer"]):
                return
            _happened(item, clock.now(), how, answer)
            item.update(state=how, answer=answer or item["answer"])
            self._write(item)

    def _read(self, pattern: str) -> list[dict[str, Any]]:
        """From every place we read; the one we write to wins."""
        paths: dict[str, Path] = {}
        for place in self.layout.places:
            for path in (place / "inbox").glob(pattern):
                paths.setdefault(path.name, path)
        items = [item for path in paths.values() if (item := _parsed(path))]
        return sorted(items, key=lambda i: (i["created"], i["run"], number_of(i)))

    def _write(self, item: dict[str, Any]) -> None:
        fs.make_private_dir(self.layout.inbox)
        text = json.dumps(item, indent=2, ensure_ascii=True)
        fs.write_atomic(self.layout.inbox / f"{item['id']}.json", text.encode() + b"\n")


def number_of(item: dict[str, Any]) -> int:
    """Which item of its run it is, from 1; a number, since -10 comes after -9."""
    return int(item["id"].rpartition("-")[2])


def _new(run: str, number: int, at: float) -> dict[str, Any]:
    return {
        "version": VERSION,
        "id": f"i-{run}-{number}",
        "run": run,
        "kind": "",
        "state": "open",
        "created": clock.stamp(at),
        "reason": "",
        "goal": "",
        "question": "",
        "offers": [],
        "answer": "",
        "history": [],
        "evidence": {},
    }


def _same(items: list[dict[str, Any]], reason: str, key: str) -> dict[str, Any] | None:
    return next((i for i in items if i["reason"] == reason and i.get("key") == key), None)


def _happened(item: dict[str, Any], at: float, what: str, answer: str = "") -> None:
    """Add to the item's history what changes, and what was asked until now."""
    entry = {"at": clock.stamp(at), "what": what}
    if answer:
        entry["answer"] = answer
    if item["reason"]:
        entry |= {"was": item["state"], "reason": item["reason"], "question": item["question"]}
    item["history"].append(entry)


def _parsed(path: Path) -> dict[str, Any] | None:
    """The item in a file; None if it has just gone."""
    data = fs.read_bytes(path)
    if data is None:
        return None
    try:
        item = json.loads(data)
        whole = item["version"] == VERSION and item["id"] == path.stem
        whole = whole and all(isinstance(item[name], kind) for name, kind in FIELDS)
        match = ITEM_ID.fullmatch(item["id"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _unreadable(path) from error
    if not (whole and match and match["run"] == item["run"] and item["state"] in STATES):
        raise _unreadable(path)
    found: dict[str, Any] = item
    return found


def _unreadable(path: Path) -> Corrupt:
    return Corrupt(f"{path} is no inbox item", hint="Move it away, then type: donewhen status")
