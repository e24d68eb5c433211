"""unittest: the user's arguments, run through our reporting runner by the user's interpreter."""

from __future__ import annotations

from pathlib import Path

from donewhen.core.verdict import Counts, GateState
from donewhen.gates import junit
from donewhen.gates.base import Completed, GateDef, Invocation, Reading

RUNNER = Path(__file__).parent / "assets" / "unittest_junit.py"
NOTHING_RAN = 5


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"
    at = gate.argv.index("unittest")
    before = gate.argv[: at - 1]  # the interpreter and its options, without -m
    argv = (*before, str(RUNNER), str(report), *gate.argv[at + 1 :])
    return Invocation(argv, {"PYTHONDONTWRITEBYTECODE": "1"}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    if done.code == NOTHING_RAN:
        return junit.nothing_ran(gate, Counts())
    try:
        report = junit.parse(done.report)
    except junit.BadReport as error:
        said = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return Reading(GateState.ERROR, f"exit {done.code}, {error}: {''.join(said)[:300]}")
    return junit.outcome(gate, done, report)
