"""From a fact to what it means: pure functions that turn facts into conditions before the table.

A condition is the key of the table's row; a fact that needs no interpretation is its own key.
"""

from __future__ import annotations

import math
from enum import StrEnum

from donewhen.core import budget, ladder, stuck
from donewhen.core.commands import (
    Anchor,
    AskHuman,
    Command,
    Finish,
    Record,
    RunAgent,
    RunGates,
    WaitUntil,
)
from donewhen.core.contract import Contract, Limits
from donewhen.core.events import (
    AgentEnded,
    Anchored,
    Cancelled,
    Fact,
    Failed,
    Finished,
    HumanAsked,
    Interrupted,
    Judged,
    Outside,
    Recorded,
    Resumed,
    RunStarted,
    Tampered,
    Waited,
)
from donewhen.core.reasons import FINAL
from donewhen.core.state import LoopState, Phase
from donewhen.core.verdict import GateState, Proof, Purpose, Summary


class Condition(StrEnum):
    """The columns of the table: what a fact means for the run that it happens to."""

    STARTED = "started"
    STARTED_WITHOUT_GATES = "started without gates"
    BASELINE_MEASURED = "baseline measured"
    GATE_UNUSABLE = "gate unusable"
    PROMPT_READY = "prompt ready"
    AGENT_WORKED = "agent worked"
    AGENT_WORKED_WITHOUT_GATES = "agent worked, no gates"
    AGENT_RETRY = "agent to be retried"
    AGENT_LIMITED = "agent must wait"
    AGENT_LOST = "agent unavailable"
    PROVEN = "green with proof"
    UNPROVEN = "green without proof"
    RED = "red"
    CONFIRMED = "confirmed in the clean room"
    TESTS_UNCLEAR = "green only with changed tests"
    PLANNED_END = "recorded, end reached"
    GO_ON = "recorded, go on"
    CLIMB = "recorded, stronger agent"
    STUCK = "recorded, stuck"
    CAP = "recorded, iterations used up"
    BUDGET = "budget used up"
    WAITED = "waited"
    ASKED = "person asked"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    TAMPERED = "tampered"
    OUTSIDE = "changed outside"
    FAILED = "internal failure"
    RESUMED = "resumed after a stop"
    RESUMED_PENDING = "resumed in the middle"
    AFTER_FINAL = "too late, the end is final"


# Conditions that may happen wherever a run is on its way.
ANYWHERE = (
    Condition.CANCELLED,
    Condition.INTERRUPTED,
    Condition.TAMPERED,
    Condition.OUTSIDE,
    Condition.FAILED,
    Condition.RESUMED_PENDING,
)
RETRIED = frozenset({"auth", "credit", "spawn", "protocol", "hang", "refused"})
ODD_ENDS = 3  # time-outs or crashes in a row that changed nothing, before `protocol`
BACKOFF_S = (15.0, 60.0, 240.0)
ENDED = frozenset({Phase.DONE, Phase.STOPPED})
CLIMBS_EARLY = frozenset({stuck.IDLE, stuck.REPEAT})  # near these a stronger agent takes over

# Which command a fact answers; every other fact comes from outside.
ANSWERS: dict[type[Fact], type[Command]] = {
    Anchored: Anchor,
    AgentEnded: RunAgent,
    Judged: RunGates,
    Recorded: Record,
    Waited: WaitUntil,
    HumanAsked: AskHuman,
    Finished: Finish,
}


def expected(state: LoopState, fact: Fact) -> bool:
    """Does the fact answer the pending command, or may it come from outside now?"""
    if isinstance(fact, RunStarted):
        return state == LoopState()
    if isinstance(fact, Resumed | Interrupted):  # before its start there is nothing to go on with
        return state.phase in ENDED or state.pending is not None
    answered = ANSWERS.get(type(fact))
    if answered is None:
        return True
    if state.reason == "interrupted" or type(state.pending) is not answered:
        return False
    if isinstance(fact, Judged) and isinstance(state.pending, RunGates):
        return fact.purpose is state.pending.purpose
    return True


def limits_of(contract: Contract, state: LoopState) -> Limits:
    """The limits in force: the contract's, or those given at the last resume."""
    return state.limits or contract.limits


def over_budget(contract: Contract, state: LoopState, at: float) -> str:
    """`usd`, `tokens`, `wall` or ""."""
    return budget.ran_out(limits_of(contract, state), state.spent, _worked(state, at))


def seconds_left(contract: Contract, state: LoopState, at: float) -> float:
    """Of the whole run; infinite where it has no such limit."""
    wall = limits_of(contract, state).wall_s
    return max(0.0, wall - _worked(state, at)) if wall else math.inf


def _worked(state: LoopState, at: float) -> float:
    return budget.wall(state.started_at, at, state.waited_s + state.paused_s)


