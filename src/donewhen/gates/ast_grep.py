"""ast-grep scan: one JSON object a match. Only matches of severity error are exit 1.

A path that is missing is said on standard error with exit 0, so it is looked for there; how many
files were scanned comes from `--inspect summary`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from donewhen.core.verdict import GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.options import without
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, field, rows, words
from donewhen.gates.severity import level

SCANNED = re.compile(r"scannedFileCount=(\d+)")
REFUSED = re.compile(r"^ERROR: (.*)", re.M)


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    at = program_at(gate.argv) + 1
    own = without(gate.argv[at:], {"--inspect", "--format", "--report-style", "--color"})
    kept = (word for word in own if word.partition("=")[0] != "--json")
    return Invocation((*gate.argv[:at], *kept, "--json=stream", "--inspect", "summary"))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        found = [_found(row) for row in rows(done)]
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    if refused := REFUSED.search(done.stderr):
        return broken(gate, done, Reading(GateState.ERROR, refused[1][:300]))
    scanned = SCANNED.search(done.stderr)
    return judged(gate, done, found, files=int(scanned[1]) if scanned else None)


def _found(row: dict[str, Any]) -> Found:
    if "ruleId" not in row or "file" not in row:
        raise BadReport("it is no report of ast-grep")
    start = field(row, "range", "start", default={})
    return Found(
        words(row["ruleId"]),
        "\n".join(filter(None, (words(row.get("message")), words(row.get("note"))))),
        words(row["file"]),
        _from_one(field(start, "line")),
        _from_one(field(start, "column")),
        level(row.get("severity")),
    )


def _from_one(value: Any) -> int:
    """Lines and columns count from 0 there."""
    return value + 1 if isinstance(value, int) else 0
