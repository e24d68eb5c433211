"""Run gates: each through run_once with its own time limit, report folder and environment.

The attempt's folder is made here under a name nobody can know before, so that whatever lies in it
was written by this run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from donewhen.core.fingerprint import error_fp
from donewhen.core.verdict import Finding, GateResult, GateState
from donewhen.errors import SpawnError
from donewhen.gates import load, unfit
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.env import gate_environment, program_exists
from donewhen.gates.findings import ended as ended_as
from donewhen.system import fs, proc
from donewhen.system.redact import redact, secrets

OUTPUT = 1 << 20  # bytes of each stream an adapter sees
KEPT = 8 << 20  # a larger report is not kept as evidence


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
    """One gate on one tree. Never raises for the gate: what goes wrong with it is its result.

    `attempt` is a path outside the tree; the folder is made beside it, with its name as a prefix.
    """
    if fault := _folder_fault(tree, gate.cwd):
        return _result(gate, Reading(GateState.ERROR, fault))
    fs.make_private_dir(attempt.parent)
    folder = Path(tempfile.mkdtemp(prefix=f"{attempt.name}-", dir=attempt.parent))
    adapter = load(gate.format)
    reports = folder / "reports"
    fs.make_private_dir(reports)
    start = adapter.prepare(gate, reports)
    env = gate_environment(environ, checkout, gate.env, {**extra, **start.env}, gate.cwd)
    request = proc.Request(
        argv=start.argv, cwd=tree / gate.cwd, env=env, marker=marker, timeout=gate.timeout
    )
    try:
        ended = proc.run_once(request, folder, cancelled=cancelled)
    except SpawnError as error:
        reading = Reading(GateState.ERROR, f"cannot start: {error.message}")
        return replace(_result(gate, reading), start_failed=True)
    done = Completed(
        code=ended.code,
        stdout=ended.stdout.head_tail(OUTPUT).decode("utf-8", "replace"),
        stderr=ended.stderr.head_tail(OUTPUT).decode("utf-8", "replace"),
        report=start.report,
        timed_out=ended.timed_out,
        spawn_error=ended.spawn_error,
        tree=tree,
        output=ended.stdout,
    )
    reading = _reading(gate, ended, done)
    if why := unfit.explanation(gate, done, env["PATH"]):
        reading = replace(reading, state=GateState.ERROR, why=why)
    read = _read_from(done)
    _keep(start.report, secrets(env))
    return replace(
        _result(gate, reading),
        seconds=round(ended.seconds, 3),
        log=str(folder / "stdout.0"),
        program=program_exists(start.argv[0], env["PATH"]),
        read=read,
        start_failed=unfit.start_failed(gate, done),
    )


def _folder_fault(tree: Path, cwd: str) -> str:
    place = tree / cwd
    if not place.is_dir():
        return f"its folder {cwd} is not there"
    outside = not place.resolve().is_relative_to(tree.resolve())  # the agent can make links
    return f"its folder {cwd} lies outside the tree" if outside else ""


def _result(gate: GateDef, reading: Reading) -> GateResult:
    findings = reading.findings
    if reading.state is GateState.ERROR:  # a finding too, so that it can be stuck
        mark = error_fp(gate.name, reading.why)
        findings = (Finding(gate.name, "gate-error", reading.why, fingerprint=mark), *findings)
    return GateResult(
        name=gate.name,
        state=reading.state,
        why=reading.why,
        command=gate.command,
        weak=gate.weak or reading.weak,
        required=gate.required,
        counts=reading.counts,
        findings=findings,
        passed_tests=reading.passed_tests,
        origin=gate.why,
        hidden=gate.hidden,
    )


def _read_from(done: Completed) -> str:
    """In words: `exit 1 and a report of 1,204 bytes`."""
    code = ended_as(done.code)
    if done.report is None:
        return f"{code} and nothing else"
    try:
        return f"{code} and a report of {done.report.stat().st_size:,} bytes"
    except OSError:
        return f"{code}; no report was written"


def _reading(gate: GateDef, ended: proc.Outcome, done: Completed) -> Reading:
    """What the process itself says comes before any report."""
    if done.spawn_error:
        return Reading(GateState.ERROR, f"cannot start: {done.spawn_error}")
    if done.timed_out:
        return Reading(GateState.ERROR, f"timed out after {_duration(gate.timeout)}")
    if ended.lost or ended.cancelled:
        return Reading(GateState.ERROR, "was ended before it could finish")
    try:
        return load(gate.format).read(gate, done)
    except Exception as error:  # noqa: BLE001  # a report that breaks a reader is no pass, and no crash of ours
        return Reading(GateState.ERROR, f"cannot read its result: {type(error).__name__}: {error}")


def _duration(seconds: float) -> str:
    if seconds >= 60 and seconds % 60 == 0:
        return f"{seconds / 60:g} min"
    return f"{round(seconds, 1):g} s"


def _keep(report: Path | None, values: tuple[bytes, ...]) -> None:
    """The report stays as evidence: private and without secrets, or not at all."""
    if report is None or report.is_symlink() or not report.is_file():
        return
    if report.stat().st_size > KEPT:
        report.unlink()
    else:
        fs.write_atomic(report, redact(report.read_bytes(), values))
