"""A command judged by its exit code alone: weak, and shown as such.

126 and 127 are what a shell says when it cannot start a program; a signal is a crash. Both are
errors: nothing was measured.
"""

from __future__ import annotations

from pathlib import Path

from donewhen.core.verdict import Counts, Finding, GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.findings import ended, last_line, of_exit

CANNOT_START = frozenset({126, 127})


def prepare(gate: GateDef, reports: Path) -> Invocation:
    return Invocation(gate.argv)


def read(gate: GateDef, done: Completed) -> Reading:
    why = ended(done.code)
    if done.code in CANNOT_START or done.code < 0:
        why = f"{why}: {last_line(done)}".rstrip(": ")
        return Reading(GateState.ERROR, why, findings=_found(gate, done), weak=True)
    if done.code in gate.pass_codes:
        return Reading(GateState.PASS, why, weak=True)
    found = (of_exit(gate, done),)
    return Reading(GateState.FAIL, why, Counts(errors=1), found, weak=True)


def _found(gate: GateDef, done: Completed) -> tuple[Finding, ...]:
    return (of_exit(gate, done),) if done.stdout.strip() or done.stderr.strip() else ()
