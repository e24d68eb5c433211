"""What somebody who has only the README runs into: each end says why, and what to type next."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
Make = Callable[..., Project]
GOAL = "make the tests pass"
QUICK = ("--gate", "sh: test -e done")


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def said(project: Project, *args: str, code: int, agent: Path | str = "") -> str:
    """Everything that `run` prints for a person."""
    by = agent if isinstance(agent, str) else f"scripted:{agent}"
    ran = project.donewhen("run", GOAL, "--agent", by, "--yes", *args).expect(code)
    return ran.err + ran.out


# -- gates -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("python -m pytest --nosuch", "unrecognized arguments: --nosuch"),
        ("python -m unittest --nosuch", "unrecognized arguments: --nosuch"),
        ("ruff check --nosuch", "unexpected argument '--nosuch'"),
    ],
)
def test_a_usage_error_at_the_baseline_ends_the_run(
    project: Project, script: Script, gate: str, says: str
) -> None:
    shown = said(project, "--gate", f"mine={gate}", code=3, agent=script({"write": FIX}))
    assert "gate-error:mine (exit 3) after 0 iterations" in shown
    assert says in shown.partition("gate-error:mine")[2], "the end itself says what is wrong"
    assert 'donewhen run "..." --gate CMD' in shown


TOOL = "import argparse\np = argparse.ArgumentParser()\n{more}\np.parse_args()\n"


@pytest.mark.parametrize(
    ("gate", "turn"),
    [
        (
            "python -m pytest -q tests/test_new.py",
            {"write": {**FIX, "tests/test_new.py": "def test_n():\n    assert True\n"}},
        ),
        (
            "python tool.py --new",
            {
                "write": {
                    "tool.py": TOOL.format(more="p.add_argument('--new', action='store_true')")
                }
            },
        ),
    ],
)
def test_what_the_agent_can_still_write_is_no_usage_error(
    make_project: Make, script: Script, gate: str, turn: Mapping[str, Any]
) -> None:
    project = make_project({**CALC, "tool.py": TOOL.format(more="")})
    said(project, "--gate", gate, code=0, agent=script(turn))


def test_a_missing_tool_names_the_python_and_how_to_get_it(project: Project) -> None:
    python = shutil.which("python")
    gate = project.donewhen("judge", "--json", "--gate", "python -m mypy").expect(3).json()
    why = gate["gates"][0]["why"]
    assert f"No module named mypy in {python}" in why
    assert f"Type: {python} -m pip install mypy" in why
    assert "--gate '/path/to/python -m mypy'" in why


def test_where_no_gate_is_required_nothing_is_decided(project: Project, script: Script) -> None:
    gates = "".join(f"[gates.{n}]\nrun = '{n}'\nrequired = false\n" for n in ("true", "false"))
    project.write({"donewhen.toml": f"version = 1\n{gates}"})
    verdict = project.donewhen("judge", "--json").expect(3).json()
    assert verdict["verdict"] == "error"
    assert "set required = true" in verdict["notes"][0]
    shown = said(project, code=2, agent=script({}))
    assert "donewhen.toml: no gate is required (true, false)" in shown
    assert not list((project.root / ".git/donewhen").glob("runs/*"))


def test_judge_names_no_file_that_is_gone(project: Project) -> None:
    verdict = project.donewhen("judge", "--json").expect(1).json()
    logs = [gate["log"] for gate in verdict["gates"]]
    assert all(Path(log).exists() for log in logs if log)


def test_counts_are_said_once_and_in_the_right_number(make_project: Make) -> None:
    project = make_project(CALC)
    shown = project.donewhen("judge").expect(1).out
    assert "1 failed of 2 tests" in shown
    assert shown.count("failed of") == 1
    project.write({"tests/test_calc.py": "def test_a():\n    assert 0\n"})
    assert "1 failed of 1 test\n" in project.donewhen("judge").expect(1).out
    project.write({"tests/test_calc.py": "import pytest\n@pytest.mark.skip\ndef test_a(): pass\n"})
    assert "the only test was skipped" in project.donewhen("judge").expect(3).out
    missing = project.donewhen("judge", "--gate", "nosuch --check").expect(3).out
    assert missing.count("looked in PATH=") == 1


# -- what people type ------------------------------------------------------------------------------

TYPED = {
    ("run", "fix", "the bug"): "donewhen run 'fix the bug'",
    ("run", "- [ ] fix it"): "donewhen run -- '- [ ] fix it'",
    ("judge", "pytest", "-q"): "donewhen judge --help",
    ("judge", "pytest"): "donewhen judge --gate pytest",
    ("accept", "r1"): "Did you mean `donewhen inbox accept`?",
    ("inbox", "accept"): "Type `donewhen inbox`, which lists them",
    ("resume",): "Type `donewhen status`, which lists them",
    ("fix the bug",): 'donewhen run "fix the bug"',
    ("jugde",): "Did you mean `donewhen judge`?",
    ("judge", "--gates", "pytest"): "Did you mean '--gate'?",
}


def test_near_misses_are_told_what_to_type(project: Project) -> None:
    for words, says in TYPED.items():
        assert says in project.donewhen(*words).expect(2).err, words
    assert not (project.root / ".git/donewhen").exists()


# -- the agent -------------------------------------------------------------------------------------


def test_a_limit_says_until_when(project: Project, script: Script) -> None:
    turn = {"end": "limited", "until": "2100-01-01T00:00:00Z"}
    shown = said(project, "--no-wait", *QUICK, code=3, agent=script(turn))
    assert "usage limit is reached" in shown
    assert shown.count("until 2100-01-01T00:00:00Z") >= 2, "when it happens and at the end"


def test_a_refused_login_says_to_log_in(project: Project, script: Script) -> None:
    shown = said(project, *QUICK, code=3, agent=script(*[{"end": "auth"}] * 4))
    assert "not logged in, or its key is refused" in shown
    assert "next    donewhen resume" in shown


def test_new_is_what_the_iteration_before_did_not_have(make_project: Make, script: Script) -> None:
    project = make_project(CALC)
    broken = "def add(a, b):\n    return a - b - 1\n"
    run = (
        project.run(
            GOAL,
            script(
                {"write": {"src/calc/__init__.py": broken}},
                {"write": {"note.txt": "x"}},
                {"write": FIX},
            ),
        )
        .expect(0)
        .json()["run"]
    )
    prompts = [
        project.read(f".git/donewhen/runs/{run}/iterations/{n}/prompt.md") for n in (1, 2, 3)
    ]
    row = [
        next(
            (line for line in p.splitlines() if line.startswith("- tests") and "test_zero" in line),
            "",
        )
        for p in prompts
    ]
    assert row[0] == ""
    assert ", new: " in row[1]
    assert row[2]
    assert ", new: " not in row[2]


# -- banner, labels, resume ------------------------------------------------------------------------


def test_the_baseline_is_no_iteration(project: Project, script: Script) -> None:
    shown = said(project, *QUICK, code=0, agent=script({"write": {"done": ""}}))
    lines = [line for line in shown.splitlines() if line.startswith("[")]
    baseline = [line for line in lines if line.startswith("[base]")]
    assert baseline == lines[:3]
    assert baseline[2].startswith("[base] baseline: fail")
    assert not [line for line in lines if line.startswith("[0]")]
    assert lines[3].startswith("[1] the agent works")


def test_without_a_gate_the_banner_promises_none(make_project: Make, script: Script) -> None:
    project = make_project({"README": "x\n"})
    shown = said(project, code=4, agent=script({"write": {"a": "b"}}))
    assert "gates   none found, so there is one turn" in shown
    assert "done    when you say so: nothing is measured" in shown
    assert "every required gate" not in shown.partition("needs-human")[0]
    assert "baseline" not in shown


def test_resume_says_why_it_stays(project: Project, script: Script) -> None:
    run = project.run(GOAL, script({}, {}, {}), *QUICK).expect(1).json()["run"]
    stays = project.donewhen("resume", run).expect(1)
    assert f"note    {run} ended stuck:idle, and nothing has changed since" in stays.err
    journal = project.journal(run)
    low = project.donewhen("resume", run, "--max-iter", "2").expect(2)
    assert "--max-iter 2: the run has used 3 already" in low.err
    assert "Type: --max-iter 13" in low.err
    assert project.journal(run) == journal
    project.donewhen("inbox", "reject", run).expect(0)
    closed = project.donewhen("resume", run, "--max-iter", "20").expect(1)
    assert f"note    {run} was rejected, which is final" in closed.err


def test_resume_of_a_final_end_says_so(project: Project, script: Script) -> None:
    run = project.run(GOAL, script({"write": {"done": ""}}), *QUICK).expect(0).json()["run"]
    assert f"{run} has ended for good" in project.donewhen("resume", run).expect(0).err
    project.donewhen("inbox", "accept", run).expect(0)
    ended = project.donewhen("resume", run, "--json").expect(0)
    assert f"{run} was accepted, which is final" in ended.err
    assert ended.json()["run"] == run
