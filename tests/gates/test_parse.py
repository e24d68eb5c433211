"""What people type after --gate, and what their donewhen.toml says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.errors import UnknownName, UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.command import program_at, program_of, swallowed, unwrapped
from donewhen.gates.parse import from_config, from_dict, is_addition, parse_flag, to_dict, unique

FLAGS = {
    # flag: name, argv, format, kind
    "pytest -q": ("tests", ("pytest", "-q"), "pytest", "test"),
    "python -m pytest 'a b'": ("tests", ("python", "-m", "pytest", "a b"), "pytest", "test"),
    "unit=pytest -k 'x or y'": ("unit", ("pytest", "-k", "x or y"), "pytest", "test"),
    "+unit=pytest": ("unit", ("pytest",), "pytest", "test"),
    "+ pytest": ("tests", ("pytest",), "pytest", "test"),
    "env FOO=1 pytest": ("tests", ("env", "FOO=1", "pytest"), "pytest", "test"),
    "python -m unittest -v": ("tests", ("python", "-m", "unittest", "-v"), "unittest", "test"),
    "ruff check .": ("lint", ("ruff", "check", "."), "ruff", "lint"),
    "python -m mypy": ("types", ("python", "-m", "mypy"), "exit", "types"),
    "sh: make && echo '$X'": ("sh", ("sh", "-c", "make && echo '$X'"), "exit", "other"),
    "docs=sh: a=1; make": ("docs", ("sh", "-c", "a=1; make"), "exit", "other"),
    "./run checks.sh": ("run", ("./run", "checks.sh"), "exit", "other"),
    "UNIT=true": ("UNIT", ("true",), "exit", "other"),
    "tool --flag=x=y": ("tool", ("tool", "--flag=x=y"), "exit", "other"),
    "npx vitest --outputFile={report}": (
        "tests", ("npx", "vitest", "--outputFile={report}"), "junit", "test"),
}  # fmt: skip


@pytest.mark.parametrize("flag", FLAGS)
def test_flags(flag: str) -> None:
    gate = parse_flag(flag)
    assert (gate.name, gate.argv, gate.format, gate.kind) == FLAGS[flag]
    assert gate.weak is (gate.format == "exit")
    assert gate.source == "flag"
    assert is_addition(flag) is flag.startswith("+")


BAD_FLAGS = {
    "": ("has no command", "--gate 'pytest -q'"),
    "+": ("has no command", "pytest -q"),
    "''": ("has no command", "pytest -q"),
    "sh:": ("has no command after sh:", "sh: make lint"),
    "a 'b": ("cannot be split: No closing quotation", "sh: ..."),
    "a\0b": ("holds a NUL byte", "pytest -q"),
    "FOO=1 pytest": ("begins with a variable", "--gate 'env FOO=1 pytest' or --gate 'sh: FOO=1 pytest'"),
    "FOO=1 BAR=2 make": ("begins with a variable", "env FOO=1 BAR=2 make"),
    "unit=FOO=1 pytest": ("begins with a variable", "unit=env FOO=1 pytest"),
    "UNIT=pytest -q": ("begins with a variable", "--gate 'unit=pytest -q'"),
    "sh: pytest -q 2>&1 | tee log": ("can never fail", "sh: pytest -q 2>&1"),
    "sh: make test | tee -a log 2>&1": ("can never fail", "--gate 'make test'"),
    "sh: cargo test |& cat;": ("can never fail", "cargo test"),
    "sh: pytest -q || true": ("its exit code is that of `true`, not of `pytest -q`", "--gate 'pytest -q'"),
    "sh: pytest -q; echo 'done; ok'": ("can never fail", "--gate 'pytest -q'"),
    "sh: cd api\npytest -q\nexit 0": ("of `exit 0`", "cd api\npytest -q"),
    "sh: pytest -q || :": ("can never fail", "--gate 'pytest -q'"),
    "sh: pytest -q &": ("is that of `&`", "--gate 'pytest -q'"),
    "pytest -q || true": ("can never fail", "--gate 'pytest -q'"),
}  # fmt: skip


@pytest.mark.parametrize("flag", BAD_FLAGS)
def test_bad_flags_say_what_where_and_what_to_type(flag: str) -> None:
    what, hint = BAD_FLAGS[flag]
    with pytest.raises(UsageError) as caught:
        parse_flag(flag)
    assert what in caught.value.message
    assert repr(flag) in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    "script",
    [
        "make test | grep -q passed",
        "set -o pipefail; make | tee log",
        "make | tee log; exit ${PIPESTATUS[0]}",
        "make | tee log\ntest -s log",
        "make || cat log",
        "make || exit 1; echo done",
        "set -eu; make; echo done",
        "make && echo done",
        "echo begins; make",
        "make || { echo failed; exit 1; }",
        "if make; then true; else false; fi",
        "make & wait $!",
        "for x in a b; do make $x || exit 1; done; true",
        "echo a; true",
        "make; echo made > stamp",
        "cat log | grep x",
        "echo 'a | tee' && make",
        "make # | tee log",
        "make > log 2>&1",
        "grep -e'a | tee' x",
        'test "$(make | tail -1)" = ok',
        "test $(make | tail -1) = ok",
    ],
)
def test_a_script_that_can_fail_is_taken(script: str) -> None:
    assert swallowed(script) is None


PROGRAMS = {
    "pytest": "pytest",
    ".venv/bin/pytest -q": "pytest",
    "py.test": "py.test",
    "python3.12 -X dev -W error -m pytest": "pytest",
    "uv run pytest": "pytest",
    "uv run --frozen --with x -- python -m pytest -q": "pytest",
    "uv run -m pytest": "pytest",
    "uvx --with plugin pytest": "pytest",
    "poetry run python -m unittest": "unittest",
    "env -u FOO A=1 B=2 timeout -k 5 600 pytest": "pytest",
    "coverage run --source src -m pytest tests": "pytest",
    "python -m coverage run -m unittest discover": "unittest",
    "coverage report --fail-under 90": "coverage",
    "python check.py -m pytest": "python",
    "python -c 'import pytest'": "python",
    "tox -e py": "tox",
    "env A=1": "",
    "uv run": "",
    "make pytest": "make",
}


@pytest.mark.parametrize("command", PROGRAMS)
def test_the_program_that_really_runs(command: str) -> None:
    argv = tuple(command.replace("'", "").split())
    assert program_of(argv) == PROGRAMS[command]
    assert program_at(argv) == (-1 if not PROGRAMS[command] else program_at(list(argv)))


def test_what_starts_a_command_is_taken_away_but_not_its_interpreter() -> None:
    assert unwrapped(("uv", "run", "--frozen", "python", "-m", "pytest")) == (
        "python",
        "-m",
        "pytest",
    )
    assert unwrapped(()) == ()


@given(st.lists(st.sampled_from(["env", "uv", "run", "-m", "--", "python", "-X", "coverage", "A=1", "pytest", "-k"]), max_size=8))  # fmt: skip
def test_any_words_name_a_program_or_none(words: list[str]) -> None:
    assert -1 <= program_at(words) < max(1, len(words))
    program_of(words)


def test_names_are_unique_whatever_they_were() -> None:
    names = ["tests", "tests", "tests-2", "tests", "lint"]
    gates = unique(GateDef(name, ("true",)) for name in names)
    assert [g.name for g in gates] == ["tests", "tests-3", "tests-2", "tests-4", "lint"]


def test_a_table_of_the_configuration() -> None:
    values: dict[str, Any] = {
        "run": "make check", "format": "pytest", "timeout": "1h30m", "inputs": ["*.py"],
        "required": False, "hermetic": False, "writes": ["x"], "pass_codes": [0, 2],
        "env": ["PYTHONPATH"], "cwd": "sub", "empty": "pass",
    }  # fmt: skip
    gate = from_config("unit", values)
    assert gate == GateDef(
        "unit", ("make", "check"), "pytest", "config", "test", "configured", 5400.0, "sub", False,
        False, (0, 2), ("PYTHONPATH",), ("*.py",), ("x",), False, "pass",
    )  # fmt: skip
    assert from_config("t", {"run": "true", "timeout": 5.0}).timeout == 5.0


BAD_TABLES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no run": ({}, "has no command", 'run = "pytest -q"'),
    "run is no text": ({"run": 3}, "has no command", "run ="),
    "unknown key": ({"run": "true", "timout": "5s"}, "unknown key 'timout'", "timeout"),
    "what only we set": ({"run": "true", "argv": ["x"]}, "unknown key 'argv'", ""),
    "timeout": ({"run": "true", "timeout": "soon"}, "timeout = 'soon' must be a duration", "15m"),
    "pipe": ({"run": "sh: make | tee log"}, "can never fail", 'run = "make"'),
    "quotes": ({"run": "a 'b"}, "[gates.g] run = \"a 'b\" cannot be split", "sh:"),
    "junit without a report": ({"run": "true", "format": "junit"}, "where the report goes", "{report}"),
    "unittest for make": ({"run": "make", "format": "unittest"}, "for another program", "unittest"),
    "cwd above": ({"run": "true", "cwd": "../x"}, "is not below the project", "cwd ="),
    "cwd absolute": ({"run": "true", "cwd": "/etc"}, "is not below the project", "cwd ="),
    "empty": ({"run": "true", "empty": "skip"}, "neither fail nor pass", "empty ="),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(case: str) -> None:
    values, what, hint = BAD_TABLES[case]
    with pytest.raises(UsageError) as caught:
        from_config("g", values)
    assert what in caught.value.message
    assert "[gates.g]" in caught.value.message
    assert hint in caught.value.hint


def test_bad_names_and_formats() -> None:
    with pytest.raises(UsageError, match="letters, digits"):
        from_config("a/b", {"run": "true"})
    with pytest.raises(UnknownName, match="known: exit, junit, "):
        from_config("g", {"run": "true", "format": "nosuch"})


@pytest.mark.parametrize("flag", FLAGS)
def test_a_gate_survives_the_contract(flag: str) -> None:
    gate = parse_flag(flag)
    assert from_dict(json.loads(json.dumps(to_dict(gate)))) == gate
    with pytest.raises(TypeError):
        from_dict({**to_dict(gate), "nosuch": 1})
