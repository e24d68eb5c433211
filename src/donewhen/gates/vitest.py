"""vitest, run once: its JSON report, named always, since it picks another where it sees an agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.gates import jestjson
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.parse import program_at

MODES = frozenset({"run", "watch", "dev", "related", "bench", "list"})
CACHE = "--cache=false"  # it would write into node_modules, which may be shared


def prepare(gate: GateDef, reports: Path) -> Invocation:
    report = reports / "report.json"
    at = program_at(gate.argv) + 1
    before, words = gate.argv[:at], list(gate.argv[at:])
    if words[:1] and words[0] in {"watch", "dev"}:
        words = words[1:]
    mode = () if words[:1] and words[0] in MODES else ("run",)
    watch = {"--watch", "-w", "--ui"}
    argv = (*before, *mode, *(w for w in words if w not in watch))
    options = ("--reporter=json", f"--outputFile={report}", CACHE)
    return Invocation((*argv, *options), {"CI": "1", "NO_COLOR": "1"}, report)


def read(gate: GateDef, done: Completed) -> Reading:
    return jestjson.judged(gate, done)


def only(gate: GateDef, tests: Sequence[str], tree: Path) -> GateDef | None:
    """The same command for the files of these tests, with their full names as a pattern."""
    paths = jestjson.paths_of(tests, gate, tree)
    if paths is None:
        return None
    return replace(gate, argv=(*gate.argv, *paths, "-t", jestjson.pattern(tests)))


def picked(gate: GateDef, names: Sequence[str], files: Sequence[str], tree: Path) -> GateDef | None:
    """All files are loaded, `files` too where the command names paths; `names` are run."""
    more = jestjson.beside_named(gate, files, tree)
    return replace(gate, argv=(*gate.argv, *more, "-t", jestjson.words_pattern(names)))
