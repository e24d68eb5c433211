"""Any producer of TAP 12 to 14: at `{report}` if the command has it, else on standard output."""

from __future__ import annotations

import shlex
from pathlib import Path

from donewhen.gates import tapstream
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.outcome import outcome, unreadable
from donewhen.gates.reports import BadReport, text

PLACEHOLDER = "{report}"


def prepare(gate: GateDef, reports: Path) -> Invocation:
    if not any(PLACEHOLDER in word for word in gate.argv):
        return Invocation(gate.argv)
    report = reports / "report.tap"
    path = shlex.quote(str(report)) if gate.argv[:2] == ("sh", "-c") else str(report)
    return Invocation(tuple(a.replace(PLACEHOLDER, path) for a in gate.argv), report=report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = tapstream.parse(text(done))
    except BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)
