"""`node --test`, with a reporter of ours: its own ones do not say of which file a passed test is.

A file without tests counts as one test that passed. Where such a file does use node:test, its
process ended before it reported (`process.exit(0)`), which is an error.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.findings import Project
from donewhen.gates.junitxml import MESSAGE, NAME, TEXT, Case, Report
from donewhen.gates.options import without
from donewhen.gates.outcome import outcome, unreadable
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, field, number, rows, words

REPORTER = Path(__file__).parent / "assets" / "node_reporter.mjs"
OURS = ("--test-reporter", "--test-reporter-destination")
TESTS = re.compile(rb"""["']node:test["']""")
HEAD = 1 << 16
SILENT = "its process ended before its tests were reported"
VALUED = frozenset({
    "--import", "-r", "--require", "--loader", "--experimental-loader", "-C", "--conditions",
    "--env-file", "--test-name-pattern", "--test-skip-pattern", "--test-concurrency",
    "--test-timeout", "--test-shard",
})  # fmt: skip


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.jsonl"
    at = program_at(gate.argv) + 1
    options = (f"--test-reporter={REPORTER.as_uri()}", f"--test-reporter-destination={report}")
    return Invocation((*gate.argv[:at], *options, *without(gate.argv[at:], OURS)), {}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    project = Project(done.tree, gate.cwd)
    try:
        if done.report is None or not done.report.exists():
            raise BadReport("no report was written")
        said = rows(done)
        if not said or said[-1].get("type") != "end":
            raise BadReport("its report is cut off")
    except BadReport as error:
        return unreadable(gate, done, error)
    cases = list(_cases(said[:-1], project))
    reading = outcome(gate, done, Report(cases))
    files = [c for c in cases if c.outcome == "passed" and not c.file]
    only_files = bool(files) and len(files) == reading.counts.tests
    return replace(reading, weak=True) if only_files else reading


def _cases(said: Sequence[dict[str, Any]], project: Project) -> Iterator[Case]:
    """Test events: a parent comes after its subtests, and is no test of its own."""
    path: list[str] = []
    parents: set[tuple[str, ...]] = set()
    for row in said:
        nesting, name = int(row.get("nesting") or 0), words(row.get("name"))[:NAME]
        path = [*path[:nesting], name]
        if row.get("type") == "test:start":
            continue
        file = words(row.get("file"))
        if nesting:
            parents.add((file, *path[:-1]))
        own = field(row, "error", "failure") != "subtestsFailed"
        held = row.get("suite") or (file, *path) in parents
        if held and (row.get("type") == "test:pass" or not own):
            parents.discard((file, *path))
            continue
        yield _case(row, path, project)


def _case(row: dict[str, Any], path: Sequence[str], project: Project) -> Case:
    file = words(row.get("file"))
    own = project.own(file)
    bad = row.get("type") == "test:fail"
    outcome = "failed" if bad else "passed"
    if row.get("skip") and not bad:
        outcome = "skipped"
    elif row.get("todo"):
        outcome = "xfailed" if bad else "skipped"
    case = Case(
        path[-1],
        "::".join(path[:-1]),
        own,
        outcome=outcome,
        kind=words(field(row, "error", "kind")),
        message=words(field(row, "error", "message"))[:MESSAGE],
        text=words(field(row, "error", "text"))[:TEXT],
    )
    if len(path) == 1 and file and path[0] in {file, own}:
        return _whole_file(case, project)
    if not bad:
        case.line = number(row.get("line"))
    return case


def _whole_file(case: Case, project: Project) -> Case:
    """The file itself as a test: it has none, could not be loaded, or ended its process."""
    file, case.file = case.file, ""
    case.name = file or Path(case.name).name
    if case.outcome == "passed" and file and _uses_tests(project.tree / file):
        case.outcome, case.message = "error", SILENT
    return case


def _uses_tests(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            return TESTS.search(source.read(HEAD)) is not None
    except OSError:
        return False


def only(gate: GateDef, tests: Sequence[str], tree: Path) -> GateDef | None:
    """The same command for the files of these tests, with their names as patterns."""
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    if not all((tree / file).is_file() for file in files):
        return None
    named = dict.fromkeys(test.rpartition("::")[2] for test in tests if "::" in test)
    patterns = [f"--test-name-pattern=/^{_escaped(name)}$/" for name in named]
    paths = [os.path.relpath(tree / file, tree / gate.cwd) for file in files]
    at = program_at(gate.argv) + 1
    return replace(gate, argv=(*gate.argv[:at], *patterns, *_options(gate.argv[at:]), *paths))


def picked(gate: GateDef, names: Sequence[str], files: Sequence[str], tree: Path) -> GateDef | None:
    """All files are loaded, `files` too where the command names paths; `names` are run."""
    at = program_at(gate.argv) + 1
    options = list(_options(gate.argv[at:]))
    paths = list(gate.argv[at:])[len(options) :]
    if paths:
        paths += [os.path.relpath(tree / file, tree / gate.cwd) for file in files]
    patterns = [f"--test-name-pattern=/{_escaped(name)}/" for name in names]
    return replace(gate, argv=(*gate.argv[:at], *patterns, *options, *paths))


def _options(argv: Sequence[str]) -> Iterator[str]:
    """The options before the first path."""
    valued = False
    for word in argv:
        if not valued and not word.startswith("-"):
            return
        yield word
        valued = word in VALUED


def _escaped(name: str) -> str:
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", name)
