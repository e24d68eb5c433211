"""What was red before: which rule each gate is held to, and which findings are new.

`clean`: nothing may be found. `no-new`: what was found at the baseline is excused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from donewhen.core.codec import build
from donewhen.core.verdict import Finding, GateResult, GateState, Novelty, Severity, deciding
from donewhen.gates.base import GateDef

MODES = ("auto", "clean", "no-new")
FLAKY = "flaky"  # the rule of a test that failed and then passed alone


@dataclass(frozen=True)
class Before:
    """One gate at the baseline: fingerprints of its findings, ids of its tests by how they ended.

    `flaky` ones failed and then passed alone: that they fail again is not charged.
    """

    state: GateState
    marks: frozenset[str] = frozenset()
    failed: frozenset[str] = frozenset()
    passed: frozenset[str] = frozenset()
    flaky: frozenset[str] = frozenset()


Baseline = Mapping[str, Before]


def from_results(results: Sequence[GateResult]) -> Baseline:
    """The baseline out of the verdict that was measured on the base tree."""
    return {r.name: _before(r) for r in results}


def from_verdict(verdict: Mapping[str, Any]) -> Baseline:
    """The same out of a kept verdict.json."""
    return from_results([build(GateResult, gate) for gate in verdict["gates"]])


def _before(result: GateResult) -> Before:
    tests = [f for f in result.findings if f.test]
    return Before(
        result.state,
        frozenset(f.fingerprint for f in result.findings),
        frozenset(f.test for f in tests if f.severity is Severity.ERROR),
        frozenset(result.passed_tests),
        frozenset(f.test for f in tests if f.rule == FLAKY),
    )


def goal_gates(gates: Sequence[GateDef], before: Baseline, mode: str) -> frozenset[str]:
    """The gates whose turning green proves the goal: the named ones, and tests red at the start.

    A gate that was added to the detected ones (`+CMD`) does not release their red tests.
    """
    named = frozenset(g.name for g in gates if g.named)
    if mode == "no-new":
        return named
    return named | {g.name for g in gates if g.kind == "test" and _red(g, before)}


def _red(gate: GateDef, before: Baseline) -> bool:
    return gate.name in before and before[gate.name].state is not GateState.PASS


def rules(gates: Sequence[GateDef], before: Baseline, mode: str) -> dict[str, str]:
    """Gate name -> clean or no-new."""
    if mode != "auto":
        return {g.name: mode for g in gates}
    goals = goal_gates(gates, before, mode)
    return {g.name: "no-new" if _red(g, before) and g.name not in goals else "clean" for g in gates}


def applied(result: GateResult, rule: str, before: Before | None) -> GateResult:
    """The result under its rule: findings marked new or pre-existing, excused where the rule says."""
    if before is None:
        return result
    findings = tuple(replace(f, novelty=_novelty(f, before)) for f in result.findings)
    result = replace(result, findings=findings, rule=rule)
    if rule != "no-new" or result.state is not GateState.FAIL:
        return result
    new = [f for f in deciding(findings) if f.novelty is Novelty.NEW]
    if new or not findings:
        return result
    return replace(
        result,
        state=GateState.PASS,
        why=f"{result.why}; {_all(len(findings))} pre-existing, excused",
    )


def _all(count: int) -> str:
    return f"all {count}" if count > 1 else "it is"


def _novelty(finding: Finding, before: Before) -> Novelty:
    known = finding.test in before.failed if finding.test else finding.fingerprint in before.marks
    return Novelty.PRE_EXISTING if known else Novelty.NEW
