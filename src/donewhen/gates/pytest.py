"""pytest: the user's own command plus a JUnit report at a path that is new for every run.

Exit codes: 0 passed, 1 failed, 2 interrupted or collection errors, 3 internal, 4 usage, 5 none
collected. xfail counts as executed: the test ran and did what it was said to do.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from donewhen.core.verdict import Counts, GateState
from donewhen.gates import junit
from donewhen.gates.base import Completed, GateDef, Invocation, Reading

NOTHING_COLLECTED = 5
SAYS = {2: "interrupted", 3: "internal error", 4: "usage error"}


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"
    # xunit1 writes file and line of each test; the cache plugin would write into the tree.
    extra = ("-p", "no:cacheprovider", f"--junitxml={report}", "-o", "junit_family=xunit1")
    return Invocation((*gate.argv, *extra), {"PYTHONDONTWRITEBYTECODE": "1"}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    if done.code == NOTHING_COLLECTED:
        return junit.nothing_ran(gate, Counts())
    try:
        report = junit.parse(done.report)
    except junit.BadReport as error:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return Reading(GateState.ERROR, f"exit {done.code}, {error}: {''.join(said)[:300]}")
    if done.code == 2 and report.count("error"):
        return junit.outcome(gate, done, report)  # a complete report of collection errors
    if done.code in SAYS or done.code < 0:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        why = SAYS.get(done.code, f"killed by signal {-done.code}")
        reading = junit.outcome(gate, done, report)
        return replace(reading, state=GateState.ERROR, why=f"{why}: {''.join(said)[:300]}")
    return junit.outcome(gate, done, report)
