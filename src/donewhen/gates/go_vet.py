"""go vet -json, which is exit 0 whatever it finds; what does not compile is text and exit 1.

Up to some version the JSON goes to standard error, with a `# package` line before each object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from donewhen.core.verdict import GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, text, words

PLACE = re.compile(r"(.*):(\d+):(\d+)")
LINE = re.compile(r"^(?:vet: )?([^\s:][^:\n]*\.go):(\d+):(\d+): (.*)", re.M)


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    at = program_at(gate.argv) + 2  # behind `go vet`
    return Invocation((*gate.argv[:at], "-json", *(w for w in gate.argv[at:] if w != "-json")))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        found = [one for part in (text(done), done.stderr) for one in _found(part)]
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    compiled = [
        Found("compile", m[4], m[1], int(m[2]), int(m[3])) for m in LINE.finditer(done.stderr)
    ]
    return judged(gate, done, [*found, *compiled], codes=(1, 2) if compiled else ())


def _found(said: str) -> Iterator[Found]:
    rows = said.splitlines()
    body = "\n".join(row for row in rows if not row.startswith("#"))
    at = body.find("{\n")
    if at < 0 and body.startswith("{"):
        at = 0
    while at >= 0:
        try:
            packages, end = json.JSONDecoder().raw_decode(body, at)
        except (ValueError, RecursionError) as error:
            raise BadReport(f"its JSON is broken or cut off: {error}") from error
        yield from _of(packages)
        at = body.find("{", end)


def _of(packages: Any) -> Iterator[Found]:
    if not isinstance(packages, dict):
        return
    for checks in packages.values():
        for check, rows in checks.items() if isinstance(checks, dict) else ():
            for row in rows if isinstance(rows, list) else ():
                place = PLACE.fullmatch(words(row.get("posn")))
                path, line, col = place.groups() if place else ("", 0, 0)
                yield Found(check, words(row.get("message")), path, int(line), int(col))
