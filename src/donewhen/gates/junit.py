"""Any runner that writes JUnit XML: `{report}` in the command is where the report must go.

The path is new for every run, so what is found there was written by this run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from donewhen.gates import junitxml
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.options import placed
from donewhen.gates.outcome import outcome, unreadable


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"  # wanted also from a command that does not say where
    return replace(placed(gate, report), report=report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = junitxml.parse(done.report)
    except junitxml.BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)
