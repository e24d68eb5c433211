"""Any runner that writes JUnit XML: `{report}` in the command is where the report must go.

The path is new for every run, so what is found there was written by this run.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from donewhen.gates import junitxml
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.outcome import outcome, unreadable

PLACEHOLDER = "{report}"


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"
    # In a script the path is one word, whatever it holds.
    text = shlex.quote(str(report)) if gate.argv[:2] == ("sh", "-c") else str(report)
    return Invocation(tuple(a.replace(PLACEHOLDER, text) for a in gate.argv), report=report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = junitxml.parse(done.report)
    except junitxml.BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)
