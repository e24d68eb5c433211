"""Every pair of phase and condition: where it leads, or that it cannot be; any legal walk ends."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.core.commands import Command, Finish, RunAgent, RunGates
from donewhen.core.conditions import BACKOFF_S, Condition, meaning, wait_until
from donewhen.core.contract import Contract, Limits, Rung
from donewhen.core.events import (
    ENDS,
    AgentEnded,
    Cancelled,
    Fact,
    Failed,
    Finished,
    Interrupted,
    Judged,
    Outside,
    Resumed,
    RunStarted,
    Tampered,
    Usage,
)
from donewhen.core.machine import TABLE, IllegalEvent, decide, initial, replay
from donewhen.core.noting import note
from donewhen.core.reasons import EXITS, exit_code
from donewhen.core.state import LoopState, Phase
from donewhen.core.verdict import GateState, Proof, Purpose, Summary
from tests.core.driving import BASE, Driven, Turn, contract, summary

P, C = Phase, Condition
WAY = (P.ANCHOR, P.ACT, P.JUDGE, P.RECORD, P.WAITING)
TO_END = (C.CANCELLED, C.TAMPERED, C.OUTSIDE, C.FAILED)
STAYS = (C.INTERRUPTED, C.RESUMED_PENDING)

# Written down a second time on purpose: a row that moves must be meant. All other pairs are illegal.
LEADS: dict[tuple[Phase, Condition], set[Phase]] = {
    (P.ANCHOR, C.STARTED): {P.JUDGE},
    (P.ANCHOR, C.STARTED_WITHOUT_GATES): {P.ANCHOR},
    (P.ANCHOR, C.PROMPT_READY): {P.ACT},
    (P.ANCHOR, C.BUDGET): {P.STOPPED},
    (P.ACT, C.AGENT_WORKED): {P.JUDGE},
    (P.ACT, C.AGENT_WORKED_WITHOUT_GATES): {P.RECORD},
    (P.ACT, C.AGENT_RETRY): {P.ACT},
    (P.ACT, C.AGENT_LIMITED): {P.WAITING},
    (P.ACT, C.AGENT_LOST): {P.STOPPED},
    (P.ACT, C.BUDGET): {P.STOPPED},
    (P.WAITING, C.WAITED): {P.ACT},
    (P.WAITING, C.BUDGET): {P.STOPPED},
    (P.JUDGE, C.BASELINE_MEASURED): {P.ANCHOR},
    (P.JUDGE, C.BUDGET): {P.STOPPED},
    (P.JUDGE, C.GATE_UNUSABLE): {P.STOPPED},
    (P.JUDGE, C.RED): {P.RECORD},
    (P.JUDGE, C.UNPROVEN): {P.RECORD},
    (P.JUDGE, C.PROVEN): {P.JUDGE},
    (P.JUDGE, C.CONFIRMED): {P.RECORD},
    (P.JUDGE, C.TESTS_UNCLEAR): {P.RECORD},
    (P.RECORD, C.GO_ON): {P.ANCHOR},
    (P.RECORD, C.CLIMB): {P.ANCHOR},
    (P.RECORD, C.PLANNED_END): {P.STOPPED},
    (P.RECORD, C.STUCK): {P.STOPPED},
    (P.RECORD, C.CAP): {P.STOPPED},
    (P.RECORD, C.BUDGET): {P.STOPPED},
    (P.STOPPED, C.ASKED): {P.STOPPED},
    (P.STOPPED, C.FINISHED): {P.STOPPED, P.DONE},
    (P.STOPPED, C.RESUMED): {P.ANCHOR, P.JUDGE},
    (P.STOPPED, C.RESUMED_PENDING): {P.STOPPED},
    (P.STOPPED, C.CAP): {P.STOPPED},
    (P.STOPPED, C.AFTER_FINAL): {P.STOPPED},
    (P.STOPPED, C.TAMPERED): {P.STOPPED},
    (P.STOPPED, C.CANCELLED): {P.STOPPED},
    (P.DONE, C.AFTER_FINAL): {P.DONE},
    **{(phase, condition): {P.STOPPED} for phase in WAY for condition in TO_END},
    **{(phase, condition): {phase} for phase in WAY for condition in STAYS},
}


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("condition", list(Condition))
def test_every_pair_leads_where_it_is_written_or_has_no_row(
    phase: Phase, condition: Condition
) -> None:
    row, leads = TABLE.get((phase, condition)), LEADS.get((phase, condition))
    assert (row is None) == (leads is None)
    if row and leads and row[0]:
        assert {row[0]} == leads


# -- walks: every fact that may come, in any order ---------------------------------------------------

CONTRACTS = (
    contract(max_iterations=3),
    Contract((Rung("a", 1), Rung("b", 2)), Limits(max_iterations=5, usd=4.0), gates=("tests",)),
    Contract((Rung("a"),), Limits(max_iterations=2, wall_s=300.0)),
    Contract((Rung("a"),), Limits(max_iterations=2), gates=("t",), accept_no_regression=True),
    Contract((Rung("a"),), Limits(max_iterations=2, usd=1.0), gates=("t",), no_wait=True),
)


class Walk:
    """Answers the pending command in one of its ways, or breaks in from outside; a seed decides."""

    def __init__(self, dice: random.Random, rough: float = 0.1) -> None:
        self.dice, self.rough = dice, rough
        self.driven = Driven(dice.choice(CONTRACTS))
        self.seen: set[tuple[Phase, Condition]] = set()

    def go(self, resumes: int = 2) -> None:
        command = self.tell(RunStarted(self.driven.now, "r", BASE))
        for _ in range(20_000):
            if command is None:
                if resumes == 0 and self.state.pending is None:
                    return
                if resumes == 0:  # a late cancel leaves a cut-off final end: a resume finishes it
                    command = self.tell(Resumed(self.driven.now))
                    continue
                resumes -= self.state.reason != "interrupted"
                command = self.tell(self.late())
            elif self.dice.random() < self.rough and resumes:
                command = self.tell(self.from_outside())
            else:
                command = self.tell(self.answer(command))
        raise AssertionError("the walk does not end")

    @property
    def state(self) -> LoopState:
        return self.driven.state

    def tell(self, fact: Fact) -> Command | None:
        """Raises AssertionError where the step leads elsewhere than LEADS says."""
        before, held = self.state, self.driven.contract
        pair = before.phase, meaning(held, note(before, fact), fact)
        command = self.driven.tell(fact)
        assert self.state.phase in LEADS[pair], pair
        self.seen.add(pair)
        return command

    def answer(self, command: Command) -> Fact:
        dice, self.driven.now = self.dice, self.driven.now + self.dice.choice((0.1, 5.0, 90.0))
        if isinstance(command, RunAgent):
            end = dice.choice(("worked", "worked", "worked", *ENDS))
            tree, until = dice.choice((BASE, "one", "two", "three")), dice.choice((0.0, 60.0, 1e6))
            used = Usage(dice.choice((0.0, 0.5, 2.0)), 10, True)
            return AgentEnded(
                self.driven.now, end, tree, used, self.driven.now + until if until else 0.0
            )
        if isinstance(command, RunGates):
            return Judged(self.driven.now, command.purpose, self.judged(command.purpose))
        return self.driven.answer(command, Turn(), 0)

    def judged(self, purpose: Purpose) -> Summary:
        dice, tree = self.dice, self.state.tree
        if purpose is Purpose.BASELINE and dice.random() < 0.2:
            return Summary(GateState.ERROR, Proof.NONE, tree, fatal_gate="tests")
        red = tuple(dice.sample("abcd", dice.choice((0, 1, 1, 2))))
        unclear = purpose is Purpose.DECIDING and dice.random() < 0.3
        proof = dice.choice((Proof.GOAL, *Proof))
        return summary(red, tree, proof, unclear_tests=unclear, integrity=dice.random() < 0.1)

    def from_outside(self) -> Fact:
        now = self.driven.now
        less = Limits(max_iterations=2, usd=0.4)  # also in the middle of a wait
        facts: list[Fact] = [Cancelled(now), Tampered(now, "x"), Resumed(now), Resumed(now, less)]
        if self.state.phase in WAY:
            facts += [
                Interrupted(now, 15),
                Interrupted(now, 2),
                Outside(now, "x"),
                Failed(now, "x"),
                Failed(now + 1e6, "x"),  # over the time of the run, where it has one
            ]
        return self.dice.choice(facts)

    def late(self) -> Fact:
        now, more = self.driven.now + 50.0, Limits(max_iterations=self.dice.randint(1, 6))
        again: tuple[Fact, ...] = (Resumed(now), Resumed(now, more), Resumed(now, guidance="on"))
        stops: tuple[Fact, ...] = (Cancelled(now),)
        return self.dice.choice(again * 3 + stops)


def test_walks_reach_every_pair() -> None:
    """So that no row is only written down: each is walked, and leads where it says."""
    seen: set[tuple[Phase, Condition]] = set()
    for seed in range(1500):
        walk = Walk(random.Random(seed), rough=0.15)
        walk.go()
        seen |= walk.seen
    assert seen == set(LEADS), sorted(set(LEADS) - seen)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**9), st.sampled_from([0.0, 0.05, 0.3]))
def test_any_legal_walk_ends_with_one_known_reason_and_replays(seed: int, rough: float) -> None:
    walk = Walk(random.Random(seed), rough)
    walk.go()
    state, facts = walk.state, walk.driven.facts
    assert state.phase in {Phase.DONE, Phase.STOPPED}
    assert state.pending is None
    assert state.reason in EXITS or state.reason.startswith("gate-error:")
    assert (exit_code(state.reason, state.signal) == 0) == (state.phase is Phase.DONE)
    assert replay(walk.driven.contract, facts) == state
    assert LoopState.from_dict(json.loads(json.dumps(state.to_dict()))) == state
    if state.phase is Phase.DONE:
        last = [f for f in facts if isinstance(f, Judged)][-1].summary
        assert (last.state, last.tree == BASE) == (GateState.PASS, False)
        assert last.proof is Proof.GOAL or walk.driven.contract.accept_no_regression
    finished = sum(isinstance(f, Finished) for f in facts)
    assert 1 <= finished <= sum(isinstance(c, Finish) for c in walk.driven.commands)


# -- what the walks do not measure ---------------------------------------------------------------------


def test_a_signal_before_the_start_is_no_end_to_resume_from() -> None:
    with pytest.raises(IllegalEvent):
        decide(contract(), initial(), Interrupted(1.0, 2))


@pytest.mark.parametrize(
    "turn",
    [
        Turn(red=(), proof=Proof.NO_REGRESSION),
        Turn(red=(), proof=Proof.GOAL, unclear=True, deciding=GateState.FAIL),
    ],
)
def test_what_waits_for_a_person_waits_on_where_no_iteration_is_left(turn: Turn) -> None:
    """A longer time alone must not turn an open question into a failure."""
    run = Driven(contract(max_iterations=1)).play(turn)
    reason = run.state.reason
    assert reason.startswith("needs-human:")
    longer = Limits(max_iterations=1, wall_s=9e9)
    assert run.tell(Resumed(run.now + 1, longer)) == Finish(reason)
    run.tell(Finished(run.now + 2))
    assert (run.state.reason, exit_code(run.state.reason)) == (reason, 4)


def test_stuck_at_the_cap_stays_stuck() -> None:
    run = Driven(contract(max_iterations=3)).play(Turn())
    assert run.tell(Resumed(run.now + 1, guidance="try X")) == Finish("stuck:repeat")


def test_the_pause_grows_and_a_named_time_counts() -> None:
    ended = AgentEnded(100.0, "overloaded", "t")
    pauses = [wait_until(LoopState(failures=n), ended) - 100.0 for n in range(5)]
    assert pauses == [*BACKOFF_S, BACKOFF_S[-1], BACKOFF_S[-1]]
    assert wait_until(LoopState(), AgentEnded(100.0, "limited", "t", until=500.0)) == 500.0
    assert wait_until(LoopState(), AgentEnded(100.0, "limited", "t", until=50.0)) == 115.0


def test_a_limit_without_an_end_is_not_hammered() -> None:
    run = Driven().play(Turn(end="limited"))
    starts = [c for c in run.commands if isinstance(c, RunAgent)]
    assert len(starts) < 100
    assert run.state.waited_s <= run.contract.limits.limit_wait_s
