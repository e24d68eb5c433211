"""`donewhen judge` for other readers: --explain, --sarif, --junit, --github."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.conftest import FIX, Project

ODD = 'def test_odd():\n    assert False, "50% <b>&\\x1b[1m,:\\nsecond line"\n'


@pytest.fixture
def odd(make_project: Callable[..., Project]) -> Project:
    return make_project({"tests/test_odd, é.py": ODD, "tests/test_ok.py": "def test_ok(): pass\n"})


def test_explain_says_what_ran_was_read_and_counted(project: Project) -> None:
    said = project.donewhen("judge", "--explain").expect(1).out
    lines = [line.split(None, 1) for line in said.splitlines() if line.startswith("  ")]
    by = {line[0]: line[1].strip() for line in lines if len(line) > 1}
    assert by["here"].endswith("[tool.pytest] in pyproject.toml")
    assert by["ran"] == "python -m pytest -q"
    assert Path(by["program"]).is_absolute()
    assert by["read"].startswith("exit 1 and a report of ")
    assert by["counted"] == "2 tests run, 1 failed"
    assert by["so"].startswith("fail: 1 failed of 2")
    assert "tests/test_calc.py::test_add" in by["found"]


def test_explain_says_what_is_weak_and_what_is_kept(project: Project) -> None:
    project.write(FIX)
    said = project.donewhen("judge", "--explain", "--gate", "sh: true").expect(0).out
    assert "it would pass just the same if it checked nothing" in said
    project.donewhen("judge").expect(0)
    assert "read          kept from 2" in project.donewhen("judge", "--explain").expect(0).out


def test_sarif(odd: Project, tmp_path: Path) -> None:
    odd.donewhen("judge", "--sarif", str(tmp_path / "a.sarif")).expect(1)
    log = json.loads((tmp_path / "a.sarif").read_text())
    (run,) = log["runs"]
    (result,) = run["results"]
    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "donewhen/tests")
    assert result["ruleId"] in [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "tests/test_odd%2C%20%C3%A9.py"
    assert place["region"]["startLine"] == 2
    assert result["partialFingerprints"]["donewhen/v1"]


def test_junit(odd: Project, tmp_path: Path) -> None:
    odd.donewhen("judge", "--junit", str(tmp_path / "a.xml"), "--gate", "+sh: false").expect(1)
    suites = ElementTree.parse(tmp_path / "a.xml").getroot()
    tests, other = suites
    assert (tests.get("tests"), tests.get("failures"), tests.get("errors")) == ("2", "1", "0")
    assert sorted(case.get("name") or "" for case in tests) == ["test_odd", "test_ok"]
    assert (other.get("tests"), other.get("failures")) == ("1", "1")


def test_junit_of_a_gate_that_cannot_measure(project: Project, tmp_path: Path) -> None:
    flags = ("--junit", str(tmp_path / "a.xml"), "--gate", "sh: no-such-program")
    project.donewhen("judge", *flags).expect(3)
    (suite,) = ElementTree.parse(tmp_path / "a.xml").getroot()
    assert suite.get("errors") == "1"
    (error,) = suite.iter("error")
    assert "no-such-program: not found" in error.get("message", "")


def test_github_annotations_cannot_be_broken_by_what_a_test_says(odd: Project) -> None:
    lines = odd.donewhen("judge", "--github").expect(1).out.splitlines()
    assert lines[0].startswith(
        "::error file=tests/test_odd%2C é.py,line=2,title=tests AssertionError::"
    )
    assert "50%25 <b>&" in lines[0]
    assert lines[1:] == ["::error title=donewhen::fail, 0 of 1 gates pass"]


def test_one_reader_of_standard_output(project: Project) -> None:
    said = project.donewhen("judge", "--json", "--github").expect(2).err
    assert "--json and --github both print the verdict" in said


def test_a_report_that_cannot_be_written_is_said_first(project: Project, tmp_path: Path) -> None:
    said = project.donewhen("judge", "--sarif", str(tmp_path / "no/a.sarif")).expect(2).err
    assert f"mkdir -p {tmp_path / 'no'}" in said
    said = project.donewhen("judge", "--junit", str(tmp_path)).expect(2).err
    assert str(tmp_path) in said
