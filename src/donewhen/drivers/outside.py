"""What an agent may have changed outside its worktree: refs, the stash, remotes on this disk.

A change is charged to the agent only if one of its events names the ref or what the ref now
points to was made by the run; everything else is the user's own business and is only reported.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.errors import GitError
from donewhen.system import fs
from donewhen.system.git import Git


@dataclass(frozen=True)
class Outside:
    """Refs of the repository and of its local-path remotes, and what .git/config holds.

    `mark` is the digest of the files that hold the refs, None where they cannot be read simply.
    """

    refs: dict[str, str]
    remotes: dict[str, dict[str, str]] = field(default_factory=dict)
    config: bytes = b""
    mark: bytes | None = None


@dataclass(frozen=True)
class Change:
    """One ref or file that differs. `where` is "" for the repository, else the remote's path."""

    what: str
    where: str
    now: str

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        return f"{self.what}{place} is now {self.now[:12] or 'gone'}"


def look(git: Git, run: str, before: Outside | None = None) -> Outside:
    """The state outside; refs of the run itself are left out.

    `before` spares asking for what cannot have changed: the refs where the files that hold them
    are the same byte by byte, the remotes where .git/config is.
    """
    own = (f"refs/donewhen/{run}/", f"refs/heads/donewhen/{run}")
    mark = _mark(git, own)  # before the refs are read: what changes in between is found next time
    if before is not None and mark is not None and before.mark == mark:
        refs = before.refs
    else:
        refs = {n: v for n, v in git.refs().items() if not n.startswith(own)}
    path = git.common_dir / "config"
    config = path.read_bytes() if path.exists() else b""
    same = before is not None and before.config == config
    places = list(before.remotes) if before is not None and same else _places(git)
    return Outside(refs, {place: _refs_of(Path(place)) for place in places}, config, mark)


def _mark(git: Git, own: tuple[str, ...]) -> bytes | None:
    """A digest of everything from which git answers what the refs are, those of `own` left out.

    None for what is not plain files in one folder: a reftable, a linked worktree, symlinks.
    """
    common = git.common_dir
    if not (git.root / ".git").is_dir() or (common / "reftable").exists():
        return None
    digest = hashlib.blake2b((fs.read_bytes(common / "packed-refs")) or b"")
    folders = ["refs"]
    try:
        while folders:
            folder = folders.pop()
            with os.scandir(common / folder) as found:
                entries = sorted(found, key=lambda e: e.name)
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if f"{name}/".startswith(own):
                    continue
                if entry.is_symlink():
                    return None
                if entry.is_dir():
                    folders.append(name)
                else:
                    data = Path(entry.path).read_bytes()
                    digest.update(f"{name}\0{len(data)}\0".encode(errors="surrogateescape") + data)
    except OSError:
        return None
    return digest.digest()


def _places(git: Git) -> list[str]:
    """The remotes that are folders of this machine."""
    found = (_local(url, git.root) for url in git.remotes().values())
    return [str(place) for place in found if place is not None]


def _refs_of(place: Path) -> dict[str, str]:
    try:
        return Git(place).refs()
    except GitError:
        return {}


def _local(url: str, root: Path) -> Path | None:
    if url.startswith("file://"):
        return Path(url[7:])
    if "://" in url or (":" in url and not url.startswith(("/", "."))):
        return None
    place = (root / url).resolve()
    return place if place.exists() else None


def changes(before: Outside, after: Outside) -> list[Change]:
    """Everything that differs, in a stable order."""
    found = [Change(n, "", now) for n, now in _differences(before.refs, after.refs)]
    for place in sorted(before.remotes.keys() | after.remotes.keys()):
        old, new = before.remotes.get(place, {}), after.remotes.get(place, {})
        found += [Change(n, place, now) for n, now in _differences(old, new)]
    if before.config != after.config:
        found.append(Change(".git/config", "", "changed"))
    return found


def _differences(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (n, new.get(n, "")) for n in sorted(old.keys() | new.keys()) if old.get(n) != new.get(n)
    ]


def charged(git: Git, base: str, head: str, found: Iterable[Change], said: str) -> list[Change]:
    """The changes that the agent made: named in a git command of its, or holding its commits.

    `said` is what its events showed (commands, paths); `head` the commit its worktree stands at.
    """
    return [c for c in found if _named(c, said) or _made_here(git, base, head, c)]


WRITES = "push|update-ref|branch|tag|reset|merge|rebase|pull|fetch|checkout|switch|stash"


def _named(change: Change, said: str) -> bool:
    if change.what == ".git/config":
        return ".git/config" in said or re.search(r"\bgit\b[^\n;|&]*\bconfig\b", said) is not None
    if change.what == "refs/stash":
        return re.search(r"\bgit\b[^\n;|&]*\bstash\b", said) is not None
    short = re.sub(r"^refs/(heads|tags|remotes)/", "", change.what)
    name = f"(?:{re.escape(change.what)}|{re.escape(short)})"
    command = rf"\bgit\b[^\n;|&]*\b(?:{WRITES})\b[^\n;|&]*(?<![\w/-]){name}(?![\w/-])"
    return f".git/{change.what}" in said or re.search(command, said) is not None


def _made_here(git: Git, base: str, head: str, change: Change) -> bool:
    """The ref holds a commit of the worktree's line that the base does not have."""
    if not change.now or change.what == ".git/config" or not head:
        return False
    return git.is_ancestor(change.now, head) and not git.is_ancestor(change.now, base)
