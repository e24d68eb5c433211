"""Sight in JavaScript: node_modules whose links lead to the project's own packages elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from donewhen.gates.base import GateDef
from donewhen.gates.parse import program_of

MODULES = "node_modules"
PROGRAMS = frozenset({
    "node", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "tsx", "vitest", "jest", "mocha", "ava", "tsc",
    "tsgo", "eslint", "biome", "oxlint", "vite",
})  # fmt: skip


def blind(tree: Path, checkout: Path, gates: Sequence[GateDef]) -> dict[str, str]:
    """Gate name -> the folder of the user's checkout that its packages would come from."""
    found = {}
    for gate in gates:
        if program_of(gate.argv) not in PROGRAMS:
            continue
        for folder in (tree / gate.cwd, tree):
            if place := _elsewhere(folder / MODULES, tree, checkout):
                found[gate.name] = place
    return found


def _elsewhere(modules: Path, tree: Path, checkout: Path) -> str:
    places = (checkout.resolve() / inside for _name, inside in own_packages(checkout, modules))
    return next((str(p) for p in places if not p.is_relative_to(tree.resolve())), "")


def own_packages(checkout: Path, modules: Path) -> Iterator[tuple[str, Path]]:
    """Entries of a node_modules that are links into the project itself: (name, where in it).

    Workspaces, and dependencies by path: through a link to node_modules they would come from the
    user's checkout. Scopes (`@org/name`) and what `.bin` starts count.
    """
    top = checkout.resolve()
    for path in entries(modules):
        place = path.resolve()
        if path.is_symlink() and place.is_relative_to(top) and place.exists():
            inside = place.relative_to(top)
            if MODULES not in inside.parts:
                yield str(path.relative_to(modules)), inside


def entries(modules: Path) -> Iterator[Path]:
    for path in sorted(modules.iterdir()) if modules.is_dir() else ():
        nested = path.name.startswith("@") or path.name == ".bin"
        if nested and path.is_dir() and not path.is_symlink():
            yield from sorted(path.iterdir())
        else:
            yield path
