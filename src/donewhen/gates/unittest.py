"""unittest: the user's arguments, run through our reporting runner by the user's interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.gates import junitxml
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.outcome import measured, nothing_ran, outcome, unreadable
from donewhen.gates.parse import program_at

RUNNER = Path(__file__).parent / "assets" / "unittest_junit.py"
NOTHING_RAN = 5


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.xml"
    at = program_at(gate.argv)
    before = gate.argv[: at - 1]  # the interpreter and its options, without -m
    argv = (*before, str(RUNNER), str(report), *gate.argv[at + 1 :])
    return Invocation(argv, {"PYTHONDONTWRITEBYTECODE": "1"}, report)


def only(gate: GateDef, tests: Sequence[str], _tree: Path) -> GateDef:
    """The same command with a pattern for each test: its class and name, whatever its module."""
    names = (".".join(test.split("::")[-2:]).rpartition(".") for test in tests)
    patterns = [f"*{cls.rpartition('.')[2]}.{name}" for cls, _dot, name in names]
    words = [word for pattern in dict.fromkeys(patterns) for word in ("-k", pattern)]
    return replace(gate, argv=(*gate.argv, *words))


def picked(gate: GateDef, names: Sequence[str], _files: Sequence[str], _tree: Path) -> GateDef:
    """Everything is loaded; tests of these names are run."""
    words = [word for name in names for word in ("-k", name)]
    return replace(gate, argv=(*gate.argv, *words))


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = junitxml.parse(done.report)
    except junitxml.BadReport as error:
        return unreadable(gate, done, error)
    if done.code == NOTHING_RAN and not report.count("passed", "failed", "error", "xfailed"):
        return nothing_ran(gate, measured(gate, done, report).counts)
    return outcome(gate, done, report)
