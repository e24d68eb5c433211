"""Any producer of TAP 12 to 14: at `{report}` if the command has it, else on standard output."""

from __future__ import annotations

from pathlib import Path

from donewhen.gates import tapstream
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.options import placed
from donewhen.gates.outcome import outcome, unreadable
from donewhen.gates.reports import BadReport, text


def prepare(gate: GateDef, reports: Path) -> Invocation:
    return placed(gate, reports / "report.tap")


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = tapstream.parse(text(done))
    except BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)
