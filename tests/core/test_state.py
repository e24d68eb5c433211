"""A state is read back as it was written, or refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core import codec
from donewhen.core.state import LoopState
from donewhen.errors import Corrupt

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.builds(
        LoopState,
        flips=st.dictionaries(st.text(), st.integers()),
        started_at=NUMBERS,
        last_at=NUMBERS,
        waited_s=NUMBERS,
        waiting_s=NUMBERS,
        paused_s=NUMBERS,
    )
)
def test_any_state_round_trips(state: LoopState) -> None:
    assert LoopState.from_dict(json.loads(json.dumps(state.to_dict()))) == state


@pytest.mark.parametrize(
    "pending",
    [
        {"type": "Waited", "data": {"at": 1.0}},
        {"type": "Limits", "data": {}},
        {"type": "Anchor", "data": {}},
        [],
    ],
)
def test_only_a_command_can_be_pending(pending: object) -> None:
    with pytest.raises(Corrupt):
        LoopState.from_dict({**LoopState().to_dict(), "pending": pending})


@pytest.mark.parametrize("data", [[], None, "state", 1])
def test_what_is_no_state(data: object) -> None:
    with pytest.raises(Corrupt):
        LoopState.from_dict(data)  # type: ignore[arg-type]  # as it may stand in a broken file


def test_a_number_without_end_is_corrupt_and_not_an_overflow() -> None:
    with pytest.raises(Corrupt):
        codec.decode({"type": "Waited", "data": {"at": 10**400}})
