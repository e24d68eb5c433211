"""Runs in a list: read from the ends of their journals, with few imports, since it is asked often."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.drivers.repo import Repo
from donewhen.errors import Corrupt
from donewhen.store.journal import last_records
from donewhen.system import locks


@dataclass(frozen=True)
class Glance:
    """A run in a list, read from the end of its journal alone. `reason` is "" while it goes on."""

    id: str
    goal: str
    reason: str
    iterations: int
    running: bool


def glance(repo: Repo, run_id: str) -> Glance:
    """What the last records of a journal say; the whole chain is checked when one run is asked for."""
    reason, iterations = "", 0
    for record in last_records(repo.layout.journal(run_id)):
        match record["type"]:
            case "Finish":
                reason = record["data"]["reason"]
            case "Interrupted":
                reason = "interrupted"
            case "Resumed":
                reason = ""
            case "Record":
                iterations = record["data"]["iteration"]
    running = locks.owner(repo.layout.runner_lock(run_id)) is not None
    try:
        goal = str(repo.runs.contract(run_id)["goal"])
    except Corrupt as error:  # one broken run must not hide the others
        goal, reason = error.message, reason or "tampered"
    return Glance(run_id, goal, reason, iterations, running)
