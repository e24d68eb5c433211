"""Gates by format: a table of modules, imported on use. A new one is a file and a line here."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

from donewhen.errors import UnknownName
from donewhen.gates.base import Adapter, GateDef

TABLE = {
    "exit": "donewhen.gates.exit",
    "junit": "donewhen.gates.junit",
    "pytest": "donewhen.gates.pytest",
    "unittest": "donewhen.gates.unittest",
}


def load(name: str) -> Adapter:
    """The adapter of a format. Raises UnknownName listing the known ones."""
    if name not in TABLE:
        raise UnknownName(
            f"unknown gate format {name!r}; known: {', '.join(TABLE)}",
            hint="Mend `format` of the gate in donewhen.toml.",
        )
    return cast(Adapter, import_module(TABLE[name]))


def only(gate: GateDef, tests: Sequence[str], tree: Path) -> GateDef | None:
    """The gate for some of its tests alone; None where its format has no way to name them."""
    module = load(gate.format)
    narrowed: GateDef | None = module.only(gate, tests, tree) if hasattr(module, "only") else None
    return narrowed


def picked(gate: GateDef, names: Sequence[str], files: Sequence[str], tree: Path) -> GateDef | None:
    """The gate collecting all that it collects, and `files`, but running tests of these names."""
    module = load(gate.format)
    if not hasattr(module, "picked"):
        return None
    chosen: GateDef | None = module.picked(gate, names, files, tree)
    return chosen
