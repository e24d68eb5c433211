"""Resume: replay the journal, then go on where it stops. A final end only prints its result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from donewhen.config.units import ceilings, lowered
from donewhen.core.events import Resumed
from donewhen.core.reasons import FINAL
from donewhen.core.state import LoopState
from donewhen.core.waiver import WAIVABLE
from donewhen.drivers.headless import resume_run, start_run
from donewhen.drivers.judging import kept_verdict
from donewhen.drivers.progress import Progress
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import Run, load
from donewhen.drivers.staying import check_caps, staying
from donewhen.errors import Locked, Refused
from donewhen.store.waivers import Waivers
from donewhen.system import clock

# Reasons whose cause may have gone away by itself; every other one needs a new limit or an answer.
RETRY = ("interrupted", "agent-unavailable", "gate-error", "internal")


def resume(
    repo: Repo,
    run_id: str,
    limits: dict[str, float | int],
    watch: Callable[[Progress], None],
) -> tuple[Run, LoopState]:
    """Go on with `run_id`. Raises Refused if another process drives it."""
    bounds = ceilings(repo.environ)
    run = load(repo, run_id)
    state = run.opened_state
    cut_off = state.pending is not None  # a crash: even a final end must still be finished
    mine = answered_mine(repo, run_id, state)
    may = not state.reason or state.reason.startswith(RETRY) or mine
    waived = waivers_for(repo, run, state)
    may = may or bool(waived) or (bool(limits) and state.planned != "integrity")
    if not cut_off and (state.reason in FINAL or not may or repo.inbox.closed(run_id)):
        watch(Progress("note", staying(repo, run, state), state.iteration))
        return run, state
    check_caps(state, limits)
    now = state.limits or run.plan.limits
    new = lowered(replace(now, **limits), bounds)  # type: ignore[arg-type]  # checked by units
    try:
        if not run.journal.seq:  # killed before the first record: it begins
            return run, start_run(run, watch)
        allow = (*(("mine",) if mine else ()), *waived)
        resumed = Resumed(clock.now(), limits=new if new != now else None, allow=allow)
        return run, resume_run(run, state, resumed, watch)
    except Locked as error:
        raise Refused(
            f"{run_id} is already being driven by another process: {error.message}",
            hint=f"Type: donewhen status {run_id}",
        ) from error


def waivers_for(repo: Repo, run: Run, state: LoopState) -> tuple[str, ...]:
    """What a person allowed of the findings that ended the run, in words for the journal."""
    if state.reason not in WAIVABLE or state.planned == "integrity":
        return ()
    last = kept_verdict(run)
    words = Waivers(repo.layout).in_force(run.id, clock.stamp(clock.now())[:10])
    found = last.integrity if last else ()
    return tuple(f"waived {w.text}" for w in words if any(w.covers(f) for f in found))


def answered_mine(repo: Repo, run_id: str, state: LoopState) -> bool:
    """Did a person say that what changed outside the worktree was their own doing?"""
    items = repo.inbox.of_run(run_id)
    if state.reason != "integrity" or not items:
        return False
    return (items[-1]["state"], items[-1]["answer"]) == ("answered", "mine")
