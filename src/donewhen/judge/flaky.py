"""Failures that are not charged: flaky on the base, or in quarantine up to a day.

A failed test is run again, alone. One that passes then is flaky: on the base tree that is
reported, later it blocks like any failure unless it was flaky on the base already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Finding, GateResult, GateState, Purpose, Severity
from donewhen.gates import only
from donewhen.gates.base import GateDef
from donewhen.judge.baseline import FLAKY, Before

MOST = 10  # more failed tests than these at once are no flake
AGAIN, KNOWN = 1, 3  # runs that a test has to pass once; known to be flaky, it has more
QUARANTINED = "quarantined"


def settled(
    gate: GateDef,
    result: GateResult,
    before: Before | None,
    purpose: Purpose,
    tree: Path,
    run: Callable[[GateDef], GateResult],
    today: str,
) -> GateResult:
    """The result with what is not charged marked as warnings; a pass where nothing else is left.

    `run` runs a definition once more on the same tree; `today` is YYYY-MM-DD.
    """
    if result.state is not GateState.FAIL or not any(f.test for f in result.findings):
        return result
    held = _quarantine(gate, today)
    known = before.flaky if before else frozenset()
    passed = _passed_alone(gate, result, before, set(held), tree, run)
    excused = purpose is Purpose.BASELINE
    if excused and passed:  # one that fails in company each time is a failure, not a flake
        passed -= {f.test for f in run(gate).findings if f.test}
    found = tuple(
        _held(f, held[f.test])
        if f.test in held
        else _flaky(f, charged=not excused and f.test not in known)
        if f.test in passed
        else f
        for f in result.findings
    )
    if found == result.findings:
        return result
    result = replace(result, findings=found)
    if any(f.severity is Severity.ERROR for f in found):
        return replace(result, why=f"{result.why}{_said(found)}")
    good = len(result.passed_tests)
    return replace(result, state=GateState.PASS, why=f"{good} passed{_said(found)}")


def _quarantine(gate: GateDef, today: str) -> dict[str, str]:
    """Test id -> its last day, for those whose last day is not over."""
    rows = (row.partition(" ") for row in gate.quarantine)
    return {test: day for day, _space, test in rows if day >= today}


def _passed_alone(
    gate: GateDef,
    result: GateResult,
    before: Before | None,
    held: set[str],
    tree: Path,
    run: Callable[[GateDef], GateResult],
) -> set[str]:
    """The failed tests that passed when they were run again without the others.

    Those that failed on the base too, and alone as well, are not tried again.
    """
    sure = before.failed if before else frozenset()
    failed = {f.test for f in result.findings if f.test} - held - sure
    if not failed or len(failed) > MOST:
        return set()
    known = before.flaky if before else frozenset()
    left, passed = set(failed), set[str]()
    for number in range(KNOWN if failed & known else AGAIN):
        wanted = left if number < AGAIN else left & known
        again = only(gate, sorted(wanted), tree) if wanted else None
        if again is None:
            break
        passed |= wanted & set(run(again).passed_tests)
        left -= passed
    return passed


def _held(finding: Finding, day: str) -> Finding:
    message = f"in quarantine up to {day}: {finding.message}"
    return replace(finding, rule=QUARANTINED, severity=Severity.WARNING, message=message)


def _flaky(finding: Finding, *, charged: bool) -> Finding:
    return replace(
        finding,
        rule=FLAKY,
        severity=Severity.ERROR if charged else Severity.WARNING,
        message=f"failed, then passed when it ran alone: {finding.message}",
        fingerprint=digest(FLAKY, finding.test),
    )


def _said(found: Iterable[Finding]) -> str:
    """`, 1 flaky, 2 quarantined`."""

    def parts() -> Iterator[str]:
        rules = [f.rule for f in found]
        for rule in (FLAKY, QUARANTINED):
            if count := rules.count(rule):
                yield f", {count} {rule}"

    return "".join(parts())
