"""From a fact to what it means: pure functions that turn facts into conditions before the table.

A condition is the key of the table's row; a fact that needs no interpretation is its own key.
"""

from __future__ import annotations

from enum import StrEnum

from donewhen.core import budget, ladder, stuck
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
from donewhen.core.state import LoopState
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
    RESUMED_FINAL = "resumed at a final end"


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


def limits_of(contract: Contract, state: LoopState) -> Limits:
    """The limits in force: the contract's, or those given at the last resume."""
    return state.limits or contract.limits


def over_budget(contract: Contract, state: LoopState, at: float) -> str:
    """`usd`, `tokens`, `wall` or ""."""
    worked = budget.wall(state.started_at, at, state.waited_s + state.paused_s)
    return budget.ran_out(limits_of(contract, state), state.spent, worked)


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
            return _resumed(state)
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
        case Failed():
            return Condition.FAILED
        case Cancelled():
            return Condition.CANCELLED


def _judged(contract: Contract, state: LoopState, fact: Judged) -> Condition:
    summary = fact.summary
    if fact.purpose is Purpose.BASELINE:
        return Condition.GATE_UNUSABLE if summary.fatal_gate else Condition.BASELINE_MEASURED
    if fact.purpose is Purpose.DECIDING:
        return _decided(summary)
    if summary.state is not GateState.PASS:
        return Condition.RED
    return Condition.PROVEN if _may_be_done(contract, state, summary) else Condition.UNPROVEN


def _decided(summary: Summary) -> Condition:
    if summary.unclear_tests:
        return Condition.TESTS_UNCLEAR
    return Condition.CONFIRMED if summary.state is GateState.PASS else Condition.RED


def _may_be_done(contract: Contract, state: LoopState, summary: Summary) -> bool:
    """Never on the base tree; else proof of the goal, or no regression where that was accepted."""
    enough = {Proof.GOAL, Proof.NO_REGRESSION} if contract.accept_no_regression else {Proof.GOAL}
    return summary.tree != state.base and summary.proof in enough


def _agent(contract: Contract, state: LoopState, fact: AgentEnded) -> Condition:
    limits = limits_of(contract, state)
    worked = Condition.AGENT_WORKED if contract.gates else Condition.AGENT_WORKED_WITHOUT_GATES
    if state.act_end:  # noted: it worked, or it was cut off but changed the tree
        return worked
    if fact.end in {"timeout", "crashed"}:
        lost = state.odd_ends + 1 >= ODD_ENDS
    elif fact.end == "limited":
        wait = state.waiting_s + wait_until(state, fact) - fact.at
        lost = contract.no_wait or wait > limits.limit_wait_s
        return Condition.AGENT_LOST if lost else Condition.AGENT_LIMITED
    else:
        lost = state.failures + 1 >= limits.agent_retries
        if fact.end == "overloaded" and not lost:
            return Condition.AGENT_LOST if contract.no_wait else Condition.AGENT_LIMITED
    if lost:
        return Condition.AGENT_LOST
    return Condition.BUDGET if over_budget(contract, state, fact.at) else Condition.AGENT_RETRY


def wait_until(state: LoopState, fact: AgentEnded) -> float:
    """When to try again: the time the agent named, else a growing pause."""
    pause = BACKOFF_S[min(state.failures, len(BACKOFF_S) - 1)]
    return fact.until if fact.until > fact.at else fact.at + pause


def _recorded(contract: Contract, state: LoopState, at: float) -> Condition:
    if state.planned:
        return Condition.PLANNED_END
    if over_budget(contract, state, at):
        return Condition.BUDGET
    if stuck.find(state, state.base, contract.thresholds):
        climb = ladder.can_climb(contract.rungs, state.rung)
        used_up = state.iteration >= limits_of(contract, state).max_iterations
        return Condition.CLIMB if climb and not used_up else Condition.STUCK
    if state.iteration >= limits_of(contract, state).max_iterations:
        return Condition.CAP
    if ladder.should_climb(contract.rungs, state.rung, state.rung_failures):
        return Condition.CLIMB
    return Condition.GO_ON


def _resumed(state: LoopState) -> Condition:
    if not state.reason or (state.reason == "interrupted" and state.pending):
        return Condition.RESUMED_PENDING
    return Condition.RESUMED_FINAL if state.reason in FINAL else Condition.RESUMED