def meaning(contract: Contract, state: LoopState, fact: Fact) -> Condition:
    """What `fact` means for a run in `state`; the state already holds what the fact measured."""
    match fact:
        case RunStarted():
            return Condition.STARTED if contract.gates else Condition.STARTED_WITHOUT_GATES
        case Judged():
            return _judged(contract, state, fact)
        case Anchored() | Waited() if over_budget(contract, state, fact.at):
            return Condition.BUDGET
        case Anchored():
            return Condition.PROMPT_READY
        case Waited():
            return Condition.WAITED
        case AgentEnded():
            return _agent(contract, state, fact)
        case Recorded():
            return _recorded(contract, state, fact.at)
        case Resumed():
            return _resumed(contract, state, fact)
        case HumanAsked():
            return Condition.ASKED
        case Finished():
            return Condition.FINISHED
        case Interrupted():
            return Condition.INTERRUPTED
        case Tampered():
            return Condition.TAMPERED
        case Outside():
            return Condition.OUTSIDE
        case Failed() if over_budget(contract, state, fact.at) == "wall":
            return Condition.BUDGET  # a set-up that the time of the run cut off, for one
        case Failed():
            return Condition.FAILED
        case Cancelled():  # it may cross with the run's own end
            return Condition.AFTER_FINAL if state.reason in FINAL else Condition.CANCELLED


def _judged(contract: Contract, state: LoopState, fact: Judged) -> Condition:
    summary = fact.summary
    if fact.purpose is Purpose.BASELINE:
        return Condition.GATE_UNUSABLE if summary.fatal_gate else Condition.BASELINE_MEASURED
    if fact.purpose is Purpose.DECIDING:
        return _decided(contract, state, summary)
    if summary.state is not GateState.PASS:
        return Condition.RED
    return Condition.PROVEN if _may_be_done(contract, state, summary) else Condition.UNPROVEN


def _decided(contract: Contract, state: LoopState, summary: Summary) -> Condition:
    """The clean room proves for itself; what the iteration proved counts for nothing here."""
    if summary.unclear_tests:
        return Condition.TESTS_UNCLEAR
    if summary.state is not GateState.PASS:
        return Condition.RED
    return Condition.CONFIRMED if _may_be_done(contract, state, summary) else Condition.UNPROVEN


def _may_be_done(contract: Contract, state: LoopState, summary: Summary) -> bool:
    """Never on the base tree; else proof of the goal, or no regression where that was accepted."""
    enough = {Proof.GOAL, Proof.NO_REGRESSION} if contract.accept_no_regression else {Proof.GOAL}
    return summary.tree != state.base and summary.proof in enough


def _agent(contract: Contract, state: LoopState, fact: AgentEnded) -> Condition:
    limits = limits_of(contract, state)
    worked = Condition.AGENT_WORKED if contract.gates else Condition.AGENT_WORKED_WITHOUT_GATES
    if state.act_end:  # noted: it worked, or it was cut off but changed the tree
        return worked
    waits = fact.end in {"limited", "overloaded"}
    if fact.end in {"timeout", "crashed"}:
        if over_budget(contract, state, fact.at):  # what cut it off may have been the budget itself
            return Condition.BUDGET
        lost = state.odd_ends + 1 >= ODD_ENDS
    elif fact.end == "limited":
        lost = state.waiting_s + wait_until(state, fact) - fact.at > limits.limit_wait_s
    else:
        lost = state.failures + 1 >= limits.agent_retries
    if lost or (waits and contract.no_wait):
        return Condition.AGENT_LOST
    if over_budget(contract, state, fact.at):  # also before a wait: it would be for nothing
        return Condition.BUDGET
    return Condition.AGENT_LIMITED if waits else Condition.AGENT_RETRY


def wait_until(state: LoopState, fact: AgentEnded) -> float:
    """When to try again: the time the agent named, else a growing pause."""
    pause = BACKOFF_S[min(state.failures, len(BACKOFF_S) - 1)]
    if fact.end == "limited":  # it counts as no failure, so the pause grows with the wait itself
        pause = max(pause, min(state.waiting_s, BACKOFF_S[-1]))
    return fact.until if fact.until > fact.at else fact.at + pause


def _recorded(contract: Contract, state: LoopState, at: float) -> Condition:
    if state.planned:
        return Condition.PLANNED_END
    if over_budget(contract, state, at):
        return Condition.BUDGET
    used_up = _used_up(contract, state)
    stronger = ladder.can_climb(contract.rungs, state.rung)
    if stuck.find(state, contract.thresholds):
        return Condition.CLIMB if stronger and not used_up else Condition.STUCK
    if used_up:
        return Condition.CAP
    early = stronger and stuck.near(state, contract.thresholds) in CLIMBS_EARLY
    if early or ladder.should_climb(contract.rungs, state.rung, state.rung_failures):
        return Condition.CLIMB
    return Condition.GO_ON


def _used_up(contract: Contract, state: LoopState) -> bool:
    return state.completed >= limits_of(contract, state).max_iterations


def _resumed(contract: Contract, state: LoopState, fact: Resumed) -> Condition:
    """In the middle, and in an end that was not finished, what is pending is done first.

    Only a changed cause goes on from an end whose Finish was cut off: it says that the end is over.
    """
    if state.phase not in ENDED:
        return Condition.RESUMED_PENDING
    final = state.reason in FINAL
    changed = bool(fact.limits or fact.guidance or fact.allow) and not final
    if isinstance(state.pending, AskHuman) or (state.pending and not changed):
        return Condition.RESUMED_PENDING
    if final:
        return Condition.AFTER_FINAL
    if fact.waived:  # it is judged again, which takes no agent
        return Condition.RESUMED
    return Condition.CAP if _used_up(contract, state) else Condition.RESUMED
