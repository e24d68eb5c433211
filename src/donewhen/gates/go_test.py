"""go test -json: events of packages and tests. A package that does not build has failed.

Results of an earlier start are not taken (`-count=1`). A test with subtests is no test of its own
unless it fails beyond them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.junitxml import MESSAGE, TEXT, Case, Report
from donewhen.gates.outcome import outcome, unreadable
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, rows, words

ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}
MODULE = re.compile(r"^module\s+(\S+)", re.M)
PLACE = re.compile(r"^\s*(?:\./)?([\w./-]+\.go):(\d+)(?::\d+)?: (.*)", re.M)


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    at = program_at(gate.argv) + 2  # behind `go test`
    words = tuple(w for w in gate.argv[at:] if w not in {"-json", "--json", "-v"})
    fresh = () if any(w.startswith(("-count", "--count")) for w in words) else ("-count=1",)
    return Invocation((*gate.argv[:at], "-json", *fresh, *words))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        said = rows(done)
        if any("Action" not in row for row in said):
            raise BadReport("it is no report of go test")
        if not said:
            raise BadReport("no report was written")
        report = _report(said, _module(done.tree / gate.cwd / "go.mod"))
    except BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)


@dataclass
class _Package:
    built: str = ""  # output of a build that failed
    ended: str = ""
    tests: dict[str, str] = field(default_factory=dict)  # name -> how it ended, "" for not yet
    output: dict[str, list[str]] = field(default_factory=dict)


def _report(said: Iterable[dict[str, Any]], module: str) -> Report:
    packages: dict[str, _Package] = {}
    builds: dict[str, list[str]] = {}
    for row in said:
        action, test = row["Action"], words(row.get("Test"))
        if action == "build-output":
            builds.setdefault(words(row.get("ImportPath")), []).append(words(row.get("Output")))
        if not row.get("Package"):
            continue
        one = packages.setdefault(words(row["Package"]), _Package())
        if action == "output":
            one.output.setdefault(test, []).append(words(row.get("Output")))
        elif action in ENDS and not test:
            one.ended = action
            one.built = "".join(builds.get(words(row.get("FailedBuild")), []))
        elif test:
            one.tests[test] = ENDS.get(action, one.tests.get(test, ""))
    report = Report()
    for name, one in packages.items():
        report.unfinished |= not one.ended
        report.cases += _cases(name, one, module)
    return report


def _cases(name: str, one: _Package, module: str) -> Iterator[Case]:
    folder = name.removeprefix(module).lstrip("/") if module else ""
    for test, ended in one.tests.items():
        inner = [how for t, how in one.tests.items() if t.startswith(f"{test}/")]
        if inner and (ended != "failed" or "failed" in inner):
            continue
        text = "".join(one.output.get(test, []))
        # Begun and never ended: it panicked, or its process did.
        yield _case(Case(test, name, outcome=ended or "error", text=text[-TEXT:]), folder)
    if one.ended == "fail" and "failed" not in one.tests.values():
        text = one.built or "".join(one.output.get("", []))
        built = "build failed" if one.built or "[build failed]" in text else "package"
        yield _case(
            Case(built, name, outcome="error", text=text[-TEXT:]), "" if one.built else folder
        )


def _case(case: Case, folder: str) -> Case:
    """Where it failed, and what it said there."""
    if case.bad and (said := PLACE.search(case.text)):
        path = said[1]
        path = f"{folder}/{path}" if folder and "/" not in path else path
        case.message = said[3][:MESSAGE]
        case.text = f"{case.text.rstrip()}\n{path}:{said[2]}: {case.message}"
    return case


def _module(path: Path) -> str:
    try:
        found = MODULE.search(path.read_text("utf-8", "replace"))
    except OSError:
        return ""
    return found[1] if found else ""
