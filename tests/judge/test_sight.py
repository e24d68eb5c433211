"""Sight: an editable install points at the user's checkout, and the gates must look elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.verdict import Verdict
from donewhen.judge.judge import judge
from donewhen.judge.sight import Sight, interpreter, sight
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper
from tests.conftest import CALC, FIX, Project
from tests.judge.helpers import ERROR, FAIL, PASS, Bench, gate, one
from tests.plain import pip_install_editable, site_packages

Make = Callable[..., Bench]
PLAIN = gate("pytest -q")  # does not put the folder it starts in on sys.path
HATCH = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "calc"
version = "1"
[tool.hatch.build]
dev-mode-dirs = ["src"]
[tool.hatch.build.targets.wheel]
packages = ["src/calc"]
"""
SRC = {**CALC, "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n'}
BREAK = {"src/calc/__init__.py": "def add(a, b):\n    return None\n"}
# What setuptools leaves for a project that a path alone cannot describe.
FINDER = """
import sys
from importlib.machinery import PathFinder
MAPPING = {mapping!r}
class Finder:
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname in MAPPING:
            return PathFinder.find_spec(fullname, [MAPPING[fullname]])
def install():
    sys.meta_path.{how}
"""


def site_of(project: Project) -> Path:
    """A venv in the user's checkout that has our pytest; returns its site-packages."""
    root = project.root
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=root, check=True)
    site = next((root / ".venv" / "lib").glob("python3*/site-packages"))
    ours = site_packages()
    (site / "tools.pth").write_text(f"{ours}\n")
    bin_ = root / ".venv" / "bin" / "pytest"
    bin_.write_text(f"#!{root}/.venv/bin/python\nimport sys, pytest\nsys.exit(pytest.main())\n")
    bin_.chmod(0o755)
    return site


def pip_install(project: Project) -> None:
    pip_install_editable(project.root, project.root / ".venv")


def worktree(made: Bench) -> Path:
    place = made.scratch / "worktree"
    Git(made.project.root).worktree_add(place, "HEAD")
    return place


def look(made: Bench, place: Path) -> Sight:
    return sight(place, made.project.root, made.gates, dict(os.environ))


def judged(made: Bench, place: Path, seen: Sight) -> Verdict:
    keeper = TreeKeeper(Git(place), made.scratch / "worktree-index")
    inside = replace(made.request(), tree=place, keeper=keeper, own=True)
    return judge(replace(inside, extra_env=seen.env, blind=seen.blind))


def edit(place: Path, files: dict[str, str]) -> None:
    Project(place).write(files)


@pytest.fixture(params=["pip install -e", "pth", "finder", "link"])
def editable(request: pytest.FixtureRequest, bench: Make) -> Bench:
    """A src-layout project, installed editable in its own `.venv`, green once it is fixed."""
    files = {**SRC, "pyproject.toml": HATCH, ".gitignore": "__pycache__/\n.venv\n"}
    made = bench(files, PLAIN)
    site, src = site_of(made.project), made.project.root / "src"
    if request.param == "pip install -e":
        pip_install(made.project)
    elif request.param == "finder":
        text = FINDER.format(mapping={"calc": str(src)}, how="append(Finder)")
        (site / "__editable___calc_finder.py").write_text(text)
        (site / "__editable__.calc.pth").write_text(
            "import __editable___calc_finder; __editable___calc_finder.install()\n"
        )
    else:
        (site / "calc.pth").write_text(f"{src}\n")
    assert one(made.judge()).state is FAIL  # the install works, and the code is red
    if request.param == "link":
        made.scratch.mkdir(exist_ok=True)
        place = worktree(made)
        (place / ".venv").symlink_to(made.project.root / ".venv")
        made.gates = (gate(".venv/bin/python -m pytest -q"),)
    else:
        worktree(made)
    return made


