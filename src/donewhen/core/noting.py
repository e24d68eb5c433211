"""What a fact measured, written into the state before anybody asks what it means."""

from __future__ import annotations

from donewhen.core import stuck
from donewhen.core.events import (
    AgentEnded,
    Fact,
    Judged,
    Recorded,
    Resumed,
    RunStarted,
    Usage,
    Waited,
)
from donewhen.core.state import KEPT, TRIED, LoopState, Past
from donewhen.core.verdict import GateState, Purpose, Summary


def note(state: LoopState, fact: Fact) -> LoopState:
    """The state with the fact's measurements in it; phase and pending are untouched."""
    match fact:
        case RunStarted():
            return state.but(base=fact.base, tree=fact.base, started_at=fact.at)
        case AgentEnded():
            return _agent(state, fact)
        case Judged():
            return _judged(state, fact)
        case Recorded():
            return _recorded(state)
        case Waited():
            slept = max(0.0, fact.at - state.last_at)
            return state.but(waited_s=state.waited_s + slept, waiting_s=state.waiting_s + slept)
        case Resumed():
            return _resumed(state, fact)
    return state


def _agent(state: LoopState, fact: AgentEnded) -> LoopState:
    spent = Usage(
        state.spent.usd + fact.usage.usd,
        state.spent.tokens + fact.usage.tokens,
        state.spent.known or fact.usage.known,
    )
    state = state.but(spent=spent, invocations=state.invocations + 1)
    worked = fact.end == "worked" or (
        fact.end in {"timeout", "crashed"} and fact.tree != state.tree
    )
    # A tree that was not worked on stays as it was judged: `tree` moves with completed ACTs only.
    return state.but(act_end=fact.end, tree=fact.tree) if worked else state.but(act_end="")


def _judged(state: LoopState, fact: Judged) -> LoopState:
    summary = fact.summary
    state = state.but(
        score=summary.score,
        integrity=summary.integrity,
        error_gate=(summary.fatal_gate or _first(summary)),
        proof=summary.proof,
    )
    if fact.purpose is Purpose.BASELINE:
        measured = not summary.fatal_gate
        return state.but(red=summary.fingerprints, base_measured=measured, best_score=summary.score)
    flips, gone = stuck.flipped(state, summary.fingerprints)
    if fact.purpose is Purpose.DECIDING:  # the same iteration again, measured more strictly
        return state.but(red=summary.fingerprints, tree=summary.tree or state.tree)
    return state.but(red=summary.fingerprints, flips=flips, gone=gone, tree=summary.tree)


def _first(summary: Summary) -> str:
    return summary.error_gates[0] if summary.errors_only and summary.error_gates else ""


def _recorded(state: LoopState) -> LoopState:
    """Close the iteration: history, best, what was tried; the driver has committed the tree."""
    green = state.planned == "gates-passed"
    new_best = green or stuck.better(state.score, state.best_score)
    past = Past(state.iteration, state.tree, state.red, state.score, state.rung)
    state = state.but(
        history=(*state.history, past)[-KEPT:],
        completed=state.completed + 1,
        stale=0 if new_best else state.stale + 1,
        rung_failures=state.rung_failures + (not green),
        tried=(*state.tried, _line(state))[-TRIED:],
        guidance="",
    )
    if new_best or not state.best_iteration:
        state = state.but(best_iteration=state.iteration, best_tree=state.tree)
    return state.but(best_score=state.score) if new_best else state


def _line(state: LoopState) -> str:
    score = state.score
    before = set(state.history[-1].red) if state.history else None
    change = "" if before is None else _change(before, set(state.red))
    return (
        f"iteration {state.iteration}: {score.failing} failing tests, {score.errors} errors, "
        f"{score.warnings} warnings{change}"
    )


def _change(before: set[str], now: set[str]) -> str:
    if before == now:
        return " (the same findings as before)"
    return f" ({len(before - now)} fixed, {len(now - before)} new)"


def _resumed(state: LoopState, fact: Resumed) -> LoopState:
    paused = max(0.0, fact.at - state.last_at) if state.last_at else 0.0
    return state.but(
        limits=fact.limits or state.limits,
        guidance=fact.guidance or state.guidance,
        paused_s=state.paused_s + paused,
    )


def is_green(summary: Summary) -> bool:
    """Every required gate passed."""
    return summary.state is GateState.PASS
