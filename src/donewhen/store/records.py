"""Journal records and the core's values: events that happened, intents of commands to perform."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args

from donewhen.core import codec
from donewhen.core.commands import Command
from donewhen.core.events import Fact
from donewhen.errors import Corrupt

KIND_OF: dict[type[Any], str] = {
    **dict.fromkeys(get_args(Fact), "event"),
    **dict.fromkeys(get_args(Command), "intent"),
}


def event_record(fact: Fact) -> dict[str, Any]:
    return {"kind": "event", **codec.encode(fact)}


def intent_record(command: Command) -> dict[str, Any]:
    return {"kind": "intent", **codec.encode(command)}


def decode(record: dict[str, Any]) -> Fact | Command:
    """The fact or command of a record. Raises Corrupt for one that is neither or does not fit."""
    value: Fact | Command = codec.decode(record)
    if KIND_OF.get(type(value)) != record.get("kind"):
        raise Corrupt(
            f"record {record.get('seq', '')}: {type(value).__name__} is no {record.get('kind')!r}"
        )
    return value


def facts(records: Iterable[dict[str, Any]]) -> Iterator[Fact]:
    """The facts among the records, in order. Raises Corrupt for one that cannot be read."""
    for record in records:
        if record.get("kind") == "event":
            yield decode(record)  # type: ignore[misc]  # an event's value is a fact: decode checks
