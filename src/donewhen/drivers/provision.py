"""What a fresh checkout gets besides the tree: `copy`, `link`, and what was changed behind a link."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from donewhen.errors import ConfigError
from donewhen.judge.modules import MODULES, entries, own_packages

DROPPINGS = frozenset(
    {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".cache", ".vite"}
)


@dataclass(frozen=True)
class Provision:
    """What a fresh checkout gets besides the tree, by name in the configuration."""

    setup: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


def provision(source: Path, target: Path, what: Provision) -> None:
    """Copy and link what the configuration names, from the user's checkout into a fresh one."""
    for name in what.copy:
        place = _inside(source, name, "copy")
        for found in sorted(source.glob(name)) if _is_pattern(name) else [place]:
            _copy(found, target / found.relative_to(source))
    for name in what.link:
        _inside(source, name, "link")
        goal = target / name
        if goal.is_symlink() or goal.exists():
            continue
        goal.parent.mkdir(parents=True, exist_ok=True)
        if goal.name == MODULES and any(own_packages(source, source / name)):
            _link_modules(source, source / name, target, goal)
        else:
            goal.symlink_to(source / name)


def _link_modules(checkout: Path, modules: Path, target: Path, goal: Path) -> None:
    """A folder of links, one an entry: the project's own packages lead to where we work."""
    own = dict(own_packages(checkout, modules))
    for path in entries(modules):
        name = str(path.relative_to(modules))
        link = goal / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target / own[name] if name in own else path)


def _is_pattern(name: str) -> bool:
    return any(c in name for c in "*?[")


def _inside(source: Path, name: str, key: str) -> Path:
    place = source / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise ConfigError(
            f"[workspace] {key}: {name!r} must be a path inside the repository",
            hint="Edit donewhen.toml, then: donewhen doctor",
        )
    if not _is_pattern(name) and not place.exists():
        raise ConfigError(
            f"[workspace] {key}: {name!r} does not exist in {source}",
            hint=f"Create it or remove it from [workspace] {key} in donewhen.toml.",
        )
    return place


def _copy(found: Path, goal: Path) -> None:
    goal.parent.mkdir(parents=True, exist_ok=True)
    if found.is_dir() and not found.is_symlink():
        shutil.copytree(found, goal, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(found, goal, follow_symlinks=False)


def link_signature(source: Path, links: tuple[str, ...]) -> str:
    """A digest of path, size and mtime of everything behind the links, caches of bytecode apart."""
    import hashlib

    digest = hashlib.blake2b(digest_size=16)
    for name in links:
        root = source / name
        for folder, dirs, files in os.walk(root) if root.is_dir() else [(str(source), [], [name])]:
            dirs[:] = sorted(d for d in dirs if d not in DROPPINGS)
            for file in sorted(files):
                path = os.path.join(folder, file)  # noqa: PTH118  # surrogates, and speed
                try:
                    info = os.lstat(path)
                except OSError:
                    continue
                digest.update(
                    f"{path}\0{info.st_size}\0{info.st_mtime_ns}\n".encode(errors="surrogateescape")
                )
    return digest.hexdigest()
