"""Gates by format: a table of modules, imported on use. A new one is a file and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from donewhen.errors import UnknownName
from donewhen.gates.base import Adapter

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
