"""oxlint: its JSON with the number of files; warnings are exit 0, no file at all is exit 1."""

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
    return Invocation(
        (*gate.argv[:at], "--format=json", *without(gate.argv[at:], {"-f", "--format"}))
    )


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        said = document(done)
        found = [_found(row) for row in objects(field(said, "diagnostics"), "a report of oxlint")]
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    files = field(said, "number_of_files")
    return judged(gate, done, found, files=files if isinstance(files, int) else None)


def _found(row: dict[str, Any]) -> Found:
    labels = row.get("labels")
    first = labels[0] if isinstance(labels, list) and labels else {}
    return Found(
        words(row.get("code")) or "syntax",
        words(row.get("message")),
        words(row.get("filename")),
        number(field(first, "span", "line")),
        number(field(first, "span", "column")),
        level(row.get("severity")),
    )
