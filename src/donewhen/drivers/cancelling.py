"""Cancel: a request that the runner sees at once, or, where nobody runs, the record itself."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.events import Cancelled, Fact, Finished
from donewhen.core.machine import decide
from donewhen.core.reasons import FINAL
from donewhen.core.state import Phase
from donewhen.drivers import ending
from donewhen.drivers.reading import overview
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import Run, load
from donewhen.errors import Locked, NotFound, UsageError
from donewhen.system import clock, locks

WAIT_S = 20.0


@dataclass(frozen=True)
class Done:
    """What cancelling did. `was` is the phase before."""

    run: str
    was: str
    reason: str
    text: str


def cancel(repo: Repo, prefix: str | None) -> Done:
    """Cancel the run named by a unique prefix, or the only one that is not at its end."""
    run_id = repo.runs.find(prefix) if prefix else _only(repo)
    before = overview(repo, run_id).state
    if before.reason in FINAL:
        text = f"{run_id} had already ended: {before.reason}. Nothing changed."
        return Done(run_id, before.phase.value, before.reason, text)
    repo.runs.request_cancel(run_id)
    deadline = clock.monotonic() + WAIT_S
    while clock.monotonic() < deadline:
        try:
            with locks.lock(repo.layout.runner_lock(run_id)):
                after = _record(load(repo, run_id))
        except Locked:
            clock.sleep(0.1)
            continue
        if after != "cancelled":
            text = f"{run_id} had already ended: {after}. Nothing changed."
            return Done(run_id, before.phase.value, after, text)
        text = f"{run_id} is cancelled. Its states stay under refs/donewhen/{run_id}/."
        return Done(run_id, before.phase.value, after, text)
    text = f"{run_id} was told to cancel; its process has not ended yet: donewhen status {run_id}"
    return Done(run_id, before.phase.value, "", text)


def _record(run: Run) -> str:
    """With the runner's lock held: journal the cancel if the runner has not done so."""
    state = run.opened_state
    if state.reason == "cancelled" and state.phase is Phase.STOPPED:
        return state.reason
    fact: Fact = Cancelled(clock.now())
    while True:
        state, commands = decide(run.contract, state, fact)
        run.append(fact, commands[0] if commands else None)
        if not commands:
            return state.reason
        ending.finish(run, commands[0], state, None)
        fact = Finished(clock.now())


def _only(repo: Repo) -> str:
    open_runs = [r for r in repo.runs.list() if overview(repo, r).state.reason == ""]
    if len(open_runs) == 1:
        return open_runs[0]
    if not open_runs:
        raise NotFound("no run is active here", hint="Type: donewhen status")
    raise UsageError(
        f"{len(open_runs)} runs are active: {', '.join(open_runs)}",
        hint=f"Name one: donewhen cancel {open_runs[0]}",
    )
