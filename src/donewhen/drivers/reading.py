"""Reading runs for status, why and log: nothing here writes or needs a lock."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.machine import replay
from donewhen.core.state import LoopState
from donewhen.drivers.plan import Plan, from_dict
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import Told
from donewhen.drivers.workspace import Base
from donewhen.errors import NotFound
from donewhen.store.journal import Journal
from donewhen.store.records import facts
from donewhen.system import clock, fs, locks


@dataclass(frozen=True)
class Overview:
    """One run as it stands. `running`: a living process drives it. `verdict`: the last one kept.

    `altered` names the file of a verdict that is not what the journal says, and so is not shown.
    """

    id: str
    plan: Plan
    base: Base
    state: LoopState
    running: bool
    verdict: dict[str, Any] | None
    altered: str = ""


def newest(repo: Repo) -> str:
    """The id of the newest run. Raises NotFound where there is none."""
    runs = repo.runs.list()
    if not runs:
        raise NotFound(
            "there are no runs in this repository yet",
            hint='Type: donewhen run "make the tests pass"',
        )
    return runs[0]


def open_journal(
    repo: Repo, run_id: str, on_record: Callable[[dict[str, Any]], None] = lambda _record: None
) -> Journal:
    """The journal of a run; `on_record` hears each record while its chain is checked."""
    layout = repo.layout
    return Journal.open(layout.journal(run_id), layout.mirror_journal(run_id), on_record)


def overview(repo: Repo, run_id: str) -> Overview:
    """Replay the journal of `run_id` (a full id)."""
    plan, base = from_dict(repo.runs.contract(run_id))
    told = Told()
    open_journal(repo, run_id, told.opened)
    state = replay(plan.contract, facts(told.events))
    running = locks.owner(repo.layout.runner_lock(run_id)) is not None
    altered = altered_verdict(repo, run_id, told)
    verdict = None if altered else kept_verdict(repo, run_id, state.iteration)
    return Overview(run_id, plan, base, state, running, verdict, altered)


def altered_verdict(repo: Repo, run_id: str, told: Told) -> str:
    """The verdict.json that holds something else than was recorded; "" if none does."""
    for number, digest in told.verdicts.items():
        kept = repo.layout.iteration(run_id, number) / "verdict.json"
        if number != told.judging and not is_kept(kept, digest):
            return str(kept)
    return ""


def is_kept(file: Path, digest: str) -> bool:
    """Is it what was recorded? A file that is gone shows nothing wrong."""
    content = fs.read_bytes(file)
    return content is None or hashlib.sha256(content).hexdigest() == digest


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
