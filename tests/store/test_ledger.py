"""The ledger is a page rendered from the journal: it says so, and says what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.commands import Anchor, Command, Finish
from donewhen.core.events import (
    AgentEnded,
    Fact,
    Finished,
    Interrupted,
    Judged,
    Recorded,
    Resumed,
    Usage,
)
from donewhen.core.verdict import GateState, Proof, Purpose, Score, Summary
from donewhen.store.ledger import Page
from donewhen.store.records import event_record, intent_record


def judged(purpose: Purpose, state: GateState, failing: int) -> Judged:
    return Judged(
        1.0, purpose, Summary(state, Proof.NONE, f"tree{failing}", score=Score(0, failing))
    )


STORY: tuple[Fact | Command, ...] = (
    judged(Purpose.BASELINE, GateState.FAIL, 2),
    Anchor(1, 0),
    AgentEnded(1.0, "limited", "t"),
    AgentEnded(2.0, "worked", "t", Usage(0.25, 100, True)),
    judged(Purpose.ITERATION, GateState.FAIL, 1),
    Recorded(3.0, "c1"),
    Anchor(2, 0),
    AgentEnded(4.0, "worked", "t", Usage(0.5, 50, True)),
    judged(Purpose.ITERATION, GateState.PASS, 0),
    judged(Purpose.DECIDING, GateState.PASS, 0),
    Recorded(5.0, "c2"),
    Finish("gates-passed"),
    Finished(6.0),
)


def page(*story: Fact | Command) -> dict[str, Any]:
    records = [
        intent_record(s) if isinstance(s, Anchor | Finish) else event_record(s)  # type: ignore[arg-type]  # the rest are facts
        for s in story
    ]
    return told(records).render("r1", "the goal")


def told(records: list[dict[str, Any]]) -> Page:
    page = Page()
    for record in records:
        page.read(record)
    return page


def test_it_says_what_happened() -> None:
    found = page(*STORY)
    assert "nothing reads it back" in found["derived"]
    assert {k: found[k] for k in ("version", "run", "goal", "reason", "exit", "usage")} == {
        "version": 1,
        "run": "r1",
        "goal": "the goal",
        "reason": "gates-passed",
        "exit": 0,
        "usage": {"usd": 0.75, "tokens": 150, "known": True},
    }
    assert found["baseline"]["score"]["failing"] == 2
    first, second = found["iterations"]
    assert [a["end"] for a in first["agent"]] == ["limited", "worked"]
    assert (first["commit"], first["verdicts"]["iteration"]["state"]) == ("c1", "fail")
    assert set(second["verdicts"]) == {"iteration", "deciding"}


def test_no_prefix_of_a_story_is_too_short() -> None:
    for end in range(len(STORY) + 1):
        found = page(*STORY[:end])
        over = end >= len(STORY) - 1
        assert (found["reason"], found["exit"]) == (("gates-passed", 0) if over else ("", None))


@pytest.mark.parametrize(("signal", "code"), [(2, 130), (15, 143), (1, 143)])
def test_an_interrupted_run_says_so_until_it_is_resumed(signal: int, code: int) -> None:
    found = page(*STORY[:5], Interrupted(9.0, signal))
    assert (found["reason"], found["exit"]) == ("interrupted", code)
    found = page(*STORY[:5], Interrupted(9.0, signal), Resumed(10.0))
    assert (found["reason"], found["exit"]) == ("", None)
    found = page(*STORY[:5], Finish("max-iterations"), Finished(9.0), Resumed(10.0), *STORY[5:])
    assert (found["reason"], found["exit"]) == ("gates-passed", 0)


def test_it_is_written_whole_and_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.json"
    for _ in range(2):
        told([event_record(Finished(1.0))]).write(path, "r1", "Größe \udcff")
    assert json.loads(path.read_bytes())["goal"] == "Größe \udcff"
    assert path.stat().st_mode & 0o777 == 0o600
