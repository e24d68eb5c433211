"""Where a run works: the base snapshot, its own worktree, and a commit per judged iteration.

The user's branches, index and working tree are never written here; only refs/donewhen/<run>/*
and the branch donewhen/<run> move.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from donewhen.errors import GitError
from donewhen.system import clock, fs
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper


@dataclass(frozen=True)
class Base:
    """The user's tree when the run started: `clean` means it equals the commit `head`."""

    tree: str
    commit: str
    head: str
    branch: str
    clean: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def branch_of(run: str) -> str:
    return f"donewhen/{run}"


def pin_of(run: str, what: str) -> str:
    return f"refs/donewhen/{run}/{what}"


def snapshot(git: Git, keeper: TreeKeeper, run: str) -> Base:
    """The base: uncommitted and untracked-not-ignored files included, kept as a pinned commit."""
    tree = keeper.key()
    head = git.head() or ""
    clean = bool(head) and git.rev_tree(head) == tree
    commit = head
    if not clean:
        parents = [head] if head else []
        commit = git.commit_tree(tree, parents, f"donewhen: base of {run}\n".encode(), clock.now())
    git.update_ref(pin_of(run, "base"), commit, None)
    return Base(tree, commit, head, git.branch() or "", clean)


class Workspace:
    """One run's checkout: a linked worktree, or the user's own with `in_place`."""

    def __init__(
        self, git: Git, path: Path, run: str, base: Base, index: Path, links: tuple[str, ...] = ()
    ) -> None:
        self.git = git  # of the user's checkout
        self.path = path
        self.run = run
        self.base = base
        self.in_place = path == git.root
        self.here = git if self.in_place else git.at(path)
        self.keeper = TreeKeeper(self.here, index, () if self.in_place else links)
        self._last = ""  # the newest pinned commit, once this process has made one, and its tree
        self._tree = ""

    def create(self) -> bool:
        """The worktree on its branch, from the newest state; False if it is already there."""
        if self.in_place or (self.path / ".git").exists():
            return False
        fs.make_private_dir(self.path.parent)
        branch = branch_of(self.run)
        commit = self.last_commit() or self.base.commit
        self.git.worktree_add(self.path, commit, branch)
        return True

    def last_commit(self) -> str | None:
        """The newest pinned iteration, or None before the first."""
        pins = self.git.refs(f"refs/donewhen/{self.run}/")
        numbers = [int(name.rsplit("/", 1)[1]) for name in pins if name.rsplit("/", 1)[1].isdigit()]
        return pins[pin_of(self.run, str(max(numbers)))] if numbers else None

    def commit(self, iteration: int, tree: str, title: str) -> str:
        """Commit `tree` and pin it; the agent's own commits stay its history where they can."""
        before = self._last or self.last_commit() or self.base.commit
        head, has, branch = (before, "", "") if self.in_place else self._standing()
        parent = head if head == before or self.git.is_ancestor(before, head) else before
        if (has if has and parent == head else self.git.rev_tree(parent)) == tree:
            commit = parent  # the agent committed it itself, or nothing changed
        else:
            commit = self.git.commit_tree(tree, [parent], title.encode(), clock.now())
        self.git.update_ref(pin_of(self.run, str(iteration)), commit, None)
        if not self.in_place:
            self._follow(commit, head, branch)
        self._last, self._tree = commit, tree
        return commit

    def _standing(self) -> tuple[str, str, str]:
        """(commit, its tree, branch) checked out; git is asked unless its files are as we left them."""
        branch = f"refs/heads/{branch_of(self.run)}"
        place = (fs.read_bytes(self.path / ".git") or b"").removeprefix(b"gitdir:").strip()
        head = fs.read_bytes(self.path / os.fsdecode(place) / "HEAD")
        ref = fs.read_bytes(self.git.common_dir / branch)
        if self._last and (head, ref) == (f"ref: {branch}\n".encode(), f"{self._last}\n".encode()):
            return self._last, self._tree, branch
        return self.here.standing()

    def _follow(self, commit: str, head: str, branch: str) -> None:
        """Bring the worktree's branch and index to our commit; its files are already that tree."""
        ours = branch == f"refs/heads/{branch_of(self.run)}"
        if commit == head and ours:
            return
        self.git.update_ref(f"refs/heads/{branch_of(self.run)}", commit, None)
        if not ours:
            self.here.run("symbolic-ref", "HEAD", f"refs/heads/{branch_of(self.run)}")
        self._index(commit)

    def _index(self, commit: str) -> None:
        """The worktree's index as of `commit`; made anew where marks of the agent's stand in the way."""
        try:
            self.here.run("read-tree", "--reset", commit)
        except GitError:
            self._new_index(commit)

    def _new_index(self, tree: str) -> None:
        (self.path / self.here.text("rev-parse", "--git-path", "index")).unlink(missing_ok=True)
        self.here.run("read-tree", tree)

    def restore(self, tree: str) -> None:
        """Back to `tree`, for an agent whose turn was lost half way; ignored files stay."""
        if not self.in_place:
            self._new_index(tree)
            self.here.run("read-tree", "--reset", "-u", tree)
            self.here.run("clean", "-ffdq")

    def settle(self, commit: str) -> None:
        """At the end the branch stands at the best judged state."""
        if self.in_place:
            return
        try:
            self.git.update_ref(f"refs/heads/{branch_of(self.run)}", commit, None)
            if (self.path / ".git").exists():
                self._index(commit)
        except GitError as error:
            raise GitError(
                f"could not move {branch_of(self.run)} to {commit[:12]}: {error.message}",
                hint=f"The state itself is safe: git show {commit[:12]}",
            ) from error

    def remove(self) -> None:
        """Remove worktree and branch; the pinned refs keep every state."""
        if self.in_place:
            return
        self.git.worktree_remove(self.path)
        self.git.delete_ref(f"refs/heads/{branch_of(self.run)}")
