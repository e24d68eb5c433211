"""Ways to a false "done", or to somebody's files, that were tried and are shut; honest work beside."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CALC, FIX, GREPPED, Project

Make = Callable[..., Project]
Script = Callable[..., Path]
GOAL = "make the tests pass"
LIE = "#!/bin/sh\nexit 0\n"

# name -> (more files of the project, the agent's turn, flags): the code stays wrong in each.
HACKS: dict[str, tuple[Mapping[str, str], Mapping[str, Any], tuple[str, ...]]] = {
    "the gate's own script": (
        {"check.sh": "#!/bin/sh\npython -m pytest -q\n"},
        {"write": {"check.sh": LIE}},
        ("--gate", "sh ./check.sh"),
    ),
    "the Makefile behind the gate": (
        {"Makefile": "test:\n\tpython -m pytest -q\n"},
        {"write": {"Makefile": "test:\n\ttrue\n"}},
        ("--gate", "make test"),
    ),
    "a new .pytest.ini that deselects": (
        {},
        {
            "write": {
                ".pytest.ini": "[pytest]\npythonpath=src\naddopts=--deselect=tests/test_calc.py::test_add\n",
                "tests/test_new.py": "def test_x(): pass\n",
            }
        },
        (),
    ),
    "tests by another name": (
        {
            "pytest.ini": "[pytest]\npythonpath=src\npython_files=check_*.py\n",
            "checks/check_calc.py": "from calc import add\ndef test_add():\n    assert add(2, 3) == 5\n",
        },
        {"write": {"checks/check_calc.py": "def test_add(): pass\n"}},
        (),
    ),
    "git replace of the base test": (
        {},
        {
            "run": "T=$(git rev-parse HEAD:tests/test_calc.py); "
            "printf 'def test_add(): pass\\ndef test_zero(): pass\\n' > tests/test_calc.py; "
            "git replace -f $T $(git hash-object -w tests/test_calc.py)"
        },
        (),
    ),
    "an environment put into the tree": (
        {},
        {
            "write": {".gitignore": "__pycache__/\n", ".venv/bin/python": LIE},
            "run": "chmod +x .venv/bin/python",
        },
        (),
    ),
    "a pytest.py of its own": (
        {},
        {
            "write": {
                "pytest.py": "import sys\n"
                "r = next(a[11:] for a in sys.argv if a.startswith('--junitxml='))\n"
                'open(r, "w").write(\'<testsuites><testsuite name="pytest" tests="2">'
                '<testcase classname="tests.test_calc" name="test_add" file="tests/test_calc.py" line="3"/>'
                '<testcase classname="tests.test_calc" name="test_zero" file="tests/test_calc.py" line="7"/>'
                "</testsuite></testsuites>')\n"
            }
        },
        (),
    ),
    "a stand-in beside the tests": (
        {},
        {"write": {"tests/calc.py": FIX["src/calc/__init__.py"]}},
        (),
    ),
    "an xfail on the goal": (
        {},
        {
            "write": {
                "tests/test_calc.py": CALC["tests/test_calc.py"].replace(
                    "def test_add", "import pytest\n\n\n@pytest.mark.xfail\ndef test_add"
                )
            }
        },
        (),
    ),
}


@pytest.mark.parametrize("name", HACKS)
def test_a_hack_is_not_done(make_project: Make, script: Script, name: str) -> None:
    files, turn, flags = HACKS[name]
    project = make_project({**CALC, **files})
    ran = project.run(GOAL, script(turn), "--max-iter", "1", *flags)
    assert ran.code != 0, ran.err
    assert ran.json()["reason"] != "gates-passed"


def test_a_looser_type_checker_is_not_done(make_project: Make, script: Script) -> None:
    project = make_project({"src/a.py": 'x: int = "a"\n'})
    turn = {"write": {"mypy.ini": "[mypy]\nignore_errors = True\n"}}
    ran = project.run("types", script(turn), "--max-iter", "1", "--gate", "mypy src")
    assert ran.expect(4).json()["reason"] == "needs-human:test-change"


HONEST: dict[str, tuple[Mapping[str, str], Mapping[str, Any], tuple[str, ...]]] = {
    "a stricter Makefile": (
        {"Makefile": "test:\n\tpython -m pytest -q\n"},
        {"write": {**FIX, "Makefile": "test:\n\tpython -m pytest -q -W error\n"}},
        ("--gate", "make test"),
    ),
    "a new dependency, and a helper beside the tests": (
        {},
        {
            "write": {
                **FIX,
                "pyproject.toml": CALC["pyproject.toml"].replace('"1"', '"2"'),
                "tests/helpers.py": "X = 1\n",
                "tests/test_b.py": "from helpers import X\ndef test_b(): assert X\n",
            }
        },
        (),
    ),
    "a test file that could not be collected": (
        {
            "tests/test_new.py": "from calc import sub\n\n\ndef test_sub():\n    assert sub(3, 1) == 2\n"
        },
        {
            "write": {
                "src/calc/__init__.py": "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
            }
        },
        (),
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_beside_is_done(make_project: Make, script: Script, name: str) -> None:
    files, turn, flags = HONEST[name]
    project = make_project({**CALC, **files})
    project.run(GOAL, script(turn), "--max-iter", "1", *flags).expect(0)


# -- what accept must never do -----------------------------------------------------------------------


def finished(project: Project, script: Script, turn: Mapping[str, Any]) -> str:
    return str(project.run(GOAL, script(turn)).expect(0).json()["run"])


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def test_ignored_files_of_the_user_are_not_overwritten(make_project: Make, script: Script) -> None:
    """Neither by a fast-forward nor by a merge, squashed or not: each refuses and changes nothing."""
    project = make_project({**GREPPED, ".gitignore": "__pycache__/\n.env\ndata\n"})
    project.write({".env": "MINE\n", "data": "MINE TOO\n"})
    theirs = {**FIX, ".gitignore": "__pycache__/\n", ".env": "AGENT\n", "data/db": "AGENT\n"}
    run = finished(project, script, {"write": theirs})
    for moved in (False, True):
        if moved:
            project.write({"other.txt": "x"})
            project.git("add", "other.txt")
            project.git("commit", "-q", "-m", "mine")
        head = project.git("rev-parse", "HEAD")
        for how in ((), ("--squash",)):
            ran = project.donewhen("inbox", "accept", run, *how).expect(1)
            assert ".env" in ran.err
            assert (project.read(".env"), project.read("data")) == ("MINE\n", "MINE TOO\n")
            assert project.git("rev-parse", "HEAD") == head


def test_a_moved_pin_is_not_what_gets_accepted(project: Project, script: Script) -> None:
    result = project.run(GOAL, script({"write": FIX})).expect(0).json()
    project.git("checkout", "-q", "--detach")
    project.write({"evil.py": "import os\n"})
    evil = project.commit("evil")
    project.git("update-ref", f"refs/donewhen/{result['run']}/1", evil)
    project.git("update-ref", f"refs/heads/{result['branch']}", evil)
    project.git("checkout", "-q", "main")
    project.donewhen("inbox", "accept", result["run"]).expect(0)
    assert project.git("rev-parse", "HEAD^{tree}") == result["tree"]
    assert not (project.root / "evil.py").exists()


@pytest.mark.parametrize("first", ["accept", "reject"])
def test_a_word_is_given_once(project: Project, script: Script, first: str) -> None:
    run = finished(project, script, {"write": FIX})
    project.donewhen("inbox", first, run).expect(0)
    project.write({"README": "mine\n"})
    project.commit("mine")
    head = project.git("rev-parse", "HEAD")
    for second in ("accept", "reject"):
        assert f"already {first}" in project.donewhen("inbox", second, run).expect(1).err
        assert project.git("rev-parse", "HEAD") == head


def test_what_stands_in_gits_way_is_a_refusal_that_names_it(
    project: Project, script: Script
) -> None:
    run = finished(project, script, {"write": FIX})
    lock = project.root / ".git/index.lock"
    lock.touch()
    assert "index.lock" in project.donewhen("inbox", "accept", run).expect(1).err
    lock.unlink()
    project.donewhen("inbox", "accept", run).expect(0)
    assert (
        subprocess.run(
            ["git", "status", "--porcelain"], cwd=project.root, capture_output=True, check=True
        ).stdout
        == b""
    )
