"""Exit code and report together, judged. Both must agree, and something must have run.

Pass = the exit code is in the pass set, the report is complete, no case is bad, and at least one
test was executed. xfail counts as executed, since the test ran and did what it was said to do
(`xfail(run=False)` and skips do not count). What cannot be is an error, never a pass.
"""

from __future__ import annotations

from dataclasses import replace

from donewhen.core.verdict import Counts, Finding, GateState
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.findings import Project, ended, last_line, of_exit, of_tests, test_id
from donewhen.gates.junitxml import BadReport, Report


def outcome(gate: GateDef, done: Completed, report: Report) -> Reading:
    """The last word on a finished run with a report that could be read."""
    reading = measured(gate, done, report)
    failed = max(reading.counts.failed, report.claimed)
    passing = done.code in gate.pass_codes
    if report.unfinished:
        return failing(reading, f"{ended(done.code)}, a test began and never ended", done)
    if failed and passing:
        why = f"{ended(done.code)}, but the report has {failed} failure{'s' * (failed != 1)}"
        return replace(reading, state=GateState.ERROR, why=why)
    if done.code < 0:
        return failing(reading, f"{ended(done.code)} after its report", done)
    if reading.counts.failed:
        why = f"{reading.counts.failed} failed of {plural(reading.counts.tests)}"
        return replace(reading, state=GateState.FAIL, why=why)
    if not passing:
        return unexplained(gate, done, reading, GateState.ERROR)
    if reading.counts.tests == 0:
        return nothing_ran(gate, reading.counts, passing)
    expected = report.count("xfailed")
    also = f" ({expected} failed as expected)" if expected else ""
    return replace(
        reading, state=GateState.PASS, why=f"{plural(reading.counts.tests)} passed{also}"
    )


def measured(gate: GateDef, done: Completed, report: Report) -> Reading:
    """Counts, findings and the tests that passed; not yet judged, so an error."""
    project = Project(done.tree, gate.cwd)
    _merge(report)
    bad = [c for c in report.cases if c.bad]
    names = {test_id(c, project) for c in report.cases if c.outcome == "passed"}
    counts = Counts(
        tests=report.count("passed", "failed", "error", "xfailed"),
        failed=len(bad),
        skipped=report.count("skipped"),
    )
    failed = of_tests(gate, bad, project)
    # A test that passed and failed in one report (another parameter set, a re-run) did not pass.
    passed = names - {f.test for f in failed}
    return Reading(GateState.ERROR, "", counts, failed, tuple(sorted(passed)))


def _merge(report: Report) -> None:
    """pytest writes a test that failed and then broke in teardown as two cases in a row."""
    kept = report.cases[:1]
    for case in report.cases[1:]:
        last = kept[-1]
        if case.bad and last.bad and (case.name, case.classname) == (last.name, last.classname):
            continue
        kept.append(case)
    report.cases = kept


def unexplained(gate: GateDef, done: Completed, reading: Reading, state: GateState) -> Reading:
    """The exit code says no and no test says why: coverage too low, a warning, a broken tool."""
    finding = of_exit(gate, done)
    return replace(
        reading,
        state=state,
        why=f"{ended(done.code)}, but no test failed{said(done)}",
        findings=(*reading.findings, finding),
    )


def failing(reading: Reading, why: str, done: Completed) -> Reading:
    """An error that keeps what was measured before it."""
    return replace(reading, state=GateState.ERROR, why=f"{why}{said(done)}")


def unreadable(gate: GateDef, done: Completed, error: BadReport) -> Reading:
    """No report that can be believed: an error, with what the program said last."""
    findings: tuple[Finding, ...] = ()
    if done.code not in gate.pass_codes:
        findings = (of_exit(gate, done),)
    return Reading(GateState.ERROR, f"{ended(done.code)}, {error}{said(done)}", findings=findings)


def said(done: Completed) -> str:
    last = last_line(done)
    return f": {last}" if last else ""


def nothing_ran(gate: GateDef, counts: Counts, passing: bool = False) -> Reading:
    """No tests, or all skipped: its own state with an explicit policy."""
    why = _skipped(counts.skipped) if counts.skipped else "no tests ran"
    if gate.script and not counts.skipped:
        why = f"your {gate.script} passes with 0 tests" if passing else f"{gate.script}: {why}"
    if gate.empty == "pass":
        return Reading(GateState.PASS, f'{why} (empty = "pass")', counts, weak=True)
    return Reading(GateState.ERROR, why, counts)


def _skipped(count: int) -> str:
    return f"all {count} tests skipped" if count > 1 else "the only test was skipped"


def plural(count: int) -> str:
    return f"{count} test{'s' * (count != 1)}"
