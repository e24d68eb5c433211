"""The deciding verdict: a fresh checkout of exactly the delivered tree, gates uncached.

Nothing ignored is in it but what the configuration names. It is a linked worktree, so that tests
which ask git find a repository. Where protected tests were changed, their base versions run as
well, in a room of their own; if only the changed ones pass, a person must look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import SystemRandom

from donewhen.core.verdict import Finding, GateState, Purpose, Verdict
from donewhen.errors import DonewhenError
from donewhen.gates.base import GateDef
from donewhen.gates.env import tools_of
from donewhen.judge import canary, review
from donewhen.judge.integrity import TestChange, known
from donewhen.judge.judge import Request, judge, run_one
from donewhen.judge.planted import plant, unmoved
from donewhen.judge.sight import POINTERS, packages, sight
from donewhen.system import fs
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper

MEASURED = "measured in a clean room: a fresh checkout of this tree"


@dataclass(frozen=True)
class _Delivered:
    """What is to be judged where: `tree` is held by `commit`, `path` is made and removed here."""

    git: Git
    tree: str
    commit: str
    path: Path
    provide: Callable[[Path], None]
    prefix: str


def decide(
    request: Request,
    git: Git,
    tree: str,
    commit: str,
    room: Path,
    provide: Callable[[Path], None],
    prefix: str = ".",
) -> Verdict:
    """Judge `tree` (held by `commit`) in `room`, a path that is made and removed here.

    Raises DonewhenError if the room cannot be made equal to the tree.
    """
    delivered = _Delivered(git, tree, commit, room, provide, prefix)
    with _checkout(delivered):
        keeper = TreeKeeper(git.at(room), request.folder / "changed-index")
        _same(delivered, keeper)
        inside = _inside(request, delivered, keeper, "changed")
        found = replace(judge(inside), tree=tree)
        found, lies = _watched(found, inside)
        names = packages(room / prefix)
    if lies:
        found = _unless_before(found, lies, request, delivered)
    if not request.base or found.state is not GateState.PASS:
        return found
    own = known(request.gates, request.before, names, prefix, request.rules.protect)
    looked = review.look(git, request, tree, own, prefix)
    change = looked.change
    before = None
    if change:
        with _checkout(delivered):
            keeper = TreeKeeper(git.at(room), request.folder / "base-tests-index")
            _restore(keeper.git, request.base, change, room)
            before = judge(_inside(request, delivered, keeper, "base-tests"))
    return review.decided(found, before, looked, request)


def unseeing(
    request: Request,
    git: Git,
    commit: str,
    room: Path,
    provide: Callable[[Path], None],
    gates: Sequence[GateDef],
) -> dict[str, str]:
    """Gate name -> why it does not see the tree, for those that stay green with the code broken.

    The code of `commit` is broken in `room` before `provide`: a build that fails has seen it.
    """
    delivered = _Delivered(git, "", commit, room, provide, ".")
    broken = 0

    def spoil(here: Git) -> None:
        nonlocal broken
        broken = plant(here)

    try:
        with _checkout(delivered, spoil):
            if not broken:
                return {}
            inside = replace(
                request,
                tree=room,
                folder=request.folder / "planted",
                gates=tuple(gates),
                purpose=Purpose.ITERATION,
                keeper=None,
                cache=None,
                before=None,
                on_gate=lambda _result: None,
            )
            found = judge(inside)
    except DonewhenError:
        return {}
    return {g.name: unmoved(broken) for g in found.gates if g.state is GateState.PASS}


@contextmanager
def _checkout(
    delivered: _Delivered, first: Callable[[Git], None] = lambda _git: None
) -> Iterator[None]:
    git, room = delivered.git, delivered.path
    git.worktree_remove(room)
    fs.make_private_dir(room.parent)
    try:
        git.worktree_add(room, delivered.commit)
        first(git.at(room))
        delivered.provide(room)
        yield
    finally:
        git.worktree_remove(room)


def _same(delivered: _Delivered, keeper: TreeKeeper) -> None:
    """What was provided may add files; what was delivered must be there as it was delivered."""
    here, now = keeper.git, keeper.key()
    changed = here.changed_paths(delivered.tree, now) if now != delivered.tree else []
    odd = [
        path
        for path in (os.fsdecode(name) for status, name in changed if status != "A")
        if not _as_delivered(here, delivered, path)
    ]
    if odd:
        raise DonewhenError(
            "a fresh checkout is not the tree that was delivered: "
            f"{', '.join(odd[:5])} differ after setup, copy and link",
            hint="Mend [workspace] in donewhen.toml, then: donewhen doctor",
        )


def _as_delivered(here: Git, delivered: _Delivered, path: str) -> bool:
    """The bytes are the same, and only the rules for line ends would have git store others."""
    place = delivered.path / path
    if place.is_symlink() or not place.is_file():
        return False
    raw = here.text("hash-object", "--no-filters", "--", path)
    return raw == here.text("rev-parse", f"{delivered.tree}:{path}", check=False)


def _watched(found: Verdict, inside: Request) -> tuple[Verdict, list[Finding]]:
    """(the verdict with notes, lies of its runners), after tests of our own ran among the others."""
    if found.state is not GateState.PASS:
        return found, []
    goal = [t for was in (inside.before or {}).values() for t in sorted(was.failed)]
    lies, notes = canary.watch(
        inside.gates,
        found.gates,
        goal,
        inside.tree,
        lambda gate: run_one(inside, gate),
        SystemRandom(),
    )
    return replace(found, notes=(*found.notes, *notes)), lies


def _unless_before(
    found: Verdict, lies: list[Finding], request: Request, delivered: _Delivered
) -> Verdict:
    """What the runner of the base does as well is the project's own way, and no lie of the agent's."""
    message = b"donewhen: the base, for its test runner\n"
    commit = delivered.git.commit_tree(request.base, [delivered.commit], message)
    base = replace(delivered, commit=commit, tree=request.base)
    with _checkout(base):
        keeper = TreeKeeper(delivered.git.at(base.path), request.folder / "base-index")
        inside = _inside(request, base, keeper, "base")
        _same_found, before = _watched(found, inside)
    known_lies = {f.fingerprint for f in before}
    new = [f for f in lies if f.fingerprint not in known_lies]
    old = [f"{f.message}; so it does on the base" for f in lies if f.fingerprint in known_lies]
    state = GateState.FAIL if new else found.state
    return replace(
        found, state=state, integrity=(*found.integrity, *new), notes=(*found.notes, *old)
    )


def _inside(request: Request, delivered: _Delivered, keeper: TreeKeeper, name: str) -> Request:
    """The request for the room as it is now, with eyes of its own."""
    room = delivered.path
    # What was delivered is judged, it does not judge: only an environment of `setup` counts.
    carried = keeper.git.text("rev-parse", "--verify", "-q", f"{delivered.tree}:.venv", check=False)
    tools = tools_of(room, request.checkout) if request.built and not carried else request.checkout
    seen = sight(room, tools, request.gates, request.environ, delivered.prefix)
    kept = {k: v for k, v in request.extra_env.items() if k not in POINTERS}
    return replace(
        request,
        tree=room,
        checkout=tools,
        folder=request.folder / name,
        keeper=keeper,
        extra_env={**kept, **seen.env},
        blind=seen.blind,
        own=True,
        notes=(MEASURED, *seen.notes),
    )


def _restore(here: Git, base: str, change: TestChange, room: Path) -> None:
    """The base versions of the protected files that were changed."""
    for path in change.remove:
        (room / path).unlink(missing_ok=True)
    if change.restore:
        paths = os.fsencode("\0".join(change.restore))
        words = ("checkout", base, "--pathspec-from-file=-", "--pathspec-file-nul")
        here.run(*words, input=paths, env={"GIT_LITERAL_PATHSPECS": "1"})
