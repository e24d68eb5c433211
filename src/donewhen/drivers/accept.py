"""Accept and reject: a run's result into the user's checkout, or away. Nothing is ever half done.

A merged tree that is not the judged tree is judged first, in a scratch worktree; red or a
conflict changes nothing. `reject` keeps the pinned states.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.verdict import GateState
from donewhen.drivers.judging import judge_scratch
from donewhen.drivers.reading import overview
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import Run, load
from donewhen.drivers.workspace import branch_of
from donewhen.errors import GitError, Locked, Refused
from donewhen.system import locks
from donewhen.system.treekey import TreeKeeper

HOW = ("ff", "squash", "apply")
SAID = frozenset({"accepted", "rejected"})


@dataclass(frozen=True)
class Accepted:
    """What accepting did. `how`: fast-forward, merge, squashed, applied or already there."""

    run: str
    how: str
    commit: str
    red: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """The user's checkout now, and what shall come into it (`mine` and `theirs` are commits)."""

    head: str
    tree: str
    theirs: str
    theirs_tree: str


def accept(repo: Repo, run_id: str, how: str = "") -> Accepted:
    """Bring the run's best judged state into the checkout it was started from.

    Raises Refused (exit 1), with the commands to type, if that cannot be done safely.
    """
    run = load(repo, run_id)
    try:
        with locks.lock(repo.layout.runner_lock(run_id)):
            return _accept(run, how)
    except Locked as error:
        raise busy(run_id, error) from error


def busy(run_id: str, error: Locked) -> Refused:
    """Another process drives the run, or brings its result in."""
    return Refused(f"{run_id} is busy: {error.message}", hint=f"Type: donewhen status {run_id}")


def _once(run: Run) -> None:
    """A person's word on a run is given once."""
    said = next((i for i in run.repo.inbox.of_run(run.id) if i["state"] in SAID), None)
    if said is not None:
        raise Refused(
            f"{run.id} was already {said['state']}; nothing was changed",
            hint=f"Its states: git for-each-ref refs/donewhen/{run.id}/",
        )


def _accept(run: Run, how: str) -> Accepted:
    _once(run)
    run.journal.verify()
    seen = overview(run.repo, run.id)
    if seen.altered:
        raise Refused(
            f"{seen.altered} is not the verdict that was recorded; nothing was changed",
            hint=f"The states themselves are pinned: git for-each-ref refs/donewhen/{run.id}/",
        )
    if not seen.state.best_iteration:
        raise Refused(
            f"{run.id} has no judged state to accept", hint=f"Type: donewhen why {run.id}"
        )
    target = _target(run, seen.state.best_iteration, seen.state.best_tree)
    red = tuple(g["name"] for g in (seen.verdict or {}).get("gates", []) if g["state"] != "pass")
    if run.plan.in_place or target.tree == target.theirs_tree:
        _clean_up(run)
        return Accepted(run.id, "already there", target.theirs, red)
    done, commit = _bring(run, target, how)
    _clean_up(run)
    return Accepted(run.id, done, commit, red)


def _target(run: Run, iteration: int, judged: str) -> Target:
    git = run.repo.git
    branch = git.branch() or ""
    if branch != run.base.branch:
        raise Refused(
            f"{run.id} started on branch {run.base.branch or '(none)'}, "
            f"but {branch or 'a detached HEAD'} is checked out",
            hint=f"Type: git switch {run.base.branch}  (or: git merge {branch_of(run.id)})",
        )
    head = git.head() or ""
    keeper = TreeKeeper(git, run.repo.layout.index("checkout"))
    theirs = run.recorded(iteration)
    tree = git.rev_tree(theirs)
    if tree != judged:
        raise Refused(
            f"what {run.id} recorded is not the tree that was judged; nothing was changed",
            hint=f"Type: donewhen log {run.id}",
        )
    return Target(head, keeper.key(), theirs, tree)


def _bring(run: Run, target: Target, how: str) -> tuple[str, str]:
    """Choose the way: history for a clean start, the working tree alone for a dirty one."""
    git = run.repo.git
    if not run.base.clean or how == "apply" or not target.head:
        return _into_tree(run, target), target.theirs
    _no_overlap(run, target)
    if target.head == run.base.head:
        if how == "squash":
            return _squashed(run, target, target.theirs_tree)
        _forward(run, target, target.theirs)
        return "fast-forward", target.theirs
    if how == "ff":
        raise Refused(
            f"{run.base.branch} has moved on since the start; a fast-forward is not possible",
            hint=f"Type: donewhen inbox accept {run.id}  (makes a merge commit)",
        )
    merged = _merged(run, target.head, target.theirs)
    if merged != target.theirs_tree:
        _judged_green(run, merged)
    if how == "squash":
        return _squashed(run, target, merged)
    message = f"Merge donewhen run {run.id}\n\n{run.plan.goal[:2000]}\n"
    commit = git.commit_tree(merged, [target.head, target.theirs], message.encode(), person=True)
    _forward(run, target, commit)
    return "merge", commit


