"""Core values survive JSON; what does not fit is refused by name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import codec, commands, events
from donewhen.core.contract import Limits
from donewhen.core.events import Resumed
from donewhen.core.state import LoopState
from donewhen.errors import Corrupt

st.register_type_strategy(float, st.floats(allow_nan=False, allow_infinity=False))
KINDS = [codec.TYPES[k.__name__] for k in (*events.Fact.__args__, *commands.Command.__args__)]


@given(st.one_of(*(st.builds(kind) for kind in KINDS)))
def test_every_event_and_command_round_trips(value: object) -> None:
    assert codec.decode(json.loads(json.dumps(codec.encode(value)))) == value


def test_infinity_does_not_lock_a_journal() -> None:
    value = events.Waited(float("inf"))
    assert codec.decode(json.loads(json.dumps(codec.encode(value)))) == value


def test_an_optional_part() -> None:
    value = Resumed(1.0, Limits(max_iterations=3), "words", ("mine",))
    assert codec.decode(codec.encode(value)) == value


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"type": "Nosuch", "data": {}}, "unknown record type"),
        ({"type": "Waited", "data": {}}, "at"),
        ({"type": "Waited", "data": {"at": 1.0, "x": 1}}, "no field 'x'"),
        ({"type": "Waited", "data": []}, "expected an object"),
        ({"type": "Waited", "data": {"at": "soon"}}, "expected float"),
        ({"type": "Waited", "data": {"at": "1.5"}}, "expected float"),
        ({"type": "Waited", "data": {"at": True}}, "expected float"),
        ({"type": "Resumed", "data": {"at": 1, "allow": "mine"}}, "expected a list"),
        ({"type": "Anchor", "data": {"iteration": "1", "rung": 0}}, "expected int"),
        ({"type": "Anchor", "data": {"iteration": True, "rung": 0}}, "expected int"),
        ({"type": "RunGates", "data": {"iteration": 1, "purpose": "fun"}}, "expected Purpose"),
    ],
)
def test_what_does_not_fit_is_refused(record: dict[str, object], says: str) -> None:
    with pytest.raises(Corrupt) as caught:
        codec.decode(record)
    assert says in caught.value.message


@pytest.mark.parametrize("record", [[], "Waited", None])
def test_what_is_no_record(record: object) -> None:
    with pytest.raises(Corrupt):
        codec.decode(record)  # type: ignore[arg-type]  # as it may stand in a broken journal


@pytest.mark.parametrize(
    "changes", [{"flips": ["x"]}, {"flips": {"x": "3"}}, {"pending": 3}, {"phase": "asleep"}]
)
def test_a_state_that_does_not_fit(changes: dict[str, object]) -> None:
    with pytest.raises(Corrupt):
        LoopState.from_dict({**LoopState().to_dict(), **changes})


def test_a_state_of_another_version() -> None:
    with pytest.raises(Corrupt):
        LoopState.from_dict({**LoopState().to_dict(), "version": 99})
