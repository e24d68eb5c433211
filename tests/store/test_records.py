"""Every type of the public event schema survives the journal; nothing else is read."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.core.commands import AskHuman, Command
from donewhen.core.events import Fact, Waited
from donewhen.errors import Corrupt
from donewhen.store.records import decode, event_record, facts, intent_record

FACTS, COMMANDS = get_args(Fact), get_args(Command)


def stored(record: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(record, ensure_ascii=True))
    return found


def equals_itself(value: object) -> bool:
    """Not with a NaN in it, which equals nothing."""
    return "nan" not in repr(value)


@pytest.mark.parametrize("kind", FACTS, ids=lambda k: k.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_every_fact_survives(kind: type[Any], data: st.DataObject) -> None:
    fact = data.draw(st.from_type(kind).filter(equals_itself))
    record = stored(event_record(fact))
    assert (record["kind"], record["type"]) == ("event", kind.__name__)
    assert decode(record) == fact
    assert list(facts([record])) == [fact]


@pytest.mark.parametrize("kind", COMMANDS, ids=lambda k: k.__name__)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_every_command_survives(kind: type[Any], data: st.DataObject) -> None:
    command = data.draw(st.from_type(kind).filter(equals_itself))
    record = stored(intent_record(command))
    assert (record["kind"], record["type"]) == ("intent", kind.__name__)
    assert decode(record) == command
    assert list(facts([record])) == []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"type": "Nothing"}, "unknown record type 'Nothing'"),
        ({"type": None}, "unknown record type"),
        ({"type": "Limits", "data": {}}, "Limits is no 'event'"),
        ({"type": "Finish", "data": {"reason": "x"}}, "Finish is no 'event'"),
        ({"data": {}}, "Waited"),
        ({"data": None}, "Waited: expected an object"),
        ({"data": {"at": 1.0, "more": 1}}, "Waited has no field 'more'"),
        ({"data": {"at": "soon"}}, "expected float"),
    ],
)
def test_what_does_not_fit_is_corrupt(change: dict[str, Any], why: str) -> None:
    record = {**event_record(Waited(1.0)), **change}
    with pytest.raises(Corrupt, match=why):
        list(facts([record]))


def test_an_event_is_no_intent() -> None:
    with pytest.raises(Corrupt, match="AskHuman is no 'event'"):
        decode({**intent_record(AskHuman("r", "q")), "kind": "event"})
    with pytest.raises(Corrupt, match="Waited is no 'intent'"):
        decode({**event_record(Waited(1.0)), "kind": "intent"})
