"""What stands outside the worktree and what differs there: refs, what git obeys, the user's files.

Refs, the stash and reflogs of the repository, refs of its remotes on this disk; the files by which
git runs or sees something else (rules.py); the user's tracked and untracked-not-ignored files. Who
did it is asked in charging.py.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.drivers import rules
from donewhen.drivers.rules import Rule
from donewhen.errors import GitError
from donewhen.system import fs
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper

STASH = "refs/stash"


@dataclass(frozen=True)
class Log:
    """A reflog: its bytes so far and their digest; `entries` of the stash alone."""

    size: int
    digest: str
    entries: tuple[str, ...] = ()
    stamp: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outside:
    """What stood there at one time.

    `tree` holds the user's files ("" unread); `mark` is the digest of the files that hold the refs,
    None where they cannot be read simply.
    """

    refs: dict[str, str]
    remotes: dict[str, dict[str, str]] = field(default_factory=dict)
    rules: dict[str, Rule] = field(default_factory=dict)
    logs: dict[str, Log] = field(default_factory=dict)
    mark: bytes | None = None
    tree: str = ""

    def to_json(self) -> str:
        """Digests alone, since settings may be secret."""
        kept = {
            "refs": self.refs,
            "remotes": self.remotes,
            "rules": {n: [r.digest, r.settings] for n, r in self.rules.items()},
            "logs": {n: [g.size, g.digest, g.entries] for n, g in self.logs.items()},
            "tree": self.tree,
        }
        return json.dumps({"version": 1, **kept})

    @staticmethod
    def from_json(text: bytes) -> Outside | None:
        """None for what is not whole."""
        try:
            data = json.loads(text)
            return Outside(
                data["refs"],
                data["remotes"],
                {name: Rule(*rule) for name, rule in data["rules"].items()},
                {name: Log(size, d, tuple(e)) for name, (size, d, e) in data["logs"].items()},
                tree=data["tree"],
            )
        except (ValueError, KeyError, TypeError):
            return None


@dataclass(frozen=True)
class Change:
    """One thing that differs. `where` is "" for the repository, else a remote or checkout.

    `kind`: ref, stash (entries lost), log (a reflog cut), rule or file. `now` is what it is now, ""
    if it is gone, `was` what a ref was. `settings` are those of a configuration that differ.
    """

    kind: str
    what: str
    where: str
    now: str
    settings: tuple[str, ...] = ()
    was: str = ""

    def __str__(self) -> str:
        place = f" in {self.where}" if self.where else ""
        if self.kind == "stash":
            return f"stash entries are gone ({self.now}; git stash store brings one back)"
        if self.kind == "log":
            return f"{self.what} lost entries"
        if self.settings:
            return f"{self.what} has another {', '.join(self.settings[:5])}"
        if self.kind == "rule":
            return f"{self.what} is {'changed' if self.now else 'gone'}"
        return f"{self.what}{place} is {f'now {self.now[:12]}' if self.now else 'gone'}"


def look(git: Git, run: str, before: Outside | None = None) -> Outside:
    """The state outside, the user's files apart; refs of the run itself are left out.

    `before` spares asking for what cannot have changed: the refs where the files that hold them
    are the same byte by byte, remotes and settings where the configuration is.
    """
    own = (f"refs/donewhen/{run}/", f"refs/heads/donewhen/{run}")
    mark = _mark(git, own)  # before the refs are read: what changes in between is found next time
    if before is not None and mark is not None and before.mark == mark:
        refs = before.refs
    else:
        refs = {n: v for n, v in git.refs().items() if not n.startswith(own)}
    found = rules.look(git, before.rules if before else {})
    same = before is not None and found.get(rules.CONFIG) == before.rules.get(rules.CONFIG)
    places = list(before.remotes) if before is not None and same else _places(git)
    remotes = {place: _refs_of(Path(place)) for place in places}
    return Outside(refs, remotes, found, _logs(git, own, before.logs if before else {}), mark)


def files(keeper: TreeKeeper) -> str:
    """The tree of the user's checkout; "" while it cannot be read (gone, or in no order)."""
    try:
        return keeper.key()
    except (GitError, OSError):
        return ""


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


# -- reflogs: what git remembers may grow, and is never cut ---------------------------------------------


def _logs(git: Git, own: tuple[str, ...], before: dict[str, Log]) -> dict[str, Log]:
    top = git.common_dir / "logs"
    found = {"HEAD": rules.git_dir(git) / "logs" / "HEAD", STASH: top / "refs/stash"}
    for place in (top / "refs" / "heads").rglob("*"):
        name = place.relative_to(top).as_posix()
        if not name.startswith((*own, "refs/heads/donewhen/")):
            found[name] = place
    logs = ((name, _log(place, name, before.get(name))) for name, place in found.items())
    return {name: log for name, log in logs if log is not None}


def _log(place: Path, name: str, before: Log | None) -> Log | None:
    try:
        info = place.stat()
        stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        if before is not None and before.stamp == stamp:
            return before
        data = place.read_bytes()
    except OSError:
        return None
    if before is not None and hashlib.sha256(data[: before.size]).hexdigest() != before.digest:
        before = None
    entries = tuple(row.split(b" ", 2)[1].decode() for row in data.splitlines() if b" " in row)
    digest = hashlib.sha256(data).hexdigest()
    cut = "" if before is None else before.digest  # what it still begins with
    return Log(len(data), digest, entries if name == STASH else (cut,), stamp)


def _cut(old: Log, new: Log) -> bool:
    return new.digest != old.digest and old.digest not in new.entries


# -- comparing ------------------------------------------------------------------------------------------


def changes(git: Git, before: Outside, after: Outside) -> list[Change]:
    """Everything that differs, in a stable order."""
    found = [c for c in _moved("", before.refs, after.refs) if c.what != STASH]
    for place in sorted(before.remotes.keys() | after.remotes.keys()):
        old, new = before.remotes.get(place, {}), after.remotes.get(place, {})
        found += _moved(place, old, new)
    found += _lost(before.logs, after.logs)
    for name in sorted(before.rules.keys() | after.rules.keys()):
        one, two = before.rules.get(name, Rule()), after.rules.get(name, Rule())
        if one.digest != two.digest:
            settings = rules.differing(one, two)
            if settings or not (one.settings or two.settings):
                found.append(Change("rule", name, "", two.digest, settings))
    if before.tree and after.tree and before.tree != after.tree:
        for path, blob in git.changed_blobs(before.tree, after.tree):
            found.append(Change("file", os.fsdecode(path), str(git.root), blob))
    return found


def _lost(before: dict[str, Log], after: dict[str, Log]) -> list[Change]:
    """What was in the stash or a reflog and is not any more; what was added is no change."""
    found = []
    for name, old in sorted(before.items()):
        new = after.get(name)
        if name == STASH:
            gone = [e for e in old.entries if new is None or e not in new.entries]
            if gone:
                found.append(Change("stash", name, "", " ".join(gone)))
        elif new is not None and _cut(old, new):
            found.append(Change("log", f".git/logs/{name}", "", new.digest))
    return found


def _moved(where: str, old: dict[str, str], new: dict[str, str]) -> list[Change]:
    return [
        Change("ref", n, where, new.get(n, ""), was=old.get(n, ""))
        for n in sorted(old.keys() | new.keys())
        if old.get(n) != new.get(n)
    ]


def told(found: list[Change], most: int = 8) -> str:
    """The changes in words, bounded."""
    more = f"; and {len(found) - most} more" if len(found) > most else ""
    return "; ".join(str(change) for change in found[:most]) + more
