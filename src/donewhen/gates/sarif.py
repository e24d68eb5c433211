"""Any tool that writes SARIF 2.1.0: at `{report}` in its command, else on standard output.

The path is new for every run, so what is found there was written by this run.
"""

from __future__ import annotations

from pathlib import Path

from donewhen.core.verdict import GateState
from donewhen.gates import reports, sariflog
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import broken, judged
from donewhen.gates.options import placed


def prepare(gate: GateDef, folder: Path) -> Invocation:
    return placed(gate, folder / "report.sarif")


def read(gate: GateDef, done: Completed) -> Reading:
    """Any exit code may mean findings, if the log has some; a log that says it is not whole is none."""
    try:
        log = sariflog.parse(reports.document(done))
    except reports.BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    if log.failed and (done.code in gate.pass_codes or not log.found):
        why = f"its log says that {log.failed}"
        return broken(gate, done, Reading(GateState.ERROR, why))
    codes = range(1, 126) if log.found else ()
    return judged(gate, done, log.found, codes=codes)
