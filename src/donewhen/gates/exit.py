"""A command judged by its exit code alone: weak, and shown as such."""

from __future__ import annotations

from pathlib import Path

from donewhen.core.fingerprint import exit_fp
from donewhen.core.verdict import Counts, Finding, GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading

TEXT = 4000  # characters of output kept in the finding


def prepare(gate: GateDef, reports: Path) -> Invocation:
    return Invocation(gate.argv)


def read(gate: GateDef, done: Completed) -> Reading:
    if done.code in gate.pass_codes:
        return Reading(GateState.PASS, f"exit {done.code}", weak=True)
    if done.code in (126, 127):  # what a shell says when it cannot find or start a program
        last = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return Reading(GateState.ERROR, f"exit {done.code}: {''.join(last)[:300]}", weak=True)
    return Reading(
        GateState.FAIL,
        f"exit {done.code}",
        Counts(errors=1),
        (failure(gate, done),),
        weak=True,
    )


def failure(gate: GateDef, done: Completed) -> Finding:
    """One finding for a command that failed: its code and last lines."""
    output = f"{done.stdout}\n{done.stderr}".strip()
    lines = [line for line in output.splitlines() if line.strip()]
    return Finding(
        tool=gate.name,
        rule=f"exit-{done.code}",
        message=lines[-1].strip()[:300] if lines else f"exit {done.code} without output",
        text=output[-TEXT:],
        fingerprint=exit_fp(gate.name, done.code, output, str(done.tree)),
    )
