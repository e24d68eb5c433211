"""jest: its JSON report, and no watchman, which it would start as a daemon that stays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.gates import jestjson
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.parse import program_at

WATCH = frozenset({"--watch", "--watchAll", "--watch-all"})


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.json"
    at = program_at(gate.argv) + 1
    # Before the paths of the user, and with `=`: an option of jest takes all words that follow it.
    options = ("--watchman=false", "--json", f"--outputFile={report}")
    words = (word for word in gate.argv[at:] if word.partition("=")[0] not in WATCH)
    return Invocation((*gate.argv[:at], *options, *words), {"CI": "1"}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    return jestjson.judged(gate, done)


def only(gate: GateDef, tests: Sequence[str], tree: Path) -> GateDef | None:
    """The same command for the files of these tests, with their full names as a pattern."""
    paths = jestjson.paths_of(tests, gate, tree)
    if paths is None:
        return None
    named = f"--testNamePattern={jestjson.pattern(tests)}"
    return replace(gate, argv=(*gate.argv, named, "--runTestsByPath", *paths))


def picked(gate: GateDef, names: Sequence[str], files: Sequence[str], tree: Path) -> GateDef | None:
    """All files are loaded, `files` too where the command names paths; `names` are run."""
    named = f"--testNamePattern={jestjson.words_pattern(names)}"
    more = jestjson.beside_named(gate, files, tree)
    return replace(gate, argv=(*gate.argv, *more, named))
