"""The JSON report of jest, which vitest writes too: files, and the tests of each.

A file that cannot be loaded has no tests and its own message. Pure.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from donewhen.core.fingerprint import COLOUR
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.findings import Project
from donewhen.gates.junitxml import MESSAGE, NAME, TEXT, Case, Report
from donewhen.gates.outcome import outcome, unreadable
from donewhen.gates.parse import program_at
from donewhen.gates.reports import BadReport, document, objects, words

OUTCOMES = {
    "passed": "passed", "failed": "failed", "pending": "skipped", "skipped": "skipped",
    "todo": "skipped", "disabled": "skipped", "focused": "passed",
}  # fmt: skip
LOADING = "cannot be loaded"


def judged(gate: GateDef, done: Completed) -> Reading:
    """Exit code and report together."""
    try:
        if done.report is None or not done.report.exists():
            raise BadReport("no report was written")
        report = read(document(done), Project(done.tree, gate.cwd))
    except BadReport as error:
        return unreadable(gate, done, error)
    return outcome(gate, done, report)


def read(said: Any, project: Project) -> Report:
    """Raises BadReport where this is no such report or does not hold what it claims."""
    if not isinstance(said, dict) or "testResults" not in said or "numTotalTests" not in said:
        raise BadReport("it is no report of jest or vitest")
    files = objects(said["testResults"], "a list of test files")
    cases = [case for file in files for case in _file(file, project)]
    total = said["numTotalTests"]
    tests = sum(len(file.get("assertionResults") or ()) for file in files)
    if total != tests:
        raise BadReport(f"it says {total} tests and has {tests}")
    report = Report(cases, unfinished=bool(said.get("wasInterrupted")))
    report.claimed = _count(said.get("numFailedTests"))
    return report


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def _file(file: dict[str, Any], project: Project) -> Iterator[Case]:
    name = words(file.get("name"))
    own = project.own(name)
    tests = objects(file.get("assertionResults"), "a list of tests")
    found = [_case(test, own or Path(name).name) for test in tests]
    yield from found
    if file.get("status") == "failed" and not any(case.bad for case in found):
        message = _plain(words(file.get("message")))
        first = next((row.strip() for row in message.splitlines()[1:] if row.strip()), message)
        yield Case(
            LOADING, file=own or Path(name).name, outcome="error", message=first[:MESSAGE],
            text=message[-TEXT:],
        )  # fmt: skip


def _case(test: dict[str, Any], file: str) -> Case:
    status = words(test.get("status"))
    if status not in OUTCOMES:
        raise BadReport(f"a test has the status {status!r}")
    text = _plain("\n\n".join(words(m) for m in test.get("failureMessages") or ()))
    above = [words(title) for title in test.get("ancestorTitles") or () if title]
    return Case(
        words(test.get("title"))[:NAME],
        "::".join(above)[:NAME],
        file,
        outcome=OUTCOMES[status],
        message=text.partition("\n")[0][:MESSAGE],
        text=text[:TEXT],
    )


def _plain(text: str) -> str:
    return COLOUR.sub("", text)


def pattern(tests: Sequence[str]) -> str:
    """A regular expression for the full names of these tests (`file::suite::title`)."""
    names = (" ".join(test.split("::")[1:]) for test in tests)
    return "|".join(f"^{_escaped(name)}$" for name in dict.fromkeys(names))


def words_pattern(names: Sequence[str]) -> str:
    """A regular expression for tests with one of these words in their names."""
    return "|".join(_escaped(name) for name in names)


def _escaped(name: str) -> str:
    return re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", name)


def paths_of(tests: Sequence[str], gate: GateDef, tree: Path) -> list[str] | None:
    """The files of these tests, from the gate's folder; None where one is not there or failed whole."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    whole = any(test.endswith(f"::{LOADING}") for test in tests)
    if whole or not all((tree / file).is_file() for file in files):
        return None
    return [os.path.relpath(tree / file, tree / gate.cwd) for file in files]


def beside_named(gate: GateDef, files: Sequence[str], tree: Path) -> list[str]:
    """`files` as words for a command that names the paths it runs; none where it names no path."""
    words = gate.argv[program_at(gate.argv) + 1 :]
    named = any(not w.startswith("-") and (tree / gate.cwd / w).exists() for w in words)
    return [os.path.relpath(tree / file, tree / gate.cwd) for file in files] if named else []
