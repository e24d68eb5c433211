"""Sight: do the gates see the tree they judge? Editable installs point at the user's checkout.

On Python each package under test must resolve inside the judged tree, as the gates' interpreter
sees it; PYTHONPATH re-points what does not. What still resolves elsewhere blinds its gates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from donewhen.errors import SpawnError
from donewhen.gates.base import GateDef
from donewhen.gates.env import gate_environment, program_exists
from donewhen.gates.parse import unwrapped
from donewhen.system import proc

NOT_CODE = frozenset(
    {"tests", "test", "docs", "doc", "examples", "build", "dist", "scripts", "bench", "benchmarks"}
)
NOT_MODULES = frozenset({"setup", "conftest", "noxfile", "fabfile", "tasks", "manage"})
TIMEOUT_S = 60.0
# Nothing is imported for a top-level name; the folder started in does not count, since a plain
# `pytest` does not see it either.
PROBE = """
import importlib.util, json, os, sys
sys.path[:] = [p for p in sys.path if p not in ("", os.getcwd())]
for extra in reversed([p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]):
    sys.path.insert(0, extra)
found = {}
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        continue
    if spec is not None:
        places = list(spec.submodule_search_locations or []) or [spec.origin]
        found[name] = [os.path.realpath(p) for p in places if p and os.path.exists(p)]
print("\\n" + json.dumps(found))
"""


@dataclass(frozen=True)
class Sight:
    """`env` goes to gates and agent; `blind` is gate name -> where its code really comes from."""

    env: Mapping[str, str] = field(default_factory=dict)
    blind: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sight(
    tree: Path,
    checkout: Path,
    gates: Sequence[GateDef],
    environ: Mapping[str, str],
    prefix: str = ".",
) -> Sight:
    """Look at `tree` (a checkout of ours) with the eyes of every gate."""
    place = tree / prefix
    names = packages(place)
    if not names:
        return Sight()
    by_python: dict[str, list[GateDef]] = {}
    for gate in gates:
        env = gate_environment(environ, checkout, gate.env, {})
        by_python.setdefault(interpreter(gate, env["PATH"]), []).append(gate)
    path = import_path(place)
    extra: dict[str, str] = {}
    blind: dict[str, str] = {}
    for python, group in by_python.items():
        if not python or not _elsewhere(python, tree, place, names, environ, checkout, {}):
            continue
        extra = {"PYTHONPATH": path}
        still = _elsewhere(python, tree, place, names, environ, checkout, extra)
        blind.update({gate.name: still for gate in group if still})
    notes = (f"code under test re-pointed to this tree by PYTHONPATH={path}",) if extra else ()
    return Sight(extra, blind, notes)


def packages(place: Path) -> tuple[str, ...]:
    """Top-level names of the project's own code: below src/, or flat."""
    found = set()
    for folder in (place / "src", place):
        if not folder.is_dir():
            continue
        for entry in folder.iterdir():
            if (entry / "__init__.py").is_file() and entry.name not in NOT_CODE:
                found.add(entry.name)
            elif (
                entry.suffix == ".py"
                and entry.stem not in NOT_MODULES
                and not entry.stem.startswith("test")
            ):
                found.add(entry.stem)
    return tuple(sorted(n for n in found if n.isidentifier()))


def import_path(place: Path) -> str:
    """What PYTHONPATH must hold for the tree's own code to come first."""
    parts = [place / "src", place] if (place / "src").is_dir() else [place]
    return ":".join(map(str, parts))


def interpreter(gate: GateDef, path: str) -> str:
    """The Python behind a gate: its own, the one beside its script, else PATH's. "" for none."""
    words = unwrapped(gate.argv)
    program = program_exists(words[0], path) if words else ""
    if program and PurePath(program).name.startswith("python"):
        return program
    beside = PurePath(program).parent / "python" if program else None
    if beside and Path(beside).exists():
        return str(beside)
    return program_exists("python", path) or program_exists("python3", path)


def _elsewhere(
    python: str,
    tree: Path,
    place: Path,
    names: tuple[str, ...],
    environ: Mapping[str, str],
    checkout: Path,
    extra: Mapping[str, str],
) -> str:
    """Where some package under test resolves to outside of the tree, "" if none does."""
    env = gate_environment(environ, checkout, (), extra)
    try:
        _code, out, _err = proc.capture((python, "-c", PROBE, *names), place, env, TIMEOUT_S)
        found: dict[str, list[str]] = json.loads(out.strip().splitlines()[-1])
    except (SpawnError, ValueError, IndexError):
        return ""
    root = tree.resolve()
    for places in found.values():
        if places and not any(Path(p).is_relative_to(root) for p in places):
            return places[0]
    return ""
