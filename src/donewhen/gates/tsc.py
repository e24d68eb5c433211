"""tsc and tsgo (and vue-tsc, which prints the same): text without colours, one finding a line.

Exit 2 (tsgo: 1) is findings; a bad option, a bad configuration or a missing file is the tool's own
failure. A configuration that only names other projects checks nothing without `-b`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from donewhen.core.fingerprint import COLOUR
from donewhen.core.verdict import GateState, Severity
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.node_project import solution
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, text

LINE = re.compile(r"(\S.*?)\((\d+),(\d+)\): (error|warning) (TS\d+): (.*)")
GLOBAL = re.compile(r"error (TS\d+): (.*)")
OPTIONS = re.compile(
    r"TS(5\d{3}|6\d{3}|18\d{3})"
)  # what is wrong with options, files, configuration
BUILD = frozenset({"-b", "--b", "-build", "--build"})
PROJECT = frozenset({"-p", "--p", "-project", "--project"})
LISTED = 2000  # characters of a chain of reasons


def prepare(gate: GateDef, reports: Path) -> Invocation:
    at = program_at(gate.argv) + 1
    words = gate.argv[at:]
    # -b must be the first word. Without it, a state that the configuration asks for goes elsewhere.
    if BUILD & set(words[:1]):
        return Invocation((*gate.argv[: at + 1], *words[1:], "--pretty", "false"))
    state: tuple[str, ...] = ()
    if "--noEmit" in words and "--tsBuildInfoFile" not in words:
        state = ("--incremental", "--tsBuildInfoFile", str(reports / "tsbuildinfo"))
    return Invocation((*gate.argv[:at], *words, "--pretty", "false", *state))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        rows = text(done).splitlines()
    except BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    found = list(_found(rows))
    bare = next((m for row in rows if (m := GLOBAL.match(row))), None)
    if bare or (found and all(OPTIONS.fullmatch(one.rule) for one in found)):
        why = f"{bare[1]}: {bare[2]}" if bare else f"{found[0].rule}: {found[0].message}"
        return broken(gate, done, Reading(GateState.ERROR, why[:300]))
    if not found and done.code in gate.pass_codes and _checks_nothing(gate, done):
        why = (
            "tsconfig.json only names other projects, so nothing was checked. Type: tsc -b --noEmit"
        )
        return Reading(GateState.ERROR, why)
    return judged(gate, done, found, codes=(1, 2))


def _found(rows: list[str]) -> Iterator[Found]:
    """Each finding with the indented lines that explain it."""
    last: tuple[str, ...] | None = None
    more: list[str] = []
    for row in (*(COLOUR.sub("", row).rstrip("\r") for row in rows), ""):
        if last is not None and row.startswith("  "):
            more.append(row)
            continue
        if last is not None:
            path, line, col, level, rule, message = last
            yield Found(
                rule,
                "\n".join([message, *more])[:LISTED],
                path,
                int(line),
                int(col),
                Severity(level),
            )
        match, more = LINE.fullmatch(row), []
        last = match.groups() if match else None


def _checks_nothing(gate: GateDef, done: Completed) -> bool:
    words = set(gate.argv[program_at(gate.argv) + 1 :])
    if words & (BUILD | PROJECT) or any(Path(w).suffix in {".ts", ".tsx"} for w in words):
        return False
    return solution(done.tree / gate.cwd / "tsconfig.json")
