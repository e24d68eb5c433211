"""The tree key: the git tree id of tracked and untracked-not-ignored files, through our own index.

The user's index and its lock are never touched. Derived views count as HEAD has them; tool caches
and nested repositories without a commit, which no git tree can hold, are left out.
"""

from __future__ import annotations

import os
from pathlib import Path

from donewhen.errors import GitError
from donewhen.system import fs, locks
from donewhen.system.git import Git

DERIVED = (".donewhen/works", ".donewhen/rtm", ".donewhen/regressions")
# What tools drop wherever they run; nobody's work, and never in a clean room.
CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
LEFT_OUT = (
    *(f":(exclude,top){name}" for name in DERIVED),
    *(f":(exclude,top,glob)**/{name}/**" for name in CACHES),
)
# Everything that could make git believe a file is as it was, or keep a part of the index elsewhere.
EXACT = (
    "-c", "core.trustctime=true",
    "-c", "core.checkStat=default",
    "-c", "core.ignoreStat=false",
    "-c", "core.untrackedCache=false",
    "-c", "core.splitIndex=false",
    "-c", "advice.addEmbeddedRepo=false",
    "-c", "core.preloadIndex=false",  # its threads match the pathspecs once more, at twice the price
)  # fmt: skip
LOCK_WAIT_S = 120.0


class TreeKeeper:
    """Keys one working tree again and again, cheaply, in an index file of its own.

    `links` are paths that we put into the tree as symlinks; a `node_modules/` in .gitignore does
    not match a symlink, and they are nobody's work.
    """

    def __init__(self, git: Git, index: Path, links: tuple[str, ...] = ()) -> None:
        self.git = git
        self.index = index
        self._links = links
        self._env = {"GIT_INDEX_FILE": str(index)}
        self._known: tuple[object, str] = (None, "")  # our index as it was, and its tree

    def key(self) -> str:
        """The tree id now; writes the objects it names. Raises GitError, Locked."""
        with locks.lock(self.index.with_name(f"{self.index.name}.ours"), wait=LOCK_WAIT_S):
            # Who wrote here held our lock and is gone: a lock of git's was left by a kill.
            self.index.with_name(f"{self.index.name}.lock").unlink(missing_ok=True)
            try:
                return self._key()
            except GitError:
                # Whatever a crash did to our index, it can be made again.
                self.index.unlink(missing_ok=True)
                return self._key()

    def _key(self) -> str:
        if not self.index.exists():
            self._seed()
        self._add()
        if self._links:  # git refuses an exclude that names an ignored path exactly
            names = "\0".join(self._links).encode("utf-8", "surrogateescape")
            self._git("update-index", "--force-remove", "-z", "--stdin", input=names)
        self._derived()
        stamp, tree = self._known
        if stamp is None or stamp != self._stamp():  # the tree is a function of the index
            tree = self._git("write-tree").decode().strip()
            self.index.chmod(0o600)  # git writes it anew with the user's umask
            self._known = (self._stamp(), tree)
        return tree

    def _stamp(self) -> object:
        """What any write to the index changes; git leaves one that would stay the same alone."""
        info = self.index.stat()
        return info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns

    def _add(self) -> None:
        try:
            self._git("add", "--all", "--", ":/", *LEFT_OUT)
        except GitError as error:
            if "does not have a commit checked out" not in error.message:
                raise
            nested = [f":(exclude,top,literal){path}" for path in self._empty_repositories()]
            self._git("add", "--all", "--", ":/", *LEFT_OUT, *nested)

    def _empty_repositories(self) -> list[str]:
        """Untracked folders that are repositories without a commit."""
        out = self._git("ls-files", "--others", "--exclude-standard", "-z", "--full-name", ":/")
        names = [n for n in out.decode("utf-8", "surrogateescape").split("\0") if n.endswith("/")]
        return [n.rstrip("/") for n in names if not Git(self.git.root / n).head()]

    def _derived(self) -> None:
        """Views of ours, as they are written during a run, are nobody's change."""
        if not any((self.git.root / name).exists() for name in DERIVED):
            return
        if self.git.head():
            self._git("reset", "--quiet", "HEAD", "--", *(f":(top){name}" for name in DERIVED))
        else:
            self._git("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", *DERIVED)

    def _seed(self) -> None:
        """Start from the user's index, so that what it knows of each file saves reading it."""
        fs.make_private_dir(self.index.parent)
        own = self.git.root / self.git.text("rev-parse", "--git-path", "index")
        copy = self.index.with_name(f"{self.index.name}.new")
        try:
            info = own.stat()
            copy.write_bytes(own.read_bytes())
        except OSError:
            head = self.git.head()
            self._git("read-tree", head) if head else self._git("read-tree", "--empty")
            return
        # git reads a file again whose time is not before the index's: a copy must not look newer.
        os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
        copy.replace(self.index)
        try:
            self._believe_nothing()
        except GitError:
            self.index.unlink(missing_ok=True)
            raise

    def _believe_nothing(self) -> None:
        """Drop the marks by which a person tells git not to look at a file.

        A file that is marked and not there is one that a sparse checkout left out: it stays.
        """
        rows = self._git("ls-files", "-v", "-z", "--full-name", ":/").split(b"\0")
        hidden = [row for row in rows if row[:1].islower() or row[:1] == b"S"]
        there = [row[2:] for row in hidden if os.path.lexists(self._path(row[2:]))]
        if there:
            paths = b"".join(path + b"\0" for path in there)
            for mark in ("--no-assume-unchanged", "--no-skip-worktree"):
                self.git.run(
                    *EXACT, "update-index", mark, "-z", "--stdin", input=paths, env=self._env
                )

    def _path(self, name: bytes) -> Path:
        return self.git.root / os.fsdecode(name)

    def _git(self, *args: str, input: bytes = b"") -> bytes:
        return self.git.run(*EXACT, *args, input=input, env=self._env)
