"""A verdict, boiled down to what the core decides on."""

from __future__ import annotations

from collections.abc import Iterable

from donewhen.core.verdict import (
    Finding,
    GateResult,
    GateState,
    Novelty,
    Purpose,
    Score,
    Summary,
    Verdict,
    deciding,
)


def summary(verdict: Verdict, evidence: str = "") -> Summary:
    """`evidence` is the content hash of the kept verdict.json."""
    wanted = (g for g in verdict.gates if g.required and not g.skipped)
    red = [g for g in wanted if g.state is not GateState.PASS]
    errors = tuple(g.name for g in red if g.state is GateState.ERROR)
    marks = {f.fingerprint for g in red for f in blocking(g)}
    marks |= {f.fingerprint for f in verdict.integrity}
    fatal = [g.name for g in red if g.start_failed or g.blind]
    return Summary(
        state=verdict.state,
        proof=verdict.proof,
        tree=verdict.tree,
        fingerprints=tuple(sorted(marks)),
        score=_score(red, verdict.integrity),
        gates=len(verdict.gates),
        error_gates=errors,
        errors_only=bool(errors) and len(errors) == len(red) and not verdict.integrity,
        fatal_gate=fatal[0] if fatal and verdict.purpose is Purpose.BASELINE else "",
        integrity=bool(verdict.integrity) and not red,
        unclear_tests=verdict.review and bool(verdict.integrity) and not red,
        evidence=evidence,
    )


def blocking(gate: GateResult) -> Iterable[Finding]:
    """The findings that keep a red gate red; what the baseline excuses does not."""
    excused = gate.rule == "no-new"
    return (
        f for f in deciding(gate.findings) if not (excused and f.novelty is Novelty.PRE_EXISTING)
    )


def _score(red: list[GateResult], integrity: tuple[Finding, ...]) -> Score:
    found = [f for g in red for f in blocking(g)]
    failing = sum(bool(f.test) for f in found)
    return Score(
        errors=len(found) - failing + len(integrity),
        failing=failing,
        security=sum(g.counts.security for g in red),
        warnings=sum(g.counts.warnings for g in red),
    )
