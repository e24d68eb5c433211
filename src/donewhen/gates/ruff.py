"""ruff check: its JSON, written to a path that is new for every run.

Exit codes: 0 nothing, 1 findings, 2 usage or configuration. It says on standard error alone that it
saw no Python file, so what would quiet it is left out of the user's command.
"""

from __future__ import annotations

import re
from pathlib import Path

from donewhen.core.verdict import GateState
from donewhen.gates import reports
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.command import program_at
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.options import without
from donewhen.gates.reports import field, number, words
from donewhen.gates.severity import level

SYNTAX = "invalid-syntax"  # older versions give such a finding no code
NO_FILES = "No Python files found"
QUIET = frozenset({"-q", "--quiet", "-s", "--silent"})
VALUED = frozenset({"--output-format", "-o", "--output-file"})
JOINED = re.compile(r"-o.+")


def prepare(gate: GateDef, folder: Path) -> Invocation:
    report = folder / "report.json"
    at = program_at(gate.argv) + 1
    end = gate.argv.index("--", at) if "--" in gate.argv[at:] else len(gate.argv)
    words_left = without(gate.argv[at:end], VALUED)
    kept = [w for w in words_left if w not in QUIET and not JOINED.fullmatch(w)]
    ours = ("--output-format=json", f"--output-file={report}")
    return Invocation((*gate.argv[:at], *kept, *ours, *gate.argv[end:]), report=report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        rows = reports.objects(reports.document(done), "ruff's: a list of findings")
    except reports.BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    files = 0 if not rows and NO_FILES in done.stderr else None
    return judged(gate, done, [_found(row) for row in rows], files=files)


def _found(row: dict[str, object]) -> Found:
    rule = words(row.get("code")) or SYNTAX
    return Found(
        rule=rule,
        message=words(row.get("message")),
        path=words(row.get("filename")),
        line=number(field(row, "location", "row")),
        col=number(field(row, "location", "column")),
        severity=level(row.get("severity")),
        security=re.fullmatch(r"S\d+", rule) is not None,
    )
