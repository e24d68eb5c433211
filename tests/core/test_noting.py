"""What a fact leaves in the state, before anybody asks what it means."""

from __future__ import annotations

import pytest

from donewhen.core.events import (
    AgentEnded,
    Judged,
    Recorded,
    Resumed,
    RunStarted,
    Usage,
    Waited,
)
from donewhen.core.noting import is_best, new_best, note
from donewhen.core.state import KEPT, TRIED, LoopState
from donewhen.core.verdict import GateState, Proof, Purpose, Score, Summary
from tests.core.driving import BASE, summary

AT_WORK = LoopState(base=BASE, tree="old", iteration=1, red=("x",), best_score=Score(failing=2))


def test_a_start_is_on_the_base() -> None:
    state = note(LoopState(), RunStarted(5.0, "r", BASE))
    assert (state.base, state.tree, state.started_at) == (BASE, BASE, 5.0)


@pytest.mark.parametrize(
    ("end", "tree", "worked"),
    [
        ("worked", "new", True),
        ("worked", "old", True),
        ("timeout", "new", True),
        ("timeout", "old", False),
        ("crashed", "new", True),
        ("crashed", "old", False),
        ("limited", "new", False),
        ("auth", "old", False),
        ("hang", "new", False),
    ],
)
def test_only_completed_work_moves_the_tree(end: str, tree: str, worked: bool) -> None:
    state = note(AT_WORK, AgentEnded(1.0, end, tree, Usage(0.5, 10, True)))
    assert state.act_end == (end if worked else "")
    assert (state.before, state.tree) == (("old", tree) if worked else ("", "old"))
    assert (state.spent, state.invocations) == (Usage(0.5, 10, True), 1)


def test_the_baseline_is_no_iteration() -> None:
    state = note(AT_WORK, Judged(1.0, Purpose.BASELINE, summary(("a", "b"), BASE)))
    assert (state.history, state.flips, state.gone, state.completed) == ((), {}, (), 0)
    assert (state.red, state.best_score, state.base_measured) == (
        ("a", "b"),
        Score(failing=2),
        True,
    )
    broken = Summary(GateState.ERROR, Proof.NONE, BASE, fatal_gate="lint")
    unusable = note(AT_WORK, Judged(1.0, Purpose.BASELINE, broken))
    assert (unusable.base_measured, unusable.error_gate) == (False, "lint")


def test_a_gate_error_names_the_end_only_if_nothing_else_is_red() -> None:
    def after(errors_only: bool) -> LoopState:
        found = Summary(
            GateState.FAIL, Proof.NONE, "t", error_gates=("lint",), errors_only=errors_only
        )
        return note(AT_WORK, Judged(1.0, Purpose.ITERATION, found))

    assert (after(True).error_gate, after(False).error_gate) == ("lint", "")


def test_the_clean_room_is_the_same_iteration_and_no_flip() -> None:
    state = note(AT_WORK, Judged(1.0, Purpose.ITERATION, summary((), "t", Proof.GOAL)))
    assert state.gone == ("x",)
    strict = note(state, Judged(2.0, Purpose.DECIDING, summary(("x",), "t")))
    assert (strict.red, strict.flips, strict.gone) == (("x",), {}, ())


def test_recording_closes_the_iteration() -> None:
    state = AT_WORK.but(score=Score(failing=1), guidance="try X", best_iteration=1)
    closer = note(state, Recorded(1.0, "c"))
    assert (closer.completed, closer.stale, closer.guidance) == (1, 0, "")
    assert closer.best_score == Score(failing=1)
    worse = note(closer.but(iteration=2, score=Score(failing=9)), Recorded(2.0, "c"))
    assert (worse.stale, worse.best_iteration, worse.best_score) == (1, 1, Score(failing=1))
    assert worse.tried[0].startswith("iteration 1: 1 failing tests, 0 errors")
    assert worse.tried[1].endswith("(the same findings as before)")


def test_the_first_is_the_best_so_far_but_no_new_best_if_it_is_worse_than_the_base() -> None:
    worse = AT_WORK.but(score=Score(failing=9))
    assert (is_best(worse), new_best(worse)) == (True, False)
    assert new_best(worse.but(planned="gates-passed"))


def test_what_is_kept_is_bounded() -> None:
    state = AT_WORK
    for number in range(1, 60):
        state = note(state.but(iteration=number), Recorded(1.0, "c"))
    assert (len(state.history), len(state.tried)) == (KEPT, TRIED)
    assert state.history[-1].iteration == 59


def test_waiting_and_lying_stopped_are_measured_and_never_negative() -> None:
    state = LoopState(last_at=100.0, waited_s=5.0)
    slept = note(state, Waited(130.0))
    assert (slept.waited_s, slept.waiting_s) == (35.0, 30.0)
    assert note(state, Waited(90.0)).waited_s == 5.0
    assert note(state, Resumed(160.0)).paused_s == 60.0
    assert note(state, Resumed(10.0)).paused_s == 0.0


def test_a_resume_keeps_what_it_does_not_change() -> None:
    state = LoopState(guidance="old")
    assert note(state, Resumed(1.0)).guidance == "old"
    assert note(state, Resumed(1.0, guidance="new")).guidance == "new"
