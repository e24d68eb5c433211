"""shellcheck: its json1. Exit 1 is findings of any level, 2 a file that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from donewhen.core.verdict import GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.options import without
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, document, field, number, objects, words
from donewhen.gates.severity import level


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    at = program_at(gate.argv) + 1
    kept = without(gate.argv[at:], {"-f", "--format", "-C", "--color"})
    return Invocation((*gate.argv[:at], "--format=json1", *kept))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        rows = objects(field(document(done), "comments"), "a report of shellcheck")
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    return judged(gate, done, [_found(row) for row in rows])


def _found(row: dict[str, Any]) -> Found:
    return Found(
        f"SC{number(row.get('code'))}",
        words(row.get("message")),
        words(row.get("file")),
        number(row.get("line")),
        number(row.get("column")),
        level("info" if row.get("level") == "style" else row.get("level")),
    )
