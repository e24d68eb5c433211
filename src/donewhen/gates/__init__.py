"""Gates by format: config.formats is the table, a module here is an adapter, imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from donewhen.config.formats import FORMATS
from donewhen.errors import UnknownName
from donewhen.gates.base import Adapter, GateDef


def load(name: str) -> Adapter:
    """The adapter of a format. Raises UnknownName listing the known ones."""
    if name not in FORMATS:
        near = get_close_matches(name, FORMATS, n=1)
        raise UnknownName(
            f"unknown gate format {name!r}; known: {', '.join(FORMATS)}",
            hint=f"Did you mean {near[0]}?" if near else "Mend `format` of the gate.",
        )
    return cast(Adapter, import_module(f"donewhen.gates.{name.replace('-', '_')}"))


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
