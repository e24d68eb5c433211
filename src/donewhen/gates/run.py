"""Run gates: each through run_once with its own time limit, report folder and environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from donewhen.core.fingerprint import error_fp
from donewhen.core.verdict import Finding, GateResult, GateState
from donewhen.gates import load
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.env import gate_environment
from donewhen.system import fs, proc

OUTPUT = 1 << 20  # bytes of each stream an adapter sees


def run_gates(
    gates: Sequence[GateDef],
    one: Callable[[GateDef], GateResult],
    jobs: int,
) -> tuple[GateResult, ...]:
    """Every gate, at most `jobs` at once, results in the order of the gates."""
    if jobs <= 1 or len(gates) <= 1:
        return tuple(one(gate) for gate in gates)
    with ThreadPoolExecutor(max_workers=min(jobs, len(gates))) as pool:
        return tuple(pool.map(one, gates))


def run_gate(
    gate: GateDef,
    tree: Path,
    attempt: Path,
    environ: Mapping[str, str],
    checkout: Path,
    extra: Mapping[str, str],
    marker: str,
    cancelled: Callable[[], bool],
) -> GateResult:
    """One gate on one tree. `attempt` is a new folder outside the tree; never raises for the gate."""
    adapter = load(gate.format)
    reports = attempt / "reports"
    fs.make_private_dir(reports)
    start = adapter.prepare(gate, reports)
    env = gate_environment(environ, checkout, gate.env, {**extra, **start.env})
    ended = proc.run_once(
        proc.Request(
            argv=start.argv, cwd=tree / gate.cwd, env=env, marker=marker, timeout=gate.timeout
        ),
        attempt,
        cancelled=cancelled,
    )
    done = Completed(
        code=ended.code,
        stdout=ended.stdout.head_tail(OUTPUT).decode("utf-8", "replace"),
        stderr=ended.stderr.head_tail(OUTPUT).decode("utf-8", "replace"),
        report=start.report,
        timed_out=ended.timed_out,
        spawn_error=ended.spawn_error,
        tree=tree / gate.cwd,
    )
    reading = _reading(gate, ended, done)
    return GateResult(
        name=gate.name,
        state=reading.state,
        why=reading.why,
        command=gate.command,
        weak=gate.weak or reading.weak,
        required=gate.required,
        counts=reading.counts,
        findings=_located(gate, reading),
        passed_tests=reading.passed_tests,
        seconds=round(ended.seconds, 3),
        log=str(attempt / "stdout.0"),
        start_failed=bool(ended.spawn_error) or _not_there(gate, done),
    )


def _reading(gate: GateDef, ended: proc.Outcome, done: Completed) -> Reading:
    """What the process itself says comes before any report."""
    if done.spawn_error:
        return Reading(GateState.ERROR, f"cannot start: {done.spawn_error}")
    if done.timed_out:
        return Reading(GateState.ERROR, f"timed out after {gate.timeout:g} s")
    if ended.lost or ended.cancelled:
        return Reading(GateState.ERROR, "was ended before it could finish")
    return load(gate.format).read(gate, done)


def _not_there(gate: GateDef, done: Completed) -> bool:
    """`python -m tool` where the module is missing: the tool cannot start."""
    return (
        done.code == 1
        and "No module named" in done.stderr
        and "-m" in gate.argv
        and not done.stdout
    )


def _located(gate: GateDef, reading: Reading) -> tuple[Finding, ...]:
    """Paths as seen from the top of the tree; an error is a finding too, so that it can be stuck."""
    findings = reading.findings
    if gate.cwd != ".":
        findings = tuple(
            replace(f, path=f"{gate.cwd}/{f.path}" if f.path else "") for f in findings
        )
    if reading.state is GateState.ERROR:
        error = Finding(
            gate.name, "gate-error", reading.why, fingerprint=error_fp(gate.name, reading.why)
        )
        return (error, *findings)
    return findings