def test_the_worktree_is_seen_and_the_checkout_is_not(editable: Bench) -> None:
    place = editable.scratch / "worktree"
    # No false green: the checkout was fixed meanwhile, the worktree is broken.
    editable.project.write(FIX)
    edit(place, BREAK)
    assert judged(editable, place, Sight()).state is PASS, "without sight it looks green"
    seen = look(editable, place)
    assert seen.env == {"PYTHONPATH": str(place / "src")}
    assert "re-pointed" in seen.notes[0]
    assert seen.blind == {}
    assert judged(editable, place, seen).state is FAIL
    # No false red: the worktree is fixed, the checkout is not.
    editable.project.write({"src/calc/__init__.py": SRC["src/calc/__init__.py"]})
    edit(place, FIX)
    assert judged(editable, place, Sight()).state is FAIL, "without sight the fix is not seen"
    assert judged(editable, place, look(editable, place)).state is PASS
    # The clean room has eyes of its own.
    editable.gates = (PLAIN,)
    editable.baseline()
    editable.extra_env = {"PYTHONPATH": str(place / "src")}
    edit(place, BREAK)
    Git(editable.project.root).worktree_remove(place)
    editable.project.write(FIX)
    verdict = editable.decide()
    assert verdict.state is PASS
    assert any("re-pointed" in note and "room" in note for note in verdict.notes)


def test_what_cannot_be_re_pointed_is_blind(bench: Make) -> None:
    """A finder that stands before the path (as meson-python's does) wins over PYTHONPATH."""
    made = bench({**SRC, ".gitignore": "__pycache__/\n.venv\n"}, PLAIN)
    site, src = site_of(made.project), made.project.root / "src"
    (site / "first.py").write_text(
        FINDER.format(mapping={"calc": str(src)}, how="insert(0, Finder)")
    )
    (site / "first.pth").write_text("import first; first.install()\n")
    made.project.write(FIX)
    place = worktree(made)
    seen = look(made, place)
    assert seen.blind == {"tests": str(src / "calc")}
    result = one(judged(made, place, seen))
    assert (result.state, result.blind) == (ERROR, True)
    assert str(src / "calc") in result.why


def test_a_namespace_package_is_seen_too(bench: Make) -> None:
    files = {
        "src/company/calc/__init__.py": CALC["src/calc/__init__.py"],
        "tests/test_calc.py": CALC["tests/test_calc.py"].replace("calc import", "company.calc import"),
        ".gitignore": "__pycache__/\n.venv\n",
    }  # fmt: skip
    made = bench(files, PLAIN)
    (site_of(made.project) / "c.pth").write_text(f"{made.project.root / 'src'}\n")
    place = worktree(made)
    edit(place, {"src/company/calc/__init__.py": FIX["src/calc/__init__.py"]})
    assert judged(made, place, Sight()).state is FAIL
    assert judged(made, place, look(made, place)).state is PASS


def test_every_member_of_a_workspace_is_re_pointed(bench: Make) -> None:
    """Tests at the top, packages below, all installed editable: no name of theirs is at the top."""
    files = {
        "packages/one/src/calc/__init__.py": CALC["src/calc/__init__.py"],
        "packages/two/two/__init__.py": "",
        "packages/two/pyproject.toml": HATCH.replace("calc", "two").replace('"src"', '"."').replace("src/two", "two"),
        "tests/test_calc.py": "import two\n" + CALC["tests/test_calc.py"],
        ".gitignore": "__pycache__/\n.venv\n",
    }  # fmt: skip
    made = bench(files, PLAIN)
    root = made.project.root
    (site_of(made.project) / "one.pth").write_text(f"{root / 'packages/one/src'}\n")
    (site_of(made.project) / "two.pth").write_text(f"{root / 'packages/two'}\n")
    place = worktree(made)
    edit(place, {"packages/one/src/calc/__init__.py": FIX["src/calc/__init__.py"]})
    assert judged(made, place, Sight()).state is FAIL
    seen = look(made, place)
    assert seen.env["PYTHONPATH"].split(os.pathsep) == [
        str(place / "packages/one/src"),
        str(place / "packages/two"),
    ]
    assert judged(made, place, seen).state is PASS


