"""The tree key: the git tree id of tracked and untracked-not-ignored files, through our own index.

The user's index and its lock are never touched. Derived views and tool
caches are left out by built-in lists.
"""

from __future__ import annotations

from pathlib import Path

from donewhen.errors import GitError
from donewhen.system import fs
from donewhen.system.git import Git

DERIVED = (".donewhen/works", ".donewhen/rtm", ".donewhen/regressions")
# What tools drop wherever they run; nobody's work, and never in a clean room.
CACHES = ("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis")
LEFT_OUT = (
    *(f":(exclude,top){name}" for name in DERIVED),
    *(f":(exclude,top,glob)**/{name}/**" for name in CACHES),
)
EXACT = (
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.untrackedCache=false",
)


class TreeKeeper:
    """Keys one working tree again and again, cheaply, in an index file of its own."""

    def __init__(self, git: Git, index: Path) -> None:
        self.git = git
        self.index = index
        self._env = {"GIT_INDEX_FILE": str(index)}

    def key(self) -> str:
        """The tree id now; writes the objects it names."""
        if not self.index.exists():
            self._seed()
        self._git("add", "--all", "--", ":/", *LEFT_OUT)
        return self._git("write-tree").decode().strip()

    def _seed(self) -> None:
        """Start from HEAD, so that a file is stat'ed but not hashed twice."""
        fs.make_private_dir(self.index.parent)
        own = self.git.root / self.git.text("rev-parse", "--git-path", "index")
        try:
            self.index.write_bytes(own.read_bytes())
            self._git("update-index", "-q", "--really-refresh", check=False)
            self._git("rm", "-r", "--cached", "--quiet", "--ignore-unmatch", "--", *DERIVED)
        except OSError:
            head = self.git.head()
            self._git("read-tree", head) if head else self._git("read-tree", "--empty")
        except GitError:
            self.index.unlink(missing_ok=True)
            raise

    def _git(self, *args: str, check: bool = True) -> bytes:
        return self.git.run(*EXACT, *args, env=self._env, check=check)
