"""What tools leave in a tree and nobody means, and which paths a gate was allowed to write."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

# No fault of a gate, and taken away again from worktrees of ours. Caches that the tree key leaves
# out anyway (system.treekey.CACHES) need no line here.
DROPPINGS = (
    ".coverage", ".coverage.*", "coverage.xml", "htmlcov/", ".testmondata*", "*.pyc",
    "*.egg-info/", ".eggs/", ".nyc_output/", "node_modules/.cache/", ".eslintcache",
    "*.tsbuildinfo",
)  # fmt: skip


def dropped(path: str) -> bool:
    """Is this one of the built-in droppings, wherever in the tree it lies?"""
    return allowed(path, (f"**/{pattern}" for pattern in DROPPINGS))


def allowed(path: str, patterns: Iterable[str]) -> bool:
    """Does a glob of `writes` name the path or a folder above it? `**/` may stand for nothing."""
    return any(_matches(path, pattern) for pattern in patterns)


def _matches(path: str, pattern: str) -> bool:
    pattern = pattern.removeprefix("./").rstrip("/")
    shapes = {pattern, pattern.removeprefix("**/")}
    return any(fnmatchcase(path, s) or fnmatchcase(path, f"{s}/*") for s in shapes)
