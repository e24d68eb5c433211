"""biome check, lint, format, ci: its JSON, all of it (it prints twenty diagnostics by itself).

A path that cannot be read is exit 1 like a finding, but is the command's fault.
"""

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

OWN = frozenset({"--reporter", "--max-diagnostics"})
FAULTS = ("fs/", "internalError/", "configuration", "deserialize")


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    at = program_at(gate.argv) + 1
    ours = ("--reporter=json", "--max-diagnostics=none", "--colors=off")
    return Invocation((*gate.argv[:at], *without(gate.argv[at:], OWN), *ours))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        said = document(done)
        rows = objects(field(said, "diagnostics"), "a report of biome")
        if field(said, "summary") is None or field(
            said, "summary", "diagnosticsNotPrinted", default=0
        ):
            raise BadReport("its report does not have all that it found")
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    found = [_found(row) for row in rows]
    fault = next((one for one in found if one.rule.startswith(FAULTS)), None)
    if fault:
        why = f"{fault.message} {fault.path}".strip()
        return broken(gate, done, Reading(GateState.ERROR, why))
    summary = said["summary"]
    counts = [field(summary, key, default=0) for key in ("changed", "unchanged")]
    files = sum(n for n in counts if isinstance(n, int))
    return judged(gate, done, found, files=files)


def _found(row: dict[str, Any]) -> Found:
    path = field(row, "location", "path", default="")
    return Found(
        words(row.get("category")),
        words(row.get("message")) or words(row.get("description")),
        words(path) or words(field(path, "file")),  # version 1 has a table there
        number(field(row, "location", "start", "line")),
        number(field(row, "location", "start", "column")),
        level(row.get("severity")),
        security=words(row.get("category")).startswith("lint/security/"),
    )
