"""The checks of `donewhen doctor`: values, each with the command that mends it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from donewhen.agents import KNOWN_PROGRAMS
from donewhen.core.waiver import ONCE
from donewhen.drivers.prepare import gates_for
from donewhen.drivers.repo import Repo, open_repo
from donewhen.errors import DonewhenError
from donewhen.gates.env import program_exists, tool_path
from donewhen.store.waivers import Waivers
from donewhen.system import clock, locks
from donewhen.system.git import Git, version

OLDEST_GIT = (2, 38)


@dataclass(frozen=True)
class Check:
    """`state`: ok, note (works, but know it) or bad (mend it)."""

    name: str
    state: str
    text: str
    mend: str = ""


def checks(cwd: Path | None = None) -> list[Check]:
    """Everything that can be said here, in a fixed order; never raises for what it finds."""
    return list(_checks(cwd or Path.cwd()))


def _checks(cwd: Path) -> Iterator[Check]:
    yield _git()
    yield Check("python", "ok", f"{sys.version.split()[0]} at {sys.executable}")
    yield from _agents(os.environ.get("PATH", ""))
    try:
        repo = open_repo(cwd)
    except DonewhenError as error:
        yield Check("repository", "bad", error.message, error.hint)
        return
    yield Check("repository", "ok", str(repo.root))
    yield from _state(repo)
    yield _gates(repo)
    yield from _waivers(repo)
    yield from _runs(repo)


def _git() -> Check:
    found = version()
    if found is None:
        return Check("git", "bad", "git is not on PATH", "Install git 2.38 or newer.")
    text = ".".join(map(str, found))
    if found < OLDEST_GIT:
        return Check("git", "bad", f"git {text} is too old", "Install git 2.38 or newer.")
    return Check("git", "ok", text)


def _agents(path: str) -> Iterator[Check]:
    found = {name: program_exists(name, path) for name in KNOWN_PROGRAMS}
    have = [f"{name} at {place}" for name, place in found.items() if place]
    if have:
        yield Check("agents", "ok", "; ".join(have))
    else:
        yield Check(
            "agents",
            "note",
            f"none of {', '.join(found)} is on PATH",
            "npm install -g @anthropic-ai/claude-code, or --agent command:CMD",
        )


def _state(repo: Repo) -> Iterator[Check]:
    for name, place in (("state", repo.layout.state), ("repo state", repo.layout.home)):
        yield _writable(name, place)


def _writable(name: str, place: Path) -> Check:
    there = place
    while not there.exists():
        there = there.parent
    if os.access(there, os.W_OK):
        return Check(name, "ok", str(place))
    return Check(
        name,
        "bad",
        f"{place} cannot be written",
        "Set DONEWHEN_STATE to a folder of yours, or mend the permissions.",
    )


def _gates(repo: Repo) -> Check:
    try:
        gates = gates_for(repo, ())
    except DonewhenError as error:
        return Check("gates", "bad", error.message, error.hint)
    if not gates:
        return Check("gates", "note", "none detected", 'donewhen judge --gate "CMD"')
    path = tool_path(repo.root, repo.environ)
    missing = [g.argv[0] for g in gates if not program_exists(g.argv[0], path)]
    if missing:
        return Check("gates", "bad", f"not found: {', '.join(missing)}", f"Looked in {path}")
    return Check("gates", "ok", "; ".join(f"{g.name}: {g.command}" for g in gates))


def _waivers(repo: Repo) -> Iterator[Check]:
    """What a person allowed and still counts, since it is easily forgotten."""
    try:
        known = Waivers(repo.layout).read()
    except DonewhenError as error:
        yield Check("waivers", "bad", error.message, error.hint)
        return
    day = clock.stamp(clock.now())[:10]
    told = [w.text for w in known if w.scope != ONCE and day <= w.until]
    if told:
        yield Check("waivers", "note", "; ".join(told), "donewhen inbox allow --revoke K")


def _runs(repo: Repo) -> Iterator[Check]:
    held = [r for r in repo.runs.list() if repo.layout.tree(r).exists()]
    active = [r for r in held if locks.owner(repo.layout.runner_lock(r)) is not None]
    if held:
        yield Check(
            "worktrees",
            "note",
            f"{len(held)} kept, {len(active)} active",
            "donewhen inbox  (accept or reject what waits)",
        )
    stale = [w for w in Git(repo.root).worktrees() if not w.exists()]
    if stale:
        yield Check("git worktree", "note", f"{len(stale)} vanished", "git worktree prune")
