"""[integrity]: tests that no agent sees, further files that are guarded, tests that may change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_integrity import ends, prompt, verdict
from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
HIDDEN = "from calc import add\n\n\ndef test_secret_sums():\n    assert add(20, 22) == 42\n"
SPECIAL = "def add(a, b):\n    return 5 if (a, b) == (2, 3) else a - b\n"
WEAK = CALC["tests/test_calc.py"].replace("assert add(2, 3) == 5", "assert add(2, 3)")


def configured(project: Project, *lines: str) -> None:
    text = "version = 1\n[integrity]\n" + "\n".join(lines)
    project.write({"donewhen.toml": f"{text}\n"})
    project.commit("configuration")


@pytest.fixture
def hidden(project: Project) -> Path:
    folder = project.root.parent / "hidden"
    folder.mkdir()
    (folder / "test_more.py").write_text(HIDDEN)
    configured(project, 'holdout = "../hidden"')
    return folder


@pytest.mark.usefixtures("hidden")
def test_special_cases_for_the_visible_tests_fail_those_that_no_agent_sees(
    project: Project, script: Script
) -> None:
    turns = script(
        {"write": {"src/calc/__init__.py": SPECIAL}},
        {"write": FIX},
    )
    result = ends(project, turns, "gates-passed")
    assert result["iterations"] == 2
    said = prompt(project, result["run"], 2)
    assert "holdout: fail, 1 of 1 tests that you are not shown fail" in said
    for secret in ("test_secret_sums", "test_more", "hidden", "42"):
        assert secret not in said
    gates = {g["name"]: g["state"] for g in verdict(project, result["run"], 2)["gates"]}
    assert gates == {"tests": "pass", "holdout": "pass"}


def test_judge_runs_them_and_says_why_they_are_there(project: Project, hidden: Path) -> None:
    said = project.donewhen("judge", "--explain").expect(1).out
    assert "test_secret_sums" in said
    assert "holdout: tests that no agent is shown" in said
    asked = project.donewhen("judge", "--json", DONEWHEN_RUN="r1").expect(1)  # by the agent
    assert "test_secret_sums" not in asked.out
    assert "1 of 1 tests that you are not shown fail" in asked.out
    project.write(FIX)
    project.donewhen("judge").expect(0)
    (hidden / "test_more.py").write_text(HIDDEN.replace("42", "43"))
    project.donewhen("judge").expect(1)  # not kept: they are no part of the tree


def test_a_holdout_that_cannot_be_one_says_what_where_and_what_to_do(project: Project) -> None:
    configured(project, 'holdout = "tests"')
    inside = project.donewhen("judge").expect(2).err
    assert "integrity.holdout" in inside
    assert "lies in the repository, where the agent reads it" in inside
    configured(project, 'holdout = "../nowhere"')
    assert "is no folder" in project.donewhen("judge").expect(2).err
    text = 'version = 1\n[integrity]\nholdout = "{}"\n[gates.holdout]\nrun = "pytest -q"\n'
    project.write({"donewhen.toml": text.format(project.root.parent)})
    assert "a gate of yours is called holdout already" in project.donewhen("judge").expect(2).err
    configured(project, f'holdout = "{project.root.parent}"')
    other = project.donewhen("judge", "--gate", "true").expect(2).err
    assert "holdout needs a gate that runs pytest or unittest" in other


def test_a_file_that_the_configuration_guards_is_judged_with_its_base_version(
    project: Project, script: Script
) -> None:
    gate = '[gates.tests]\nrun = "sh: sh checks/run.sh && python -m pytest -q"\n'
    project.write(
        {"checks/run.sh": ". ./checks/rules\n", "checks/rules": "grep -q 'a + b' src/*/*.py\n"}
    )
    project.write({"donewhen.toml": f'version = 1\n[integrity]\nprotect = ["checks/**"]\n{gate}'})
    project.commit("a check")
    cheat = {
        "checks/rules": "true\n",
        "src/calc/__init__.py": FIX["src/calc/__init__.py"].replace("a + b", "b + a"),
    }
    result = ends(project, script({"write": cheat}), "needs-human:test-change")
    found = verdict(project, result["run"], 1)["integrity"]
    assert [(f["rule"], f["path"]) for f in found] == [("test-change", "checks/rules")]
    assert "checks/**" in prompt(project, result["run"], 1)


def test_where_tests_may_change_freely_that_is_said_and_not_asked(
    project: Project, script: Script
) -> None:
    configured(project, "allow_test_changes = true")
    result = ends(project, script({"write": {"tests/test_calc.py": WEAK}}), "gates-passed")
    notes = " ".join(verdict(project, result["run"], 1)["notes"])
    assert "allow_test_changes: tests were not held to their base versions" in notes
