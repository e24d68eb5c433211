"""Links that lead out of the tree: what they lead to is no part of what is delivered."""

from __future__ import annotations

import os
from pathlib import Path

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Finding
from donewhen.system.git import Git


def outward(git: Git, base: str, tree: str) -> tuple[Finding, ...]:
    """A finding for each link that is new since `base` and leads out of the working tree of `git`.

    An absolute one always does: wherever else the tree is checked out, it would lead back here.
    """
    if not base or not tree or base == tree:
        return ()
    found = []
    top = os.path.realpath(git.root)
    for name in map(os.fsdecode, git.changed_links(base, tree)):
        place = os.path.join(top, name)  # noqa: PTH118  # surrogates
        if not Path(place).is_symlink():
            continue
        goal = os.path.realpath(place)
        if Path(place).readlink().is_absolute() or not f"{goal}/".startswith(f"{top}/"):
            message = f"{name} is a link out of the tree, to {goal}"
            fingerprint = digest("integrity", "outward-link", name)
            found.append(
                Finding("integrity", "outward-link", message, path=name, fingerprint=fingerprint)
            )
    return tuple(found)
