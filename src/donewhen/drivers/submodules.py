"""Submodules, and repositories inside of the repository: git leaves their folders empty in a checkout.

They are filled from those of the user's checkout, as they stand there, changes included; the
user's own are only read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from donewhen.errors import DonewhenError, UsageError
from donewhen.system.git import Git

UPDATE = "Type: git submodule update --init --recursive"


def check(git: Git) -> None:
    """Raises UsageError naming the submodules that the user's checkout itself does not have."""
    if not (git.root / ".gitmodules").exists():
        return
    rows = git.run("ls-files", "-s", "-z", "--full-name", ":/").split(b"\0")
    links = [os.fsdecode(row.split(b"\t", 1)[1]) for row in rows if row.startswith(b"160000")]
    empty = [name for name in links if not (git.root / name / ".git").exists()]
    empty = [name for name in empty if name not in _unwanted(git)]
    if empty:
        raise UsageError(
            f"submodules are empty in your checkout, so no gate could see them: {', '.join(empty)}",
            hint=f"{UPDATE}  (or set update = none for them in .gitmodules)",
        )


def _unwanted(git: Git) -> set[str]:
    """The paths of submodules that are not to be filled, by their own configuration."""
    out = git.run("config", "-z", "-f", ".gitmodules", "--list", check=False)
    out += git.run("config", "-z", "--get-regexp", r"^submodule\..*\.update$", check=False)
    rows = dict(row.split("\n", 1) for row in os.fsdecode(out).split("\0") if "\n" in row)
    none = (name.removesuffix(".update") for name, value in rows.items() if value == "none")
    return {rows.get(f"{name}.path", "") for name in none}


def fill(place: Path, sources: Sequence[Path]) -> None:
    """Fill those of the checkout `place` from the first of `sources` that has the commit.

    Raises DonewhenError where none has.
    """
    here = Git(place)
    for name, commit in _links(here):
        goal = place / name
        if (goal / ".git").exists():
            continue
        found = [source / name for source in sources if _has(source / name, commit)]
        if not found:
            if not any((source / name / ".git").exists() for source in sources):
                continue  # empty in the user's checkout too
            raise DonewhenError(
                f"the commit {commit[:12]} of the submodule {name} is nowhere on this machine",
                hint=UPDATE,
            )
        _clone(found[0], goal, commit)
        fill(goal, found)


def _links(git: Git) -> list[tuple[str, str]]:
    """(path, commit) of every repository that the checked out commit names."""
    rows = git.run("ls-tree", "-r", "-z", "HEAD").split(b"\0")
    found = [row.split(b"\t", 1) for row in rows if row.startswith(b"160000")]
    return [(os.fsdecode(path), words.split(b" ")[2].decode()) for words, path in found]


def _has(place: Path, commit: str) -> bool:
    if not (place / ".git").exists():
        return False
    return Git(place).text("cat-file", "-t", commit, check=False) == "commit"


def _clone(source: Path, goal: Path, commit: str) -> None:
    """At `commit`, sharing the source's objects, with what is changed there if it stands at it."""
    there, here = Git(source), Git(goal)
    goal.mkdir(parents=True, exist_ok=True)
    here.run("clone", "--quiet", "--shared", "--no-checkout", str(source), ".")
    here.run("checkout", "--quiet", "--detach", commit)
    if there.head() == commit:
        changed = there.run(
            "diff-index", "-p", "--binary", "--no-ext-diff", "--no-textconv", "HEAD"
        )
        if changed:
            here.run("apply", "--whitespace=nowarn", "-", input=changed)
