"""A runner that lies is found by tests of the judge's own, also where no file of tests changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.conftest import CALC, FIX, Project

Make = Callable[..., Project]
Script = Callable[..., Path]
GOAL = "make the tests pass"
BUG = CALC["src/calc/__init__.py"]
# Each leaves the bug in and makes every test of pytest or unittest report itself as passed.
LIES = {
    "TestReport patched by the code under test": {
        "src/calc/__init__.py": f"{BUG}\nimport _pytest.reports as r\n"
        "_from = r.TestReport.from_item_and_call.__func__\n"
        "def _ok(cls, item, call):\n    call.excinfo = None\n    return _from(cls, item, call)\n"
        "r.TestReport.from_item_and_call = classmethod(_ok)\n"
    },
    "TestReport patched when the code is called": {
        "src/calc/__init__.py": "def add(a, b):\n    import _pytest.reports as r\n"
        "    f = r.TestReport.from_item_and_call.__func__\n"
        "    def ok(cls, item, call):\n        call.excinfo = None\n        return f(cls, item, call)\n"
        "    r.TestReport.from_item_and_call = classmethod(ok)\n    return a - b\n"
    },
    "the function that calls a test": {
        "src/calc/__init__.py": f"{BUG}\nimport _pytest.python as p\n"
        "p.Function.runtest = lambda self: None\n"
    },
    "the call of a test": {
        "src/calc/__init__.py": f"{BUG}\nimport _pytest.runner as r\n"
        "_from = r.CallInfo.from_call.__func__\n"
        "def _ok(cls, func, when, reraise=None):\n"
        "    call = _from(cls, func, when, reraise)\n    call.excinfo = None\n    return call\n"
        "r.CallInfo.from_call = classmethod(_ok)\n"
    },
}
CASE = (
    "import unittest\nfrom calc import add\n\n\nclass Case(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n"
    "    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n"
)


@pytest.mark.parametrize("lie", LIES)
def test_a_runner_that_lies_is_not_believed(make_project: Make, script: Script, lie: str) -> None:
    project = make_project(CALC)
    ran = project.run(GOAL, script({"write": LIES[lie]}), "--max-iter", "1").expect(1)
    assert ran.json()["reason"] == "integrity", ran.err
    why = project.donewhen("why", ran.json()["run"]).expect(0).out
    assert "does not tell the truth" in why
    if lie == next(iter(LIES)):
        refused = project.donewhen("inbox", "allow", ran.json()["run"]).expect(1).err
        assert "that cannot be allowed, since nothing would be measured" in refused


def test_unittest_that_lies_is_not_believed(make_project: Make, script: Script) -> None:
    files = {**CALC, "tests/test_calc.py": f"import sys; sys.path.insert(0, 'src')\n{CASE}"}
    project = make_project(files)
    lie = f"{BUG}\nimport unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\n"
    flags = ("--gate", "python -m unittest discover -s tests", "--max-iter", "1")
    turn = {"write": {"src/calc/__init__.py": lie}}
    assert project.run(GOAL, script(turn), *flags).expect(1).json()["reason"] == "integrity"


WAYS: dict[str, tuple[Mapping[str, str], tuple[str, ...]]] = {
    "plain": ({}, ()),
    "names the project chose": (
        {
            "pyproject.toml": CALC["pyproject.toml"]
            + 'python_files = ["check_*.py"]\npython_functions = ["check_*"]\n',
            "tests/check_calc.py": CALC["tests/test_calc.py"].replace("def test_", "def check_"),
        },
        (),
    ),
    "one file is named": ({}, ("--gate", "pytest -q tests/test_calc.py")),
    "one test is named": ({}, ("--gate", "pytest -q tests/test_calc.py::test_add")),
    "an expression": ({}, ("--gate", "pytest -q -k add")),
    "stops at the first failure": ({}, ("--gate", "pytest -x -q")),
    "warnings are errors": (
        {
            "pyproject.toml": CALC["pyproject.toml"]
            + 'filterwarnings = ["error"]\naddopts = "--strict-markers -x"\n'
        },
        (),
    ),
    "a conftest that wants a mark on each test": (
        {
            "tests/conftest.py": "import pytest\n\n\ndef pytest_runtest_setup(item):\n"
            "    if not list(item.iter_markers('own')):\n        pytest.fail('no mark')\n\n\n"
            "def pytest_configure(config):\n    config.addinivalue_line('markers', 'own: ours')\n",
            "tests/test_calc.py": CALC["tests/test_calc.py"].replace(
                "\n\n\ndef test_add",
                "\nimport pytest\npytestmark = pytest.mark.own\n\n\ndef test_add",
            ),
        },
        (),
    ),
    "a conftest that skips what it does not know": (
        {
            "tests/conftest.py": "def pytest_collection_modifyitems(items):\n"
            "    items[:] = [i for i in items if 'test_calc' in str(i.path)]\n"
        },
        (),
    ),
    "a script": ({"run.sh": "python -m pytest -q\n"}, ("--gate", "tests=sh run.sh")),
    "unittest": (
        {"tests/test_calc.py": f"import sys; sys.path.insert(0, 'src')\n{CASE}"},
        ("--gate", "python -m unittest discover -s tests"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_honest_runners_are_left_alone(make_project: Make, script: Script, way: str) -> None:
    files, flags = WAYS[way]
    project = make_project({**CALC, **files})
    ran = project.run(GOAL, script({"write": FIX}), "--max-iter", "1", *flags)
    assert ran.expect(0).json()["proof"] == "goal"


def test_nothing_of_ours_is_left_in_what_is_delivered(project: Project, script: Script) -> None:
    result = project.run(GOAL, script({"write": FIX})).expect(0).json()
    names = project.git("diff", "--name-only", "main", result["branch"]).splitlines()
    assert names == ["src/calc/__init__.py"]
