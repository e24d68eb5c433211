"""What a fact measured, written into the state before anybody asks what it means."""

from __future__ import annotations

from donewhen.core import stuck
from donewhen.core.events import (
    AgentEnded,
    Fact,
    Judged,
    Outside,
    Recorded,
    Resumed,
    RunStarted,
    Usage,
    Waited,
)
from donewhen.core.state import KEPT, TRIED, LoopState, Past
from donewhen.core.verdict import Purpose


def note(state: LoopState, fact: Fact) -> LoopState:
    """The state with the fact's measurements in it; phase and pending are untouched."""
    match fact:
        case RunStarted():
            return state.but(base=fact.base, tree=fact.base, started_at=fact.at)
        case AgentEnded():
            return _agent(state, fact)
        case Outside() if fact.end:  # the work was done and paid for
            return _agent(state, AgentEnded(fact.at, fact.end, fact.tree, fact.usage))
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
        state.spent.usd + _counted(fact.usage.usd),
        state.spent.tokens + max(0, fact.usage.tokens),
        state.spent.known or fact.usage.known,
    )
    state = state.but(spent=spent, invocations=state.invocations + 1)
    worked = fact.end == "worked" or (
        fact.end in {"timeout", "crashed"} and fact.tree != state.tree
    )
    if not worked:  # the tree stays as it was judged: it moves with completed ACTs only
        return state.but(act_end="")
    return state.but(act_end=fact.end, before=state.tree, tree=fact.tree)


def _counted(usd: float) -> float:
    """An adapter's figure; one below zero or not a number would switch a cap off, so it is none."""
    return usd if usd > 0 else 0.0


def _judged(state: LoopState, fact: Judged) -> LoopState:
    summary = fact.summary
    state = state.but(
        score=summary.score,
        integrity=summary.integrity,
        error_gate=_error_gate(fact),
        proof=summary.proof,
    )
    if fact.purpose is Purpose.BASELINE:
        measured = not summary.fatal_gate
        return state.but(red=summary.fingerprints, base_measured=measured, best_score=summary.score)
    state = state.but(tree=summary.tree)
    if fact.purpose is Purpose.DECIDING:  # the same iteration, measured more strictly: no flip
        gone = tuple(sorted(set(state.gone) - set(summary.fingerprints)))
        return state.but(red=summary.fingerprints, gone=gone)
    flips, gone = stuck.flipped(state, summary.fingerprints)
    return state.but(red=summary.fingerprints, flips=flips, gone=gone)


def _error_gate(fact: Judged) -> str:
    """The gate that ends a run `gate-error`: unusable at the baseline, later if all that is red."""
    summary = fact.summary
    if fact.purpose is Purpose.BASELINE:
        return summary.fatal_gate
    return summary.error_gates[0] if summary.errors_only and summary.error_gates else ""


def is_best(state: LoopState) -> bool:
    """Is the iteration that is about to be recorded the best so far, or the first?"""
    return not state.best_iteration or new_best(state)


def new_best(state: LoopState) -> bool:
    """Closer to the end than everything judged before, the baseline included."""
    green = state.planned in ("gates-passed", "needs-human:test-change")
    return green or stuck.better(state.score, state.best_score)


def _recorded(state: LoopState) -> LoopState:
    """Close the iteration: history, best, what was tried; the driver has committed the tree."""
    best, closer = is_best(state), new_best(state)
    past = Past(state.iteration, state.before, state.tree, state.red, state.score, state.rung)
    state = state.but(
        history=(*state.history, past)[-KEPT:],
        completed=state.completed + 1,
        stale=0 if closer else state.stale + 1,
        rung_failures=state.rung_failures + (state.planned != "gates-passed"),
        tried=(*state.tried, _line(state))[-TRIED:],
        guidance="",
    )
    if best:
        state = state.but(best_iteration=state.iteration, best_tree=state.tree)
    return state.but(best_score=state.score) if closer else state


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
