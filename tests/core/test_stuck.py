"""The five patterns: what is one, what is not, and the false alarms that users report."""

from __future__ import annotations

import pytest

from donewhen.core import stuck
from donewhen.core.contract import Thresholds
from donewhen.core.state import FLIPS, LoopState, Past
from donewhen.core.verdict import Score

AT = Thresholds()
BASE = "base"


def history(*entries: tuple[str, str]) -> LoopState:
    """(tree, letters of the red findings) for iterations 1, 2, ...; the baseline had 9 findings."""
    past: list[Past] = []
    stale, best = 0, Score(failing=9)
    for number, (tree, red) in enumerate(entries, 1):
        score = Score(failing=len(red))
        before = past[-1].tree if past else BASE
        past.append(Past(number, before, tree, tuple(sorted(red)), score, 0))
        stale = 0 if stuck.better(score, best) else stale + 1
        best = min(best, score, key=Score.key)
    return LoopState(base=BASE, history=tuple(past), red=past[-1].red if past else (), stale=stale)


def found(*entries: tuple[str, str]) -> str:
    return stuck.find(history(*entries), AT)


@pytest.mark.parametrize(
    ("entries", "pattern"),
    [
        ([("a", "x"), ("b", "x"), ("c", "x")], "repeat"),
        ([("a", "xy"), ("b", "yx"), ("c", "xy")], "repeat"),
        ([("a", "x"), ("b", "x")], ""),
        ([("a", "x"), ("b", "y"), ("c", "z")], ""),
        ([("a", "xy"), ("b", "x"), ("c", "x")], ""),
        ([("a", "x"), ("b", "y"), ("c", "x")], "cycle"),
        ([("a", "x"), ("b", "y"), ("a", "z")], "cycle"),
        ([("a", "w"), ("b", "x"), ("c", "y"), ("d", "z"), ("e", "w")], "cycle"),
        ([(BASE, "x"), (BASE, "x"), (BASE, "x")], "idle"),
        ([(BASE, "x"), (BASE, "x")], ""),
        ([("a", "x"), ("a", "y"), ("a", "x"), ("a", "y")], "idle"),
        ([("a", ""), ("a", ""), ("a", "")], ""),
    ],
)
def test_patterns(entries: list[tuple[str, str]], pattern: str) -> None:
    assert found(*entries) == pattern


def test_a_cycle_has_a_longest_distance() -> None:
    five = [("a", "v"), ("b", "w"), ("c", "x"), ("d", "y"), ("e", "z"), ("f", "v")]
    assert not stuck.cycle(history(*five).history, AT)
    assert stuck.cycle(history(*five[1:5], ("f", "w")).history, AT)


def test_idle_explains_more_than_repeat() -> None:
    assert found((BASE, "x"), (BASE, "x"), (BASE, "x")) == "idle"
    assert found(("a", "x"), (BASE, "x"), ("b", "x")) == "repeat"


def test_idle_needs_no_neighbour() -> None:
    """After a climb or a resume the history begins anew; an untouched tree is still seen."""
    late = tuple(Past(n, "t", "t", ("x",), Score(failing=1), 1) for n in (6, 7, 8))
    assert stuck.find(LoopState(base=BASE, history=late, red=("x",)), AT) == "idle"


def test_progress_is_no_cycle() -> None:
    """Back at an earlier tree, but with fewer findings than ever: a flaky gate, not a circle."""
    assert found(("a", "wxyz"), ("b", "wxyzv"), ("a", "wx")) == ""
    assert found(("a", "wx"), ("b", "wxyzv"), ("a", "wxy")) == "cycle"


def test_what_came_back_and_is_there_is_thrash_and_what_stays_fixed_is_past() -> None:
    state = history(("a", "wxyz"), ("b", "xy"))
    assert stuck.find(state.but(flips={"x": 3}), AT) == "thrash"
    assert stuck.find(state.but(flips={"fixed": 3}), AT) == ""


def test_an_agent_that_commits_but_changes_the_findings_is_not_stuck() -> None:
    assert found(("a", "xyz"), ("b", "yz"), ("c", "z")) == ""


def test_stagnation_is_no_new_best() -> None:
    state = history(("a", "x"), ("b", "y"), ("c", "z"))
    assert stuck.find(state.but(stale=3), AT) == "stagnation"
    assert stuck.find(state.but(stale=2), AT) == ""
    assert stuck.near(state.but(stale=2), AT) == "stagnation"
    assert stuck.better(Score(failing=2), Score(failing=3))
    assert stuck.better(Score(errors=0, failing=9), Score(errors=1, failing=0))
    assert not stuck.better(Score(failing=2), Score(failing=2))


def test_thrash_counts_what_comes_back() -> None:
    state = LoopState(red=("x",))
    for turn in range(3):
        flips, gone = stuck.flipped(state, ("y",))
        state = state.but(red=("y",), flips=flips, gone=gone)
        flips, gone = stuck.flipped(state, ("x", "y"))
        state = state.but(red=("x", "y"), flips=flips, gone=gone)
        assert state.flips == {"x": turn + 1}
    moving = state.but(history=history(("a", "p"), ("b", "q")).history, stale=1)
    assert stuck.find(moving, AT) == "thrash"
    assert stuck.near(moving.but(flips={"x": 2}), AT) == "thrash"


def test_what_is_remembered_is_bounded() -> None:
    many = tuple(f"f{n}" for n in range(3 * FLIPS))
    state = LoopState(red=many)
    flips, gone = stuck.flipped(state, ())
    flips, gone = stuck.flipped(state.but(red=(), flips=flips, gone=gone), many)
    assert len(flips) <= FLIPS
    assert len(gone) <= FLIPS


@pytest.mark.parametrize(
    ("entries", "pattern"),
    [
        ([(BASE, "x"), (BASE, "x")], "idle"),
        ([("a", "x"), ("b", "x")], "repeat"),
        ([("a", "x")], ""),
        ([("a", "x"), ("b", "y")], ""),
    ],
)
def test_the_nudge_comes_one_iteration_earlier(
    entries: list[tuple[str, str]], pattern: str
) -> None:
    assert stuck.near(history(*entries), AT) == pattern
