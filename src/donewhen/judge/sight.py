"""Sight: do the gates see the tree they judge? Editable installs point at the user's checkout.

On Python each package under test must resolve inside the judged tree, as the gates' interpreter
sees it; PYTHONPATH re-points what does not. What still resolves elsewhere blinds its gates.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from donewhen.errors import SpawnError
from donewhen.gates.base import GateDef
from donewhen.gates.env import gate_environment, program_exists
from donewhen.gates.parse import unwrapped
from donewhen.judge import modules
from donewhen.system import proc

POINTERS = ("PYTHONPATH",)  # what `Sight.env` may set
NOT_CODE = frozenset(
    {"tests", "test", "docs", "doc", "examples", "build", "dist", "scripts", "bench", "benchmarks"}
)
NOT_MODULES = frozenset({"setup", "conftest", "noxfile", "fabfile", "tasks", "manage"})
TIMEOUT_S = 60.0
# Nothing is imported for a top-level name; the folder started in does not count, since a plain
# `pytest` does not see it either. `roots`: where code that is not installed as a copy comes from,
# by sys.path (.pth files) and by the record of editable installs.
PROBE = r"""
import os, sys
extra = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
sys.path[:] = [p for p in sys.path if p not in ("", os.getcwd(), *extra)]
import glob, importlib.util, json  # not the project's own files of these names
from urllib.parse import urlparse
from urllib.request import url2pathname
sys.path[:0] = extra
found, roots = {}, list(sys.path)
for name in sys.argv[1:]:
    try:
        spec = importlib.util.find_spec(name)
    except Exception:
        continue
    if spec is not None:
        places = list(spec.submodule_search_locations or []) or [spec.origin]
        found[name] = [os.path.realpath(p) for p in places if p and os.path.exists(p)]
for place in sys.path:
    for record in glob.glob(os.path.join(glob.escape(place), "*.dist-info", "direct_url.json")):
        try:
            with open(record, encoding="utf-8") as source:
                said = json.load(source)
            if said["dir_info"].get("editable"):
                roots.append(url2pathname(urlparse(said["url"]).path))
        except (OSError, ValueError, KeyError, AttributeError):
            continue
roots = [os.path.realpath(r) for r in roots if os.path.isdir(r)]
own = os.path.realpath(sys.prefix) + os.sep
print("\n" + json.dumps({"found": found, "roots": [r for r in roots if not r.startswith(own)]}))
"""


@dataclass(frozen=True)
class Sight:
    """`env` goes to gates and agent; `blind` is gate name -> where its code really comes from."""

    env: Mapping[str, str] = field(default_factory=dict)
    blind: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Eyes:
    """One interpreter, looking at one tree; `place` is the project's folder in it."""

    python: str
    tree: Path
    place: Path
    checkout: Path
    environ: Mapping[str, str]

    def look(self, names: Iterable[str], path: str = "") -> tuple[str, list[Path]]:
        """(where a package under test comes from, "" if from the tree; roots in the checkout).

        An interpreter that cannot start sees nothing wrong here: its gates will say so.
        """
        extra = {"PYTHONPATH": path} if path else {}
        env = gate_environment(self.environ, self.checkout, (), extra)
        argv = (self.python, "-c", PROBE, *names)
        try:
            _code, out, err = proc.capture(argv, self.place, env, TIMEOUT_S)
        except SpawnError:
            return "", []
        try:
            said = json.loads(out.strip().splitlines()[-1])
            found: dict[str, list[str]] = said["found"]
            return self._elsewhere(found), self._roots(said["roots"])
        except (ValueError, IndexError, KeyError, TypeError):
            last = err.decode("utf-8", "replace").strip().splitlines()[-1:]
            return f"{self.python}, which does not say from where: {''.join(last)[:200]}", []

    def _elsewhere(self, found: Mapping[str, list[str]]) -> str:
        tree = self.tree.resolve()
        modules = {name for name in found if (self.place / f"{name}.py").is_file()}
        for name, places in found.items():
            outside = [p for p in places if not Path(p).is_relative_to(tree)]
            if not outside or len(outside) < len(places):
                continue
            # A script of the project may share its name with an installed library.
            if name not in modules or not _library(outside[0]):
                return outside[0]
        return ""

    def _roots(self, roots: Iterable[str]) -> list[Path]:
        """Where the code that now comes from the user's checkout lies in the tree."""
        tree, checkout = self.tree.resolve(), self.checkout.resolve()
        if tree == checkout:
            return []
        inside = [Path(r) for r in roots if Path(r).is_relative_to(checkout)]
        moved = [self.tree / r.relative_to(checkout) for r in inside if not r.is_relative_to(tree)]
        return [r for r in dict.fromkeys(moved) if r.is_dir() and not _library(str(r))]


