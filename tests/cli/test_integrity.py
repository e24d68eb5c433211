"""A change that weakens its judge is told to the agent once; what it leaves is for a person."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CALC, FIX, Project

Make = Callable[..., Project]
Script = Callable[..., Path]
GOAL = "make the tests pass"
TEST = CALC["tests/test_calc.py"]
WEAK = TEST.replace("assert add(2, 3) == 5", "assert add(2, 3) is not None")


def ends(project: Project, turns: Path, reason: str, *flags: str) -> dict[str, Any]:
    result: dict[str, Any] = project.run(GOAL, turns, *flags).json()
    assert result["reason"] == reason, result
    return result


def verdict(project: Project, run: str, iteration: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_evidence(project, run, iteration, "verdict.json"))
    return found


def prompt(project: Project, run: str, iteration: int) -> str:
    return _evidence(project, run, iteration, "prompt.md")


def _evidence(project: Project, run: str, iteration: int, name: str) -> str:
    return (project.root / f".git/donewhen/runs/{run}/iterations/{iteration}/{name}").read_text()


def test_the_agent_is_told_what_to_put_back_and_does(project: Project, script: Script) -> None:
    turns = script(
        {"write": {"tests/test_calc.py": WEAK}}, {"write": {"tests/test_calc.py": TEST, **FIX}}
    )
    result = ends(project, turns, "gates-passed")
    assert result["iterations"] == 2
    said = prompt(project, result["run"], 2)
    assert "test_add had `add(2, 3) == 5`, and now the looser `add(2, 3) is not None`" in said
    assert "Put back what is named here" in said


def test_what_it_leaves_is_for_a_person_with_before_and_after(
    project: Project, script: Script
) -> None:
    result = ends(
        project, script({"write": {"tests/test_calc.py": WEAK}}), "needs-human:test-change"
    )
    assert (result["exit"], result["iterations"]) == (4, 2)
    shown = project.donewhen("inbox", "show", result["run"]).expect(0).out
    assert "assertion-loosened" in shown
    assert "- add(2, 3) == 5" in shown
    assert "+ add(2, 3) is not None" in shown


def test_tests_that_only_grew_are_kept_and_need_no_second_run(
    project: Project, script: Script
) -> None:
    more = f"{TEST}\n\ndef test_more():\n    assert add(20, 22) == 42\n"
    result = ends(project, script({"write": {"tests/test_calc.py": more, **FIX}}), "gates-passed")
    assert not any("base versions" in note for note in verdict(project, result["run"], 1)["notes"])


HONEST = {
    "renamed": TEST.replace("def test_add", "def test_sum"),
    "parametrised": "import pytest\nfrom calc import add\n\n\n"
    "@pytest.mark.parametrize(('a', 'b', 'want'), [(2, 3, 5), (0, 0, 0)])\n"
    "def test_add(a, b, want):\n    assert add(a, b) == want\n",
    "moved": None,
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_on_tests_is_left_alone(project: Project, script: Script, name: str) -> None:
    text = HONEST[name]
    turn: dict[str, Any] = {"write": {**FIX, "tests/test_calc.py": text}}
    if text is None:
        turn = {"write": {**FIX, "tests/test_sums.py": TEST}, "delete": ["tests/test_calc.py"]}
    assert ends(project, script(turn), "gates-passed")["iterations"] == 1


def test_a_deleted_green_test_is_told_though_all_is_green(
    make_project: Make, script: Script
) -> None:
    other = "def test_other():\n    assert sorted([2, 1]) == [1, 2]\n"
    project = make_project({**CALC, "tests/test_other.py": other})
    turns = script(
        {"write": FIX, "delete": ["tests/test_other.py"]}, {"write": {"tests/test_other.py": other}}
    )
    result = ends(project, turns, "gates-passed")
    assert result["iterations"] == 2
    assert "tests/test_other.py::test_other" in prompt(project, result["run"], 2)


def test_cases_that_vanish_with_their_data_are_told(make_project: Make, script: Script) -> None:
    cases = (
        "import json, pathlib, pytest\nfrom calc import add\n\n"
        "CASES = json.loads(pathlib.Path('cases.json').read_text())\n\n\n"
        "@pytest.mark.parametrize('case', CASES)\n"
        "def test_case(case):\n    assert add(*case[:2]) == case[2]\n"
    )
    files = {"tests/test_cases.py": cases, "cases.json": "[[1, 0, 1], [2, 0, 2], [3, 0, 3]]"}
    project = make_project({**CALC, **files})
    turns = script({"write": {**FIX, "cases.json": "[[1, 0, 1]]"}})
    result = ends(project, turns, "needs-human:test-change")
    said = verdict(project, result["run"], 2)["integrity"][0]
    assert (said["rule"], said["path"]) == ("cases-lost", "tests/test_cases.py")


AWARE = {
    "always equal": "class Any(int):\n    def __eq__(self, other):\n        return True\n"
    "    __hash__ = int.__hash__\n\n\ndef add(a, b):\n    return Any(0)\n",
    "knows its tester": "import os\n\n\ndef add(a, b):\n"
    "    return a + b if 'PYTEST_CURRENT_TEST' in os.environ else a - b\n",
    "reads the caller": "import inspect\n\n\ndef add(a, b):\n"
    "    line = inspect.stack()[1].code_context[0]\n    return int(line.split('==')[1])\n",
}


@pytest.mark.parametrize("name", AWARE)
def test_code_that_knows_that_it_is_tested(project: Project, script: Script, name: str) -> None:
    turns = script({"write": {"src/calc/__init__.py": AWARE[name]}}, {"write": FIX})
    result = ends(project, turns, "gates-passed")
    assert result["iterations"] == 2
    assert "self-aware" in prompt(project, result["run"], 2)
