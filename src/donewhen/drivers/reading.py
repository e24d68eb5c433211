"""Reading runs for status, why and log: nothing here writes or needs a lock."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from donewhen.core.machine import replay
from donewhen.core.state import LoopState
from donewhen.drivers.plan import Plan, from_dict
from donewhen.drivers.repo import Repo
from donewhen.drivers.workspace import Base
from donewhen.errors import NotFound
from donewhen.store.journal import Journal
from donewhen.store.records import facts
from donewhen.system import clock, locks


@dataclass(frozen=True)
class Overview:
    """One run as it stands. `running`: a living process drives it. `verdict`: the last one kept."""

    id: str
    plan: Plan
    base: Base
    state: LoopState
    running: bool
    verdict: dict[str, Any] | None


def newest(repo: Repo) -> str:
    """The id of the newest run. Raises NotFound where there is none."""
    runs = repo.runs.list()
    if not runs:
        raise NotFound(
            "there are no runs in this repository yet",
            hint='Type: donewhen run "make the tests pass"',
        )
    return runs[0]


def open_journal(repo: Repo, run_id: str) -> Journal:
    layout = repo.layout
    return Journal.open(layout.journal(run_id), layout.mirror_journal(run_id))


def overview(repo: Repo, run_id: str) -> Overview:
    """Replay the journal of `run_id` (a full id)."""
    plan, base = from_dict(repo.runs.contract(run_id))
    state = replay(plan.contract, facts(open_journal(repo, run_id).records()))
    running = locks.owner(repo.layout.runner_lock(run_id)) is not None
    return Overview(run_id, plan, base, state, running, kept_verdict(repo, run_id, state.iteration))


def kept_verdict(repo: Repo, run_id: str, iteration: int) -> dict[str, Any] | None:
    """The newest verdict.json up to `iteration`, None where nothing was judged."""
    for number in range(iteration, -1, -1):
        kept = repo.layout.iteration(run_id, number) / "verdict.json"
        try:
            found: dict[str, Any] = json.loads(kept.read_bytes())
        except (OSError, ValueError):
            continue
        return found
    return None


def records(repo: Repo, run_id: str, follow: bool = False) -> Iterator[dict[str, Any]]:
    """The records of a journal in order; with `follow` until the run's process has ended."""
    seen = 0
    while True:
        running = locks.owner(repo.layout.runner_lock(run_id)) is not None
        for record in open_journal(repo, run_id).records():
            if record["seq"] > seen or (record["seq"] == 0 and seen == 0):
                yield record
                seen = record["seq"]
        if not (follow and running):
            return
        clock.sleep(0.3)