def _squashed(run: Run, target: Target, tree: str) -> tuple[str, str]:
    message = f"{run.plan.goal.strip().splitlines()[0][:72]}\n\ndonewhen run {run.id}\n"
    commit = run.repo.git.commit_tree(tree, [target.head], message.encode(), person=True)
    _forward(run, target, commit)
    return "squashed", commit


def _forward(run: Run, target: Target, commit: str) -> None:
    """Move the checkout to `commit`; files that only the user has, ignored ones too, stay."""
    git = run.repo.git
    added = [n for s, n in git.changed_paths(target.head, commit) if s == "A"]
    mine = [path for name in added if (path := _in_the_way(git.root, os.fsdecode(name)))]
    if mine:
        names = ", ".join(sorted(set(mine))[:5])
        raise Refused(
            f"the result would overwrite files of yours that git does not track: {names}",
            hint=f"Move them away, then: donewhen inbox accept {run.id}",
        )
    try:
        git.run("merge", "--ff-only", "--no-overwrite-ignore", "--quiet", commit)
    except GitError as error:
        raise Refused(
            f"git could not bring the result in, and changed nothing: {error.message}",
            hint=f"Mend that, then: donewhen inbox accept {run.id}",
        ) from error


def _in_the_way(root: Path, name: str) -> str:
    """The path, or the file standing where one of its folders must be; "" if it is free."""
    place = Path(name)
    for parent in reversed(place.parents[:-1]):
        there = root / parent
        if there.is_symlink() or (there.exists() and not there.is_dir()):
            return str(parent)
    return name if os.path.lexists(root / place) else ""


def _no_overlap(run: Run, target: Target) -> None:
    """Uncommitted work in files that the result changes stops the merge before it begins."""
    git = run.repo.git
    if git.rev_tree(target.head) == target.tree:
        return
    mine = {path for _s, path in git.changed_paths(git.rev_tree(target.head), target.tree)}
    theirs = {path for _s, path in git.changed_paths(run.base.commit, target.theirs)}
    if both := sorted(mine & theirs):
        names = ", ".join(p.decode("utf-8", "backslashreplace") for p in both[:5])
        raise Refused(
            f"uncommitted changes of yours touch what the result changes: {names}",
            hint=f"Commit or stash them, then: donewhen inbox accept {run.id}",
        )


def _into_tree(run: Run, target: Target) -> str:
    """Apply the difference to the working tree, uncommitted; three-way if it has changed since."""
    git = run.repo.git
    goal = target.theirs_tree
    if target.tree != run.base.tree:
        mine = git.commit_tree(target.tree, [run.base.commit], b"donewhen: your tree now\n")
        goal = _merged(run, mine, target.theirs)
        if goal != target.theirs_tree:
            _judged_green(run, goal)
    try:
        git.run("apply", "--whitespace=nowarn", "-", input=git.diff(target.tree, goal))
    except GitError as error:
        raise Refused(
            f"git could not apply the result, and changed nothing: {error.message}",
            hint=f"Look at it: git diff {target.theirs[:12]}",
        ) from error
    return "applied"


def _merged(run: Run, mine: str, theirs: str) -> str:
    tree, conflicts = run.repo.git.merge_tree(mine, theirs)
    if conflicts:
        raise Refused(
            f"the result conflicts with your changes in {', '.join(conflicts[:5])}; "
            "nothing was changed",
            hint=f"Commit your work, then merge by hand: git merge {branch_of(run.id)}",
        )
    return tree


def _judged_green(run: Run, tree: str) -> None:
    """The merged tree was never judged: do it now, elsewhere; red changes nothing."""
    verdict = judge_scratch(run, tree)
    if verdict.state is not GateState.PASS:
        red = ", ".join(g.name for g in verdict.gates if g.state is not GateState.PASS)
        raise Refused(
            f"together with your changes the gates are red ({red}); nothing was changed",
            hint=f"Look at the result alone: git diff {run.base.commit[:12]} {branch_of(run.id)}",
        )


def _clean_up(run: Run) -> None:
    run.workspace.remove()
    _close(run, "accepted")


def reject(repo: Repo, run_id: str) -> None:
    """Away with worktree and branch; the states stay pinned under refs/donewhen/<run>/."""
    run = load(repo, run_id)
    try:
        with locks.lock(repo.layout.runner_lock(run_id)):
            _once(run)
            run.workspace.remove()
            _close(run, "rejected")
    except Locked as error:
        raise busy(run_id, error) from error


def _close(run: Run, how: str) -> None:
    for item in run.repo.inbox.of_run(run.id):
        run.repo.inbox.close(item["id"], how)


def scratch_place(run: Run) -> Path:
    """Where a merged tree is judged."""
    return run.repo.layout.tree(f"{run.id}-merge")
