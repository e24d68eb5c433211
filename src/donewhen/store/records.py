"""Journal records and the core's values: events that happened, intents of commands to perform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from donewhen.core import codec
from donewhen.core.commands import Command
from donewhen.core.events import Fact


def event_record(fact: Fact) -> dict[str, Any]:
    return {"kind": "event", **codec.encode(fact)}


def intent_record(command: Command) -> dict[str, Any]:
    return {"kind": "intent", **codec.encode(command)}


def facts(records: Iterable[dict[str, Any]]) -> Iterator[Fact]:
    """The facts among the records, in order. Raises Corrupt for one that cannot be read."""
    for record in records:
        if record["kind"] == "event":
            yield codec.decode(record)