def test_an_installed_copy_is_not_the_tree(bench: Make) -> None:
    """`pip install .`: the tests would go on judging a copy of long ago."""
    made = bench({**SRC, ".gitignore": "__pycache__/\n.venv\n"}, PLAIN)
    copy = site_of(made.project) / "calc"
    copy.mkdir()
    (copy / "__init__.py").write_text(FIX["src/calc/__init__.py"])
    place = worktree(made)
    assert judged(made, place, Sight()).state is PASS
    assert judged(made, place, look(made, place)).state is FAIL


@pytest.mark.parametrize(
    "files",
    [
        CALC,  # pythonpath in the configuration
        {"calc.py": "", "test_calc.py": "import calc\n\n\ndef test_it():\n    pass\n"},
        {"json.py": "", "random.py": "", "click.py": "", "test_x.py": "def test_x():\n    pass\n"},
        {"README": "no code at all", "test_x.py": "def test_x():\n    pass\n"},
    ],
    ids=["pythonpath", "flat", "names of others", "no code"],
)
def test_what_is_not_installed_needs_nothing(bench: Make, files: dict[str, str]) -> None:
    made = bench(files, PLAIN)
    assert look(made, worktree(made)) == Sight()


def test_no_package_is_executed_by_looking(bench: Make) -> None:
    made = bench({**SRC, ".gitignore": "__pycache__/\n.venv\n"}, PLAIN)
    (site_of(made.project) / "c.pth").write_text(f"{made.project.root / 'src'}\n")
    place = worktree(made)
    for root in (place, made.project.root):
        edit(root, {"src/calc/__init__.py": f"open({str(root / 'ran')!r}, 'w')\n"})
    assert look(made, place).env
    assert not (place / "ran").exists()
    assert not (made.project.root / "ran").exists()


def test_other_languages_start_no_python(bench: Make) -> None:
    made = bench({"package.json": "{}"}, gate("sh: exit 0", name="npm"))
    assert look(made, worktree(made)) == Sight()


def test_an_interpreter_that_says_nonsense_is_not_trusted(bench: Make) -> None:
    made = bench({**SRC, ".gitignore": ".venv\n"}, PLAIN)
    python = made.project.root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho hello; echo broken >&2\n")
    python.chmod(0o755)
    (python.parent / "pytest").write_text("#!/bin/sh\nexit 0\n")
    (python.parent / "pytest").chmod(0o755)
    seen = look(made, worktree(made))
    assert "broken" in seen.blind["tests"]


def test_a_users_pythonpath_that_a_gate_asked_for_comes_after_ours(bench: Make) -> None:
    made = bench({**SRC, ".gitignore": ".venv\n"}, gate("pytest -q", env=("PYTHONPATH",)))
    (site_of(made.project) / "c.pth").write_text(f"{made.project.root / 'src'}\n")
    place = worktree(made)
    environ = {**os.environ, "PYTHONPATH": "/extra"}
    seen = sight(place, made.project.root, made.gates, environ)
    assert seen.env == {"PYTHONPATH": f"{place / 'src'}{os.pathsep}/extra"}


def test_which_interpreter_is_behind_a_gate(tmp_path: Path) -> None:
    path = os.environ["PATH"]
    here = str(shutil.which("python"))
    assert interpreter(gate("python -m pytest"), path, tmp_path) == here
    assert interpreter(gate("env A=b pytest"), path, tmp_path) == here
    assert interpreter(gate("make test"), path, tmp_path) == here
    assert interpreter(gate("./run-tests"), path, tmp_path) == here
    assert interpreter(gate(".venv/bin/python -m pytest"), path, tmp_path) == ""
    assert interpreter(gate("python -m pytest"), "/nowhere", tmp_path) == ""
