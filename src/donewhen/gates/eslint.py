"""eslint: its JSON, one entry a file. Exit 2 is a crash or no configuration, never findings.

A file that was ignored or that no configuration fits has one warning without a rule: not looked at.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.core.verdict import GateState, Severity
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.options import without
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, document, number, objects, words

OWN = frozenset({"-f", "--format", "-o", "--output-file"})


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.json"
    at = program_at(gate.argv) + 1
    options = ("--format=json", f"--output-file={report}")
    return Invocation((*gate.argv[:at], *options, *without(gate.argv[at:], OWN)), {}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        files = objects(document(done), "a report of eslint")
        if any("filePath" not in file for file in files):
            raise BadReport("it is no report of eslint")
        found = [one for file in files for one in _found(file)]
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    roots = (f"{done.tree}{os.sep}", f"{os.path.realpath(done.tree)}{os.sep}")
    if other := next((p for f in files if not (p := words(f["filePath"])).startswith(roots)), ""):
        return broken(gate, done, Reading(GateState.ERROR, f"it looked at another tree: {other}"))
    looked = sum(not _passed_over(file) for file in files)
    return judged(gate, done, found, files=looked)


def _passed_over(file: dict[str, Any]) -> bool:
    messages = objects(file.get("messages"), "a list of messages")
    return any(
        m.get("ruleId") is None and not m.get("fatal") and not m.get("line") for m in messages
    )


def _found(file: dict[str, Any]) -> Iterator[Found]:
    for said in objects(file.get("messages"), "a list of messages"):
        if said.get("ruleId") is None and not said.get("fatal") and not said.get("line"):
            continue
        yield Found(
            words(said.get("ruleId")) or ("syntax" if said.get("fatal") else "unused-directive"),
            words(said.get("message")),
            words(file["filePath"]),
            number(said.get("line")),
            number(said.get("column")),
            Severity.ERROR if said.get("severity") == 2 else Severity.WARNING,
        )
