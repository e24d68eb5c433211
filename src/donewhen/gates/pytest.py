"""pytest: the user's own command plus a JUnit report at a path that is new for every run.

Exit codes: 0 passed, 1 failed, 2 interrupted or collection errors, 3 internal, 4 usage, 5 none
collected. The user's arguments and addopts stay; only where the report and the cache go is ours.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.core.verdict import GateState
from donewhen.gates import junitxml
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.outcome import (
    failing,
    measured,
    nothing_ran,
    outcome,
    unexplained,
    unreadable,
)
from donewhen.gates.parse import program_at

FAILED, INTERRUPTED, NOTHING_COLLECTED = 1, 2, 5
SAYS = {INTERRUPTED: "interrupted", 3: "internal error", 4: "usage error"}
COLLECTION = "collection failure"  # how pytest's report calls a module that cannot be imported
# pytest's banner of a session that stopped before its end, whatever the exit code says.
STOPPED = re.compile(
    r"^(?:\x1b\[[\d;]*m)*!+ "
    r"((?:_pytest\.outcomes\.Exit|Interrupted: |KeyboardInterrupt|stopping after ).*?)[ !]*$",
    re.M,
)
# Options whose value is a word of its own, which is no path to collect.
VALUED = frozenset({
    "-k", "-m", "-p", "-c", "-o", "-n", "-W", "-r", "--rootdir", "--ignore", "--deselect",
    "--confcutdir", "--cov", "--cov-config", "--basetemp", "--config-file", "--import-mode",
    "--override-ini", "--maxfail", "--tb", "--durations", "--log-level", "--dist",
})  # fmt: skip
QUIET = {"PYTHONDONTWRITEBYTECODE": "1"}  # nothing of ours in the judged tree


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"
    ours, env = _arguments(str(report), str(reports / "cache"))
    at = program_at(gate.argv)
    if at < 0 or Path(gate.argv[at]).name not in {"pytest", "py.test"}:
        # Behind a script, make or tox there is no other way to reach it.
        return Invocation(gate.argv, {**env, "PYTEST_ADDOPTS": shlex.join(ours)}, report)
    end = gate.argv.index("--", at) if "--" in gate.argv[at:] else len(gate.argv)
    return Invocation((*gate.argv[:end], *ours, *gate.argv[end:]), env, report)


def _arguments(report: str, cache: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Our options, and the environment that they need.

    pytest expands $NAME in both paths; what a name stands for it leaves as it is.
    """
    env = dict(QUIET)
    if "$" in report:
        env |= {"DONEWHEN_REPORT": report, "DONEWHEN_CACHE": cache}
        report, cache = "$DONEWHEN_REPORT", "$DONEWHEN_CACHE"
    options = (
        f"--junitxml={report}",
        "--junitprefix=",  # it would stand before the class names that ids are made of
        *("-o", "junit_family=xunit1"),  # with file and line of each test
        *("-o", "junit_logging=no"),  # output is kept as output
        # Outside the tree, but there: plugins use it, and without the plugin `--lf` in addopts or
        # `cache_dir` in a strict configuration are usage errors.
        *("-o", f"cache_dir={cache}"),
    )
    return options, env


def only(gate: GateDef, tests: Sequence[str], tree: Path) -> GateDef | None:
    """The same command for these tests: what it would collect gives way to their ids.

    Parameters stay out of the ids, since a report cannot hold every character of them.
    """
    at = program_at(gate.argv)
    ids = dict.fromkeys(test.partition("[")[0] for test in tests)
    if at < 0 or Path(gate.argv[at]).name not in {"pytest", "py.test"}:
        return None
    if not all("::" in one and (tree / one.partition("::")[0]).is_file() for one in ids):
        return None
    words = [w for w, collects in _words(gate, at, tree) if not collects]
    names = [os.path.relpath(tree / one, tree / gate.cwd) for one in ids]
    return replace(gate, argv=(*gate.argv[: at + 1], *words, *names))


def picked(gate: GateDef, names: Sequence[str], files: Sequence[str], tree: Path) -> GateDef | None:
    """Everything is collected, `files` too where the command names paths; `names` are run."""
    at = program_at(gate.argv)
    if at < 0 or Path(gate.argv[at]).name not in {"pytest", "py.test"}:
        return None
    words = _words(gate, at, tree)
    named = any(collects for _word, collects in words)
    paths = [os.path.relpath(tree / file, tree / gate.cwd) for file in files] if named else []
    kept = [word for word, _collects in words]
    return replace(
        gate, argv=(*gate.argv[: at + 1], "-k", " or ".join(names), "--maxfail=0", *kept, *paths)
    )


def _words(gate: GateDef, at: int, tree: Path) -> list[tuple[str, bool]]:
    """The words after the program, each with: is it a path to collect?"""
    found = []
    for before, word in zip(gate.argv[at:], gate.argv[at + 1 :], strict=False):
        there = (tree / gate.cwd / word.partition("::")[0]).exists()
        found.append((word, there and not word.startswith("-") and before not in VALUED))
    return found


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = junitxml.parse(done.report)
    except junitxml.BadReport as error:
        return unreadable(gate, done, error)
    for case in report.cases:
        case.line += bool(case.file)  # pytest counts lines from 0 there
    if done.code == INTERRUPTED and _only_collection(report):
        return outcome(gate, done, report)
    if done.code in SAYS:
        return failing(measured(gate, done, report), SAYS[done.code], done)
    if done.code == NOTHING_COLLECTED:
        return _nothing(gate, done, report)
    stopped = STOPPED.search(done.stdout)
    if done.code in gate.pass_codes and stopped and not report.unfinished:
        why = f"{SAYS[INTERRUPTED]} with exit {done.code}: {stopped[1]}"
        return replace(measured(gate, done, report), why=why)
    if done.code == FAILED and not report.count("failed", "error") and not report.unfinished:
        return unexplained(gate, done, measured(gate, done, report), GateState.FAIL)
    return outcome(gate, done, report)


def _only_collection(report: junitxml.Report) -> bool:
    """Modules that cannot be imported, and nothing run for that reason: the project's failure."""
    bad = [c for c in report.cases if c.bad]
    broken = all(c.outcome == "error" and c.message == COLLECTION for c in bad)
    return bool(bad) and broken and not report.count("passed", "xfailed") and not report.unfinished


def _nothing(gate: GateDef, done: Completed, report: junitxml.Report) -> Reading:
    reading = measured(gate, done, report)
    if reading.counts.tests:
        why = f"exit {done.code} says no tests, but the report has {reading.counts.tests}"
        return replace(reading, why=why)
    return nothing_ran(gate, reading.counts)
