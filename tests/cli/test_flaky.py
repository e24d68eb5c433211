"""Failures that are not the agent's: flaky on the base, in quarantine; and those that are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
# Fails each third time.
FLAKE = """
import os, pathlib

def test_flake():
    seen = pathlib.Path(os.environ["SEEN"])
    seen.write_text(seen.read_text() + "x")
    assert len(seen.read_text()) % 3 != 1
"""
GOAL = "make the tests pass"


@pytest.fixture
def flaky(make_project: Callable[..., Project], tmp_path: Path) -> Project:
    (tmp_path / "seen").write_text("")
    made = make_project({**CALC, "tests/test_flake.py": FLAKE}, name="flaky")
    return Project(made.root, {"SEEN": str(tmp_path / "seen")})


def gate(verdict: dict[str, Any]) -> dict[str, Any]:
    (only,) = verdict["gates"]
    return dict(only)


def test_a_test_that_passes_alone_is_called_flaky(flaky: Project) -> None:
    flaky.write(FIX)
    verdict = flaky.donewhen("judge", "--json", "--no-cache").expect(1).json()
    (finding,) = gate(verdict)["findings"]
    assert (finding["rule"], finding["test"]) == ("flaky", "tests/test_flake.py::test_flake")
    assert "failed, then passed when it ran alone" in finding["message"]


def test_flaky_on_the_base_is_reported_and_not_charged(flaky: Project, script: Script) -> None:
    result = flaky.run(GOAL, script({"write": FIX})).expect(0).json()
    assert (result["reason"], result["proof"]) == ("gates-passed", "goal")
    verdict = flaky.donewhen("inbox", "show", result["run"], "--json").json()["verdict"]
    assert "1 flaky" in gate(verdict)["why"] or gate(verdict)["state"] == "pass"


def test_a_flake_alone_is_no_proof_of_the_goal(flaky: Project, script: Script) -> None:
    """Red only by chance at the start: turning green shows nothing."""
    flaky.write(FIX)
    flaky.commit()
    result = flaky.run(GOAL, script({"write": {"notes": "looked\n"}})).expect(4).json()
    assert result["reason"] == "needs-human:unproven"


def test_a_new_flake_blocks(project: Project, script: Script, tmp_path: Path) -> None:
    (tmp_path / "seen").write_text("")
    project = Project(project.root, {"SEEN": str(tmp_path / "seen")})
    turn = {"write": {**FIX, "tests/test_flake.py": FLAKE}}
    result = project.run(GOAL, script(turn), "--max-iter", "2").json()
    assert result["reason"] == "max-iterations"


def test_what_fails_only_with_others_is_no_flake_at_the_start(
    make_project: Callable[..., Project], script: Script
) -> None:
    """It fails each time that all run: the goal is to mend that, and mending it is proof."""
    shared = (
        "import calc\n\n\ndef test_first():\n    calc.SEEN.append(1)\n\n\n"
        "def test_second():\n    assert calc.SEEN == []\n"
    )
    mended = f"{shared}\n\ndef setup_function():\n    calc.SEEN.clear()\n"
    files = {**CALC, "src/calc/__init__.py": "SEEN = []\n", "tests/test_calc.py": shared}
    project = make_project(files, name="order")
    turn = {
        "write": {
            "src/calc/__init__.py": "class Never(list):\n    append = id\n\n\nSEEN = Never()\n"
        }
    }
    result = project.run(GOAL, script(turn)).expect(0).json()
    assert (result["reason"], result["proof"]) == ("gates-passed", "goal")
    assert mended  # a change of the test itself is for test_attacks


@pytest.mark.parametrize(("day", "code"), [("2999-01-31", 0), ("2020-01-31", 1)])
def test_quarantine_excuses_up_to_a_day(project: Project, day: str, code: int) -> None:
    project.write(
        {
            "donewhen.toml": (
                'version = 1\n[gates.tests]\nrun = "pytest -q"\n'
                f'[gates.tests.quarantine]\n"tests/test_calc.py::test_add" = {day}\n'
            )
        }
    )
    verdict = project.donewhen("judge", "--json").expect(code).json()
    assert ("in quarantine up to" in str(gate(verdict)["findings"])) == (code == 0)
    if code == 0:
        assert gate(verdict)["why"] == "1 passed, 1 quarantined"


def test_an_agent_cannot_put_a_test_in_quarantine(project: Project, script: Script) -> None:
    own = (
        'version = 1\n[gates.tests]\nrun = "pytest -q"\n'
        '[gates.tests.quarantine]\n"tests/test_calc.py::test_add" = 2999-01-31\n'
    )
    turn = {"write": {"donewhen.toml": own}}
    assert project.run(GOAL, script(turn), "--max-iter", "1").json()["exit"] == 1


@pytest.mark.parametrize("day", ['"soon"', "12", "2020-13-45", '"2026-01-31T00:00:00"'])
def test_a_day_that_is_none_is_refused(project: Project, day: str) -> None:
    text = (
        f'version = 1\n[gates.tests]\nrun = "pytest -q"\n[gates.tests.quarantine]\n"a::b" = {day}\n'
    )
    project.write({"donewhen.toml": text})
    said = project.donewhen("judge").expect(2).err
    assert "donewhen.toml:" in said
    assert "a day such as" in said or "2020-13-45" in day


@pytest.mark.parametrize("command", ["python -m unittest", "python -m unittest discover -s tests"])
def test_unittest_tells_a_flake_too(
    make_project: Callable[..., Project], tmp_path: Path, command: str
) -> None:
    (tmp_path / "seen").write_text("")
    case = (
        "import os, pathlib, unittest\n\n\nclass Case(unittest.TestCase):\n    def test_flake(self):\n"
        "        seen = pathlib.Path(os.environ['SEEN'])\n"
        "        seen.write_text(seen.read_text() + 'x')\n"
        "        self.assertNotEqual(len(seen.read_text()) % 3, 1)\n\n"
        "    def test_other(self):\n        self.assertTrue(True)\n"
    )
    project = make_project({"tests/__init__.py": "", "tests/test_flake.py": case}, name="cases")
    verdict = project.donewhen("judge", "--json", "--gate", command, SEEN=str(tmp_path / "seen"))
    assert gate(verdict.expect(1).json())["findings"][0]["rule"] == "flaky"
