"""gofmt -l, which is exit 0 whatever it finds: each line is a file that is not formatted."""

from __future__ import annotations

import re
from pathlib import Path

from donewhen.core.verdict import GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.reports import BadReport, text

LINE = re.compile(r"^([^\s:][^:\n]*\.go):(\d+):(\d+): (.*)", re.M)


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    return Invocation(gate.argv)


def read(gate: GateDef, done: Completed) -> Reading:
    if "-l" not in gate.argv:
        return broken(gate, done, Reading(GateState.ERROR, "it needs -l to say which files"))
    try:
        rows = text(done).splitlines()
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    found = [Found("format", "is not formatted", row.strip()) for row in rows if row.strip()]
    bad = [Found("syntax", m[4], m[1], int(m[2]), int(m[3])) for m in LINE.finditer(done.stderr)]
    return judged(gate, done, [*found, *bad], codes=(2,) if bad else ())
