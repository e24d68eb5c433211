"""Hold-out tests: a folder outside the repository, run by the project's own test program.

No prompt names them or says what they found beyond a number. They are a gate like any other, and
since their folder is not part of the tree, their result is never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from donewhen.core.verdict import GateResult, Verdict
from donewhen.errors import UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.parse import program_at

NAME = "holdout"
SETTINGS = (
    ("pytest.ini", ""),
    (".pytest.ini", ""),
    ("pyproject.toml", "[tool.pytest"),
    ("tox.ini", "[pytest]"),
    ("setup.cfg", "[tool:pytest]"),
)


def holdout(folder: Path, gates: Sequence[GateDef], place: Path) -> GateDef:
    """The gate for the tests in `folder`, like the first test gate of `gates` that `place` has.

    Raises UsageError where no gate runs pytest or unittest.
    """
    for gate in gates:
        argv = _command(gate, folder, place)
        if argv:
            return replace(
                gate,
                name=NAME,
                argv=argv,
                source="config",
                why="[integrity] holdout: tests that no agent is shown",
                required=True,
                weak=False,
                inputs=(),
                hermetic=False,
                empty="fail",
                quarantine=(),
                hidden=True,
            )
    raise UsageError(
        "[integrity] holdout needs a gate that runs pytest or unittest, and there is none",
        hint='Name one in donewhen.toml: [gates.tests] run = "pytest -q", or remove holdout.',
    )


def _command(gate: GateDef, folder: Path, place: Path) -> tuple[str, ...]:
    """() where the gate is of another kind, or its program is behind a script."""
    at = program_at(gate.argv)
    if at < 0 or gate.format not in {"pytest", "unittest"}:
        return ()
    if gate.format == "unittest":
        return (*gate.argv[: at + 1], "discover", "-s", str(folder), "-t", str(folder))
    word = PurePath(gate.argv[at])
    if word.name not in {"pytest", "py.test"}:
        return ()
    start = gate.argv[: at + 1]
    if gate.argv[at - 1 : at] != ("-m",):  # with -m the folder it starts in is imported from
        start = (*gate.argv[:at], str(word.with_name("python")), "-m", "pytest")
    return (*start, "-q", "--rootdir=.", *_settings(place / gate.cwd), str(folder))


def _settings(place: Path) -> tuple[str, ...]:
    """The project's own configuration, which pytest looks for beside the tests only."""
    for name, mark in SETTINGS:
        file = place / name
        if file.is_file() and mark in file.read_text("utf-8", "replace"):
            return ("-c", name)
    return ()


def unseen_by_agents(verdict: Verdict) -> Verdict:
    """The verdict as an agent may read it."""
    gates = tuple(_veiled(g) if g.hidden else g for g in verdict.gates)
    return replace(verdict, gates=gates)


def _veiled(result: GateResult) -> GateResult:
    """What an agent may know of it: how many failed, not which, why or where."""
    counts = result.counts
    why = f"{counts.failed} of {counts.tests} tests that you are not shown fail"
    said = result.why if not counts.tests else why
    return replace(result, why=said, command="", findings=(), passed_tests=(), log="")
