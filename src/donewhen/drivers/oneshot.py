"""`donewhen judge`: the gates once, on the checkout as it is, without a run."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.config.load import find
from donewhen.core.verdict import GateResult, Verdict
from donewhen.drivers.judging import cache_of
from donewhen.drivers.prepare import gates_for, prefix_of, select
from donewhen.drivers.repo import Repo, open_repo
from donewhen.errors import GitError, UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.holdout import unseen_by_agents
from donewhen.judge import review
from donewhen.judge.glance import result, unresolved
from donewhen.judge.integrity import known
from donewhen.judge.judge import Request, added_up, judge
from donewhen.judge.sight import packages
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper


def judge_here(
    flags: Sequence[str],
    since: str | None,
    watch: Callable[[GateResult], None] | None,
    cwd: Path | None = None,
    cached: bool = True,
    veil: bool = False,
) -> Verdict:
    """Judge the checkout around `cwd`. Raises UsageError if there is no gate or no such REF.

    `cached`: a gate that nothing changed for is not run again. `veil`: an agent asks, who is told
    no more of hold-out tests than a prompt tells.
    """
    here = (cwd or Path.cwd()).resolve()
    folder = Path(tempfile.mkdtemp(prefix="donewhen-judge-"))
    try:
        if Git.toplevel(here) is None:
            return _without_git(here, flags, folder, watch)
        verdict = _with_git(open_repo(here), flags, since, folder, watch, cached)
        return unseen_by_agents(verdict) if veil else verdict
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _with_git(
    repo: Repo,
    flags: Sequence[str],
    since: str | None,
    folder: Path,
    watch: Callable[[GateResult], None] | None,
    cached: bool,
) -> Verdict:
    config = find(repo.root, repo.root / prefix_of(repo))
    gates = _some(gates_for(repo, flags, config))
    request = Request(
        tree=repo.root,
        checkout=repo.root,
        gates=gates,
        folder=folder,
        environ=repo.environ,
        keeper=TreeKeeper(repo.git, folder / "index"),
        base=base_of(repo.git, since),
        marker=f"judge-{os.getpid()}",
        cache=cache_of(repo.layout) if cached else None,
        rules=config.integrity,
        on_gate=watch or (lambda _result: None),
    )
    return _told(_compared(repo, request, judge(request), since))


def _compared(repo: Repo, request: Request, found: Verdict, since: str | None) -> Verdict:
    """With what the change from the base shows: a conflict is a failure, the rest is for a person."""
    if not request.base or not found.tree or request.base == found.tree:
        return found
    if marks := unresolved(repo.git, request.base, found.tree):
        red = result("conflicts", tuple(marks), "")
        request.on_gate(red)
        gates = (*found.gates, red)
        found = replace(found, gates=gates, state=added_up(gates))
    prefix = prefix_of(repo)
    own = known(request.gates, None, packages(repo.root / prefix), prefix, request.rules.protect)
    doubts = review.against_base(repo.git, request, found, own, prefix)
    if not doubts:
        return found
    what = f"--since {since}" if since else "the base"
    note = f"compared with {what}, the change may weaken what judges it; that is for you to decide"
    return replace(found, integrity=tuple(doubts), notes=(*found.notes, note), review=True)


NOBODY = "no gate is required, so nothing decides: set required = true on one of them"


def _told(verdict: Verdict) -> Verdict:
    """What a person must know: why nothing was decided. The logs go with the judge's folder."""
    notes = verdict.notes
    if not any(gate.required for gate in verdict.gates):
        notes = (*notes, NOBODY)
    return replace(
        verdict, gates=tuple(replace(gate, log="") for gate in verdict.gates), notes=notes
    )


def base_of(git: Git, since: str | None) -> str:
    """The tree to compare with: REF, else the merge-base with the upstream, else HEAD, else ""."""
    if since is not None:
        try:
            return git.rev_tree(since)
        except GitError as error:
            raise UsageError(
                f"--since {since!r} is no commit here", hint="Type: git log"
            ) from error
    upstream = git.text("merge-base", "HEAD", "@{upstream}", check=False)
    head = upstream or git.head()
    return git.rev_tree(head) if head else ""


def _without_git(
    here: Path, flags: Sequence[str], folder: Path, watch: Callable[[GateResult], None] | None
) -> Verdict:
    environ = dict(os.environ)
    gates = _some(select(here, here, flags, find(here, here), environ))
    return _told(
        judge(
            Request(
                tree=here,
                checkout=here,
                gates=gates,
                folder=folder,
                environ=environ,
                marker=f"judge-{os.getpid()}",
                notes=("no git here: integrity is off, and the verdict belongs to no tree",),
                on_gate=watch or (lambda _result: None),
            )
        )
    )


def _some(gates: tuple[GateDef, ...]) -> tuple[GateDef, ...]:
    if not gates:
        raise UsageError(
            "no gate was found here: no tests, no package.json script, no donewhen.toml",
            hint='Name one: donewhen judge --gate "CMD"',
        )
    return gates
