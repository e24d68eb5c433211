"""What a project's own files say: which gates, and why."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from donewhen.gates.detect import detect
from tests.gates.conftest import Run, Write

ALL = frozenset({"python", "-m pytest", "-m ruff", "-m mypy", "npm", "go", "cargo"})
NO_PYTEST = ALL - {"-m pytest"}
CASE = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
FUNCTION = "def test_a(): pass\n"
PYTEST = ("tests", "python -m pytest -q", "pytest", "test")

FOUND: dict[str, tuple[dict[str, str], frozenset[str], tuple[str, str, str, str], str]] = {
    "pyproject": ({"pyproject.toml": "[tool.pytest.ini_options]\n"}, ALL, PYTEST, "[tool.pytest] in pyproject.toml"),
    "pyproject, new table": ({"pyproject.toml": "[tool.pytest]\n"}, ALL, PYTEST, "[tool.pytest] in pyproject.toml"),
    "pytest.ini": ({"pytest.ini": ""}, ALL, PYTEST, "pytest.ini"),
    "tox.ini": ({"tox.ini": "[tox]\n[pytest]\n"}, ALL, PYTEST, "[pytest] in tox.ini"),
    "setup.cfg": ({"setup.cfg": "[tool:pytest]\n"}, ALL, PYTEST, "[tool:pytest] in setup.cfg"),
    "conftest": ({"tests/conftest.py": ""}, ALL, PYTEST, "tests/conftest.py"),
    "functions": ({"tests/test_a.py": FUNCTION}, ALL, PYTEST, "tests/test_a.py is written for pytest"),
    "in the package": ({"pkg/tests/test_a.py": FUNCTION}, ALL, PYTEST, "pkg/tests/test_a.py is written for pytest"),
    "beside the code": ({"pkg/a_test.py": FUNCTION}, ALL, PYTEST, "pkg/a_test.py is written for pytest"),
    "byte order mark": ({"pyproject.toml": "\ufeff[tool.pytest]\r\n"}, ALL, PYTEST, "[tool.pytest] in pyproject.toml"),
    "cases, run by pytest": ({"tests/test_a.py": CASE}, ALL, PYTEST, "tests/test_a.py uses unittest"),
    "pytest as a program": ({"pytest.ini": ""}, frozenset({"pytest"}), ("tests", "pytest -q", "pytest", "test"), "pytest.ini"),
    "pytest wanted but missing": ({"pytest.ini": ""}, NO_PYTEST, PYTEST, "pytest.ini"),
    "only python3": ({"pytest.ini": ""}, frozenset({"python3", "-m pytest"}), ("tests", "python3 -m pytest -q", "pytest", "test"), "pytest.ini"),
    "unittest": ({"test_a.py": CASE}, NO_PYTEST, ("tests", "python -m unittest", "unittest", "test"), "test_a.py uses unittest"),
    "unittest in a package": ({"tests/test_a.py": CASE, "tests/__init__.py": ""}, NO_PYTEST, ("tests", "python -m unittest", "unittest", "test"), "tests/test_a.py uses unittest"),
    "unittest in a folder": ({"tests/test_a.py": CASE}, NO_PYTEST, ("tests", "python -m unittest discover -s tests", "unittest", "test"), "tests/test_a.py uses unittest"),
    "unittest in a package of a folder": ({"tests/unit/test_a.py": CASE, "tests/unit/__init__.py": ""}, NO_PYTEST, ("tests", "python -m unittest discover -s tests", "unittest", "test"), "tests/unit/test_a.py uses unittest"),
    "ruff": ({"pyproject.toml": "[tool.ruff]\n"}, ALL, ("lint", "python -m ruff check .", "ruff", "lint"), "[tool.ruff] in pyproject.toml"),
    "ruff.toml and a program": ({"ruff.toml": ""}, frozenset({"ruff"}), ("lint", "ruff check .", "ruff", "lint"), "ruff.toml"),
    "mypy": ({"pyproject.toml": "[tool.mypy]\nfiles = ['src']\n"}, ALL, ("types", "python -m mypy", "exit", "types"), "[tool.mypy] in pyproject.toml"),
    "mypy without files": ({"mypy.ini": "[mypy]\n"}, ALL, ("types", "python -m mypy .", "exit", "types"), "mypy.ini"),
    "mypy in setup.cfg": ({"setup.cfg": "[mypy]\nfiles = src\n"}, ALL, ("types", "python -m mypy", "exit", "types"), "[mypy] in setup.cfg"),
    "npm": ({"package.json": '{"scripts": {"test": "vitest"}}'}, ALL, ("npm-test", "env CI=1 npm test --silent", "exit", "test"), "scripts.test in package.json: vitest"),
    "go": ({"go.mod": ""}, frozenset(), ("go-test", "go test ./...", "go-test", "test"), "go.mod"),
    "cargo, missing": ({"Cargo.toml": ""}, frozenset(), ("cargo-test", "cargo test --quiet", "exit", "test"), "Cargo.toml"),
}  # fmt: skip


@pytest.mark.parametrize("case", FOUND)
def test_found(write: Write, case: str) -> None:
    files, tools, expected, why = FOUND[case]
    (gate,) = detect(write(files), tools.__contains__)
    assert (gate.name, gate.command, gate.format, gate.kind) == expected
    assert gate.why == why
    assert gate.source == "detected"
    assert gate.weak is (gate.format == "exit")


NOTHING = {
    "empty": {},
    "the placeholder of npm init": {
        "package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'
    },
    "odd package.json": {"package.json": '{"scripts": ["test"]}'},
    "no table": {"package.json": "[1]", "pyproject.toml": "tool = 3\n"},
    "broken files": {"package.json": "{", "pyproject.toml": "[tool.pytest", "setup.cfg": "\0"},
    "a script": {"test.py": "print(1)\n", "testing.py": "x = 1\n"},
    "tests of others": {
        "node_modules/x/test_a.py": FUNCTION,
        ".venv/lib/test_a.py": FUNCTION,
        "own-env/pyvenv.cfg": "",
        "own-env/lib/test_a.py": FUNCTION,
        "tests/node_modules/test_a.py": FUNCTION,
        "sub/.git": "gitdir: elsewhere",
        "sub/test_a.py": FUNCTION,
        "tests/data/test_a.py": FUNCTION,
    },
    "a section in a comment": {"tox.ini": "# [pytest]\n"},
}


@pytest.mark.parametrize("case", NOTHING)
def test_nothing_found(write: Write, case: str) -> None:
    assert detect(write(NOTHING[case]), ALL.__contains__) == []


def test_lint_only_where_its_tool_is(write: Write) -> None:
    files = {"pyproject.toml": "[tool.ruff]\n[tool.mypy]\n"}
    assert detect(write(files), frozenset({"python"}).__contains__) == []


def test_all_of_a_mixed_project_in_order(write: Write) -> None:
    files = {
        "pyproject.toml": "[tool.mypy]\n[tool.ruff]\n[tool.pytest]\n",
        "package.json": json.dumps({"scripts": {"test": "jest"}}),
        "go.mod": "",
    }
    names = [g.name for g in detect(write(files), ALL.__contains__)]
    assert names == ["tests", "lint", "types", "npm-test", "go-vet", "go-test"]


def test_a_large_tree_is_not_walked_to_its_end(write: Write) -> None:
    root = write({f"p{n}/m.py": "" for n in range(600)} | {"zz/test_a.py": FUNCTION})
    asked: list[str] = []

    def has(name: str) -> bool:
        asked.append(name)
        return False

    assert detect(root, has) == []
    assert len(asked) < 10


@pytest.mark.parametrize(
    "files",
    [
        {"test_a.py": CASE},
        {"tests/test_a.py": CASE},
        {"tests/test_a.py": CASE, "tests/__init__.py": ""},
        {"tests/unit/test_a.py": CASE, "tests/unit/__init__.py": ""},
        {"the tests/test_a.py": CASE},
    ],
)
def test_the_detected_unittest_command_finds_the_tests(
    write: Write, run: Run, files: dict[str, str]
) -> None:
    root = write(files)
    (gate,) = detect(root, NO_PYTEST.__contains__)
    assert run(root, gate).why == "1 test passed"
    assert Path(sys.executable).exists()
