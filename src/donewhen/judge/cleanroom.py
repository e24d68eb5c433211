"""The deciding verdict: a fresh checkout of exactly the delivered tree, gates uncached.

Nothing ignored is in it but what the configuration names. Where protected tests were changed,
their base versions run as well; if only the changed ones pass, a person must look.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Finding, GateState, Verdict
from donewhen.judge.integrity import TestChange, test_change
from donewhen.judge.judge import Request, judge
from donewhen.judge.sight import sight
from donewhen.judge.summary import UNCLEAR
from donewhen.system import fs
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper


def decide(
    request: Request,
    git: Git,
    tree: str,
    commit: str,
    room: Path,
    provide: Callable[[Path], None],
    prefix: str = ".",
) -> Verdict:
    """Judge `tree` (held by `commit`) in `room`, a path that is made and removed here."""
    git.worktree_remove(room)
    fs.make_private_dir(room.parent)
    git.worktree_add(room, commit)
    try:
        provide(room)
        return _decided(request, git, tree, room, prefix)
    finally:
        git.worktree_remove(room)


def _decided(request: Request, git: Git, tree: str, room: Path, prefix: str) -> Verdict:
    seen = sight(room, request.checkout, request.gates, request.environ, prefix)
    here = git.at(room)
    inside = replace(
        request,
        tree=room,
        keeper=TreeKeeper(here, request.folder / "index"),
        extra_env=seen.env,
        blind=seen.blind,
        own=True,
        notes=("measured in a clean room: a fresh checkout of this tree", *seen.notes),
    )
    found = judge(replace(inside, folder=request.folder / "changed"))
    if found.tree != tree:
        raise AssertionError(f"the clean room holds {found.tree}, not {tree}")
    change = test_change(git, request.base, tree)
    if not change or found.state is not GateState.PASS:
        return found
    _restore(here, request.base, change, room)
    before = judge(replace(inside, folder=request.folder / "base-tests"))
    return _both(found, before, change)


def _restore(here: Git, base: str, change: TestChange, room: Path) -> None:
    """The base versions of the protected files that were changed."""
    for path in change.remove:
        (room / path).unlink(missing_ok=True)
    if change.restore:
        paths = "\0".join(change.restore).encode("utf-8", "surrogateescape")
        words = ("checkout", base, "--pathspec-from-file=-", "--pathspec-file-nul")
        here.run(*words, input=paths, env={"GIT_LITERAL_PATHSPECS": "1"})


def _both(found: Verdict, before: Verdict, change: TestChange) -> Verdict:
    names = ", ".join(change.paths[:8])
    if before.state is GateState.PASS:
        return replace(found, notes=(*found.notes, f"the base versions of {names} pass too"))
    red = ", ".join(g.name for g in before.gates if g.state is not GateState.PASS)
    findings = tuple(
        Finding(
            tool="integrity",
            rule=UNCLEAR,
            message=f"passes only with the changed tests; with their base versions {red} is red",
            path=path,
            fingerprint=digest("integrity", UNCLEAR, path),
        )
        for path in change.paths
    )
    return replace(found, state=GateState.FAIL, integrity=findings)