def _library(path: str) -> bool:
    return bool({"site-packages", "dist-packages"} & set(PurePath(path).parts))


def sight(
    tree: Path,
    checkout: Path,
    gates: Sequence[GateDef],
    environ: Mapping[str, str],
    prefix: str = ".",
) -> Sight:
    """Look at `tree` (a checkout of ours) with the eyes of every gate."""
    place = tree / prefix
    blind = modules.blind(tree, checkout, gates)
    if not packages(place) and not any(g.format in {"pytest", "unittest"} for g in gates):
        return Sight({}, blind)
    by_python: dict[str, list[GateDef]] = {}
    for gate in gates:
        path = gate_environment(environ, checkout, gate.env, {})["PATH"]
        by_python.setdefault(interpreter(gate, path, tree), []).append(gate)
    parts: dict[str, None] = {}
    for python, group in by_python.items():
        if not python:
            continue
        here, still = _repointed(_Eyes(python, tree, place, checkout, environ))
        parts.update(dict.fromkeys(here))
        blind.update({gate.name: still for gate in group if still})
    if not parts:
        return Sight({}, blind)
    path = os.pathsep.join([*parts, *_admitted(gates, environ)])
    note = f"code under test re-pointed to this tree by PYTHONPATH={path}"
    return Sight({"PYTHONPATH": path}, blind, (note,))


def _repointed(eyes: _Eyes) -> tuple[list[str], str]:
    """What PYTHONPATH must hold ([] for nothing), and where code comes from in spite of it."""
    elsewhere, roots = eyes.look(packages(eyes.place))
    if not elsewhere and not roots:
        return [], ""
    parts, names = import_path(eyes.place), set(packages(eyes.place))
    for root in roots:
        parts += import_path(root) or [str(root)]
        names.update(packages(root))
    still, _roots = eyes.look(sorted(names), os.pathsep.join(parts))
    return list(dict.fromkeys(parts)), still


def _admitted(gates: Sequence[GateDef], environ: Mapping[str, str]) -> list[str]:
    """A PYTHONPATH of the user's that a gate asked for comes after ours."""
    wanted = any("PYTHONPATH" in gate.env for gate in gates)
    return [environ["PYTHONPATH"]] if wanted and environ.get("PYTHONPATH") else []


def packages(place: Path) -> tuple[str, ...]:
    """Top-level names of the project's own code: below src/, or flat."""
    return tuple(sorted({*_below(place / "src", namespaces=True), *_below(place)}))


def import_path(place: Path) -> list[str]:
    """The folders of a project that code is imported from."""
    found = [place / "src"] if _below(place / "src", namespaces=True) else []
    return [str(p) for p in (*found, *([place] if _below(place) else []))]


def _below(folder: Path, namespaces: bool = False) -> set[str]:
    """Packages and modules in a folder; below src/ a package needs no __init__.py."""
    if not folder.is_dir():
        return set()
    found = set()
    for entry in folder.iterdir():
        if entry.suffix == ".py" and entry.stem not in NOT_MODULES:
            if not entry.stem.startswith("test") and entry.stem not in sys.stdlib_module_names:
                found.add(entry.stem)
        elif entry.name in NOT_CODE and not namespaces:
            continue
        elif (entry / "__init__.py").is_file() or (namespaces and _has_code(entry)):
            found.add(entry.name)
    return {name for name in found if name.isidentifier()}


def _has_code(folder: Path) -> bool:
    return any(True for pattern in ("*.py", "*/*.py") for _ in folder.glob(pattern))


def interpreter(gate: GateDef, path: str, tree: Path) -> str:
    """The Python behind a gate: its own, the one beside its script, else PATH's. "" for none."""
    words = unwrapped(gate.argv)
    first = words[0] if words else ""
    if "/" in first:  # as a program started in the gate's folder finds it
        program = str(tree / gate.cwd / first)
    else:
        program = program_exists(first, path) if first else ""
    if program and PurePath(program).name.startswith("python"):
        return program if Path(program).exists() else ""
    beside = PurePath(program).parent / "python" if program else None
    if beside and Path(beside).exists():
        return str(beside)
    return program_exists("python", path) or program_exists("python3", path)
