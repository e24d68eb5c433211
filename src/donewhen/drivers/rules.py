"""The files outside the tree by which git runs or sees something else, and what differs in them.

Configuration with everything it includes, ignore and attribute files of the repository and the
user, hooks, the marks in the checkout's index, and what it has checked out. Contents are kept as
digests: they may hold secrets.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.system import fs
from donewhen.system.git import Git

CONFIG = ".git/config"
HEAD = ".git/HEAD"
MARKS = ".git/index marks"
# By these git sees other bytes or files than there are, so that a verdict could rest on them.
SIGHT = re.compile(
    r"(filter|include|includeif|extensions)\.|merge\..*\.driver$"
    r"|core\.(attributesfile|excludesfile|autocrlf|eol|worktree|bare|ignorecase|filemode|symlinks"
    r"|precomposeunicode|checkstat|trustctime|ignorestat|sparsecheckout\w*|fsmonitor|splitindex|untrackedcache)$",
    re.IGNORECASE,
)
# What honest work sets on its way: who commits, what a branch follows, how things look.
HARMLESS = re.compile(
    r"(user|author|committer|advice|color|column|help|init|gc|status|log|commit|tag|fetch|pull|push"
    r"|rebase|stash|maintenance|safe|rerere|merge)\.[^.]+$|color\.|branch\.|submodule\..*\.(url|active)$",
    re.IGNORECASE,
)
SEEN = re.compile(r"\.git/info/|/(ignore|attributes)$")


@dataclass(frozen=True)
class Rule:
    """A file's digest, "" where there is none; of a configuration also each setting's."""

    digest: str = ""
    settings: dict[str, str] = field(default_factory=dict)
    stamp: tuple[int, ...] = field(default=(), compare=False)


def look(git: Git, before: dict[str, Rule]) -> dict[str, Rule]:
    """Name to rule: in .git by the name there, else by the whole path."""
    common = git.common_dir
    places = {CONFIG: common / "config", ".git/config.worktree": common / "config.worktree"}
    for name in ("exclude", "attributes", "grafts"):
        places[f".git/info/{name}"] = common / "info" / name
    for place in sorted((common / "hooks").glob("*")):
        if place.suffix != ".sample":
            places[f".git/hooks/{place.name}"] = place
    own = _read(git, CONFIG, places[CONFIG], before)
    same = bool(before) and own == before.get(CONFIG)
    known = [n for n in before if n.startswith("/")] if same else _elsewhere(git)
    places |= {name: Path(name) for name in known}
    places[HEAD] = git_dir(git) / "HEAD"
    found = {name: _read(git, name, place, before) for name, place in places.items()}
    found[MARKS] = _marks(git, before.get(MARKS))
    return {n: r for n, r in found.items() if r.digest or n.startswith("/")}


def git_dir(git: Git) -> Path:
    """Of this checkout, which may be a linked worktree."""
    dot = git.root / ".git"
    if dot.is_dir():
        return dot
    text = (fs.read_bytes(dot) or b"").decode("utf-8", "surrogateescape")
    return git.root / text.removeprefix("gitdir:").strip()


def differing(one: Rule, two: Rule) -> tuple[str, ...]:
    """The settings that are not the same in both."""
    old, new = one.settings, two.settings
    return tuple(sorted(n for n in old.keys() | new.keys() if old.get(n) != new.get(n)))


def judged_by(name: str, settings: tuple[str, ...]) -> bool:
    """Could a verdict rest on this difference?"""
    return SEEN.search(name) is not None or any(SIGHT.match(s) for s in settings)


def harmless(name: str, settings: tuple[str, ...]) -> bool:
    """Does it do no more than honest work does on its way? HEAD apart, hooks never are."""
    return bool(settings) and all(HARMLESS.match(s) for s in settings)


def _elsewhere(git: Git) -> list[str]:
    """The files outside of .git from which git takes configuration, ignores and attributes here."""
    out = git.run("config", "--list", "--show-origin", "--includes", "-z", check=False)
    words = out.decode("utf-8", "surrogateescape").split("\0")[:-1]
    found = {os.path.join(git.root, w[5:]) for w in words[::2] if w.startswith("file:")}  # noqa: PTH118
    own = f"{git.common_dir}/"
    found = {name for name in found if not name.startswith(own)}
    for setting, default in (("excludesfile", "ignore"), ("attributesfile", "attributes")):
        rows = [w.partition("\n")[2] for w in words[1::2] if w.startswith(f"core.{setting}\n")]
        found.add(_home(git, rows[-1]) if rows else _home(git, f"{_xdg(git)}/git/{default}"))
    return sorted(found)


def _xdg(git: Git) -> str:
    return git.env.get("XDG_CONFIG_HOME") or "~/.config"


def _home(git: Git, name: str) -> str:
    if name == "~" or name.startswith("~/"):
        name = git.env.get("HOME", "") + name[1:]
    return os.path.join(git.root, name)  # noqa: PTH118


def _read(git: Git, name: str, place: Path, before: dict[str, Rule]) -> Rule:
    try:
        if not place.is_file():
            return Rule()
        content = place.read_bytes()
    except OSError:
        return Rule()
    digest = hashlib.sha256(content).hexdigest()
    old = before.get(name)
    if old is not None and old.digest == digest:
        return old
    plain = name == HEAD or name.startswith(".git/hooks/") or SEEN.search(name)
    return Rule(digest, {} if plain else _settings(git, content))


def _settings(git: Git, text: bytes) -> dict[str, str]:
    """Each setting's name, as git writes it, to a digest of its values."""
    out = git.run("config", "--file", "-", "--no-includes", "--list", "-z", input=text, check=False)
    found: dict[str, str] = {}
    for row in out.decode("utf-8", "surrogateescape").split("\0")[:-1]:
        name, _, value = row.partition("\n")
        whole = f"{found.get(name, '')}\0{value}".encode("utf-8", "surrogateescape")
        found[name] = hashlib.sha256(whole).hexdigest()[:16]
    return found


def _marks(git: Git, before: Rule | None) -> Rule:
    """The files of the user's index that git was told not to look at."""
    try:
        info = (git_dir(git) / "index").stat()
    except OSError:
        return Rule()
    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    if before is not None and before.stamp == stamp:
        return before
    rows = git.run("ls-files", "-v", "-z", "--full-name", ":/", check=False).split(b"\0")
    marked = b"\0".join(row for row in rows if row[:1].islower() or row[:1] == b"S")
    return Rule(hashlib.sha256(marked).hexdigest(), {}, stamp)
