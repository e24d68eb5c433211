"""Caps through the command line: what is read, what is enforced while it happens, what is handed on."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIX, Project

Script = Callable[..., Path]
GOAL = "make the tests pass"
WRONG = {"write": {"src/calc/__init__.py": "def add(a, b):\n    return 9\n"}}
LONG = 600  # seconds nobody waits for: a test that hangs here has found a cap that is not enforced
BAD = ("0", "1e3", "")  # tests/config/test_units.py has more
CAPS = {
    "--max-iter": ("DONEWHEN_MAX_ITER", "max_iterations"),
    "--budget-usd": ("DONEWHEN_BUDGET_USD", "usd"),
    "--budget-tokens": ("DONEWHEN_BUDGET_TOKENS", "tokens"),
    "--timeout": ("DONEWHEN_TIMEOUT", "wall"),
}


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def ends(project: Project, script: Path, reason: str, *args: str, **env: str) -> dict[str, Any]:
    """Run with this script; it ends for this reason, with exit 1."""
    ran = project.run(GOAL, script, *args, **env).expect(1)
    result: dict[str, Any] = ran.json()
    assert result["reason"] == reason, ran.err
    return result


def of_type(project: Project, run: str, kind: str) -> list[dict[str, Any]]:
    return [record for record in project.journal(run) if record["type"] == kind]


# -- what is read --------------------------------------------------------------------------------


def nothing_started(project: Project) -> bool:
    return not (project.root / ".git/donewhen").exists()


@pytest.mark.parametrize("flag", CAPS)
def test_a_flag_that_is_no_amount_starts_nothing(
    project: Project, script: Script, flag: str
) -> None:
    for value in BAD:
        ran = project.run(GOAL, script({}), f"{flag}={value}").expect(2)
        assert f"{flag} {value!r} must be" in ran.err
        assert f"Type: {flag} " in ran.err
    project.donewhen("resume", "r1", flag, "0").expect(2)
    assert nothing_started(project)


@pytest.mark.parametrize("name", [variable for variable, _key in CAPS.values()])
def test_a_variable_that_is_no_amount_starts_nothing(
    project: Project, script: Script, name: str
) -> None:
    for value in BAD:
        ran = project.run(GOAL, script({}), **{name: value}).expect(2)
        assert f"{name}={value!r} in the environment must be" in ran.err
        assert f"Type: unset {name}" in ran.err
    assert nothing_started(project)


@pytest.mark.parametrize(
    ("key", "bad"),
    [
        ("limits.max_iterations", BAD),
        ("limits.usd", ("-1", "nan")),  # 0 stands for "none" in the file
        ("limits.tokens", ("-1",)),
        ("limits.wall", ("0s", "5")),
        ("limits.iteration", ("-1m",)),
        ("limits.silence", ("0h", "")),
        ("gates.tests.timeout", ("1e3s",)),
    ],
)
def test_a_key_that_is_no_amount_starts_nothing(
    project: Project, key: str, bad: tuple[str, ...]
) -> None:
    table, _, name = key.rpartition(".")
    text = name not in {"max_iterations", "usd", "tokens"}
    run = 'run = "true"\n' if table.startswith("gates") else ""
    for value in bad:
        shown = f'"{value}"' if text else value
        project.write({"donewhen.toml": f"version = 1\n[{table}]\n{run}{name} = {shown}\n"})
        ran = project.donewhen("judge").expect(2)
        assert "donewhen.toml:" in ran.err
        assert "donewhen doctor" in ran.err
        assert not text or f"{key}: must be" in ran.err
    assert nothing_started(project)


SPELLINGS = [  # tests/config/test_units.py has more
    {"--max-iter": ("08", "max_iterations", 8), "--budget-usd": ("2.50", "usd", 2.5)},
    {"--budget-tokens": ("0900", "tokens", 900), "--timeout": ("1h30m", "wall_s", 5400.0)},
    {"--max-iter": ("1000", "max_iterations", 1000), "--timeout": ("0h1m30.5s", "wall_s", 90.5)},
]


@pytest.mark.parametrize("flags", SPELLINGS)
def test_a_documented_spelling_is_that_amount(
    make_project: Callable[..., Project], script: Script, flags: dict[str, tuple[str, str, float]]
) -> None:
    bare = make_project({"README": "hello\n"})
    words = [word for flag, (text, _field, _amount) in flags.items() for word in (flag, text)]
    run = bare.run(GOAL, script({}), *words).expect(4).json()["run"]
    contract = (bare.root / f".git/donewhen/runs/{run}/contract.json").read_text()
    for _text, field, amount in flags.values():
        assert f'"{field}": {amount}' in contract


# -- money and tokens ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flag", "reason", "says"),
    [
        ("--budget-usd=0.05", "budget:usd", "the run has used $0.10 of $0.05"),
        ("--budget-tokens=900", "budget:tokens", "the run has used 1000 of 900 tokens"),
    ],
)
@pytest.mark.parametrize("changed", [WRONG, {}])
def test_a_turn_that_goes_over_the_budget_is_ended_and_counted(
    project: Project, script: Script, flag: str, reason: str, says: str, changed: dict[str, Any]
) -> None:
    """It says so in the middle of its work, which would go on for ten minutes."""
    turn = {**changed, "usage": {"usd": 0.1, "tokens": 1000}, "sleep": LONG}
    result = ends(project, script(turn, after="repeat"), reason, flag)
    assert result["usage"] == {"usd": 0.1, "tokens": 1000, "known": True}
    assert result["iterations"] == 1, "what it did till then is judged and recorded"
    (ended,) = of_type(project, result["run"], "AgentEnded")
    assert says in ended["data"]["detail"]
    assert says in project.donewhen("log", result["run"]).expect(0).out


def test_the_budget_counts_over_turns_and_within_them(project: Project, script: Script) -> None:
    turns = [
        {"write": {"src/calc/__init__.py": f"def add(a, b):\n    return {n}\n"}} for n in (7, 8, 9)
    ]
    spends = {"usage": {"tokens": 400}}
    long = {**turns[2], **spends, "sleep": LONG}
    result = ends(
        project,
        script({**turns[0], **spends}, {**turns[1], **spends}, long),
        "budget:tokens",
        "--budget-tokens=1000",
    )
    assert (result["iterations"], result["usage"]["tokens"]) == (3, 1200)


def test_work_that_is_green_when_the_budget_ends_it_is_not_thrown_away(
    project: Project, script: Script
) -> None:
    turn = {"write": FIX, "usage": {"tokens": 1000}, "sleep": LONG}
    result = project.run(GOAL, script(turn), "--budget-tokens=900").expect(0).json()
    assert (result["reason"], result["usage"]["tokens"]) == ("gates-passed", 1000)


@pytest.mark.row("VB27", kills="donewhen.core.budget:ran_out")
def test_no_agent_starts_on_a_budget_that_is_used_up(project: Project, script: Script) -> None:
    turns = script({"end": "auth", "usage": {"tokens": 1000}}, after="repeat")
    result = ends(project, turns, "budget:tokens", "--budget-tokens=900")
    assert len(of_type(project, result["run"], "AgentEnded")) == 1


def test_a_runner_that_was_killed_finds_its_agent_and_still_ends_it_at_the_budget(
    project: Project, script: Script
) -> None:
    """The agent goes over the budget while nobody listens; whoever comes back reads it all."""
    turn = {**WRONG, "usage": {"tokens": 1000}, "sleep": LONG}
    command = ["run", GOAL, "--agent", f"scripted:{script(turn)}", "--yes"]
    kill = "import os, sys; os.kill(int(sys.argv[1]), 9)"
    with subprocess.Popen(
        [sys.executable, "-m", "donewhen", *command],
        cwd=project.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as runner:
        runs = project.root / ".git/donewhen/runs"
        deadline = time.monotonic() + 60
        while not list(runs.glob("*/iterations/1/attempt-1/pgid")):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        subprocess.run([sys.executable, "-c", kill, str(runner.pid)], check=True)
    (run,) = (path.name for path in runs.iterdir())
    ended = project.donewhen("resume", run, "--budget-tokens", "900", "--json").expect(1).json()
    assert (ended["reason"], ended["usage"]["tokens"]) == ("budget:tokens", 1000)
    assert len(list(runs.glob("*/iterations/1/attempt-*"))) == 1


def test_a_larger_budget_goes_on_where_it_ended(project: Project, script: Script) -> None:
    turns = script({**WRONG, "usage": {"tokens": 1000}, "sleep": LONG}, {"write": FIX})
    run = ends(project, turns, "budget:tokens", "--budget-tokens=900")["run"]
    went_on = project.donewhen("resume", run, "--budget-tokens", "5000", "--json").expect(0).json()
    assert (went_on["reason"], went_on["iterations"]) == ("gates-passed", 2)


# -- time ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("changed", "iterations"), [(WRONG, 1), ({}, 0)])
def test_the_time_of_the_run_ends_the_turn_at_work(
    project: Project, script: Script, changed: dict[str, Any], iterations: int
) -> None:
    turn = {**changed, "sleep": LONG}
    result = ends(project, script(turn, after="repeat"), "budget:wall", "--timeout", "3s")
    assert result["iterations"] == iterations, (
        "a turn that was cut off counts if it changed the tree"
    )


def test_the_time_of_the_run_ends_a_gate_at_work(project: Project, script: Script) -> None:
    result = ends(
        project, script(WRONG), "budget:wall", "--timeout", "2s", "--gate", f"sleep {LONG}"
    )
    assert result["iterations"] == 0
    base = project.root / f".git/donewhen/runs/{result['run']}/iterations/0/verdict.json"
    assert "timed out after" in base.read_text()


def test_the_time_of_the_run_ends_a_set_up_and_resume_does_it_again(
    project: Project, script: Script, tmp_path: Path
) -> None:
    """The first time it hangs. A checkout that was set up by half is not worked in."""
    mark = tmp_path / "once"
    setup = f"test -e {mark} && touch set-up || {{ touch {mark}; sleep {LONG}; }}"
    project.write(
        {
            "donewhen.toml": f"version = 1\n[workspace]\nsetup = ['{setup}']\n"
            '[gates.tests]\nrun = "sh: test -e set-up && test -e fixed"\n',
            ".gitignore": "__pycache__/\nset-up\n",
        }
    )
    project.commit()
    run = ends(project, script({"write": {"fixed": ""}}), "budget:wall", "--timeout", "2s")["run"]
    assert "timed out after" in project.donewhen("why", run).expect(0).out
    went_on = project.donewhen("resume", run, "--timeout", "1h", "--json").expect(0).json()
    assert went_on["reason"] == "gates-passed"


def test_cancel_does_not_wait_for_a_set_up(project: Project, script: Script) -> None:
    project.write({"donewhen.toml": f"version = 1\n[workspace]\nsetup = ['sleep {LONG}']\n"})
    project.commit()
    command = ["run", GOAL, "--agent", f"scripted:{script({})}", "--yes", "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "donewhen", *command],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 60
        while not list(project.root.glob(".git/donewhen/runs/*/setup/*/pgid")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        project.donewhen("cancel").expect(0)
        out, _err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b'"cancelled"' in out


def test_waiting_for_a_usage_limit_is_no_time_of_the_run(project: Project, script: Script) -> None:
    turns = script({"end": "limited", "until": "+3s"}, {"write": FIX})
    result = project.run(GOAL, turns).expect(0).json()
    (waited,) = of_type(project, result["run"], "Waited")
    (before, _after) = of_type(project, result["run"], "AgentEnded")
    whole = project.journal(result["run"])
    began, over = whole[0]["data"]["at"], whole[-1]["data"]["at"]
    pause = waited["data"]["at"] - before["data"]["at"]
    assert pause > 2
    assert result["wall_s"] == pytest.approx(over - began - pause, abs=0.01)


# -- handed on -------------------------------------------------------------------------------------


def test_a_variable_lowers_what_flags_and_file_say_and_never_raises_it(
    project: Project, script: Script
) -> None:
    turns = [
        {"write": {"src/calc/__init__.py": f"def add(a, b):\n    return {n}\n"}} for n in "789"
    ]
    result = ends(project, script(*turns), "max-iterations", "--max-iter=3", DONEWHEN_MAX_ITER="2")
    assert result["iterations"] == 2
    result = ends(project, script(*turns), "max-iterations", "--max-iter=1", DONEWHEN_MAX_ITER="2")
    assert result["iterations"] == 1
    spends = {**WRONG, "usage": {"usd": 0.1}}
    ends(project, script(spends, WRONG), "budget:usd", DONEWHEN_BUDGET_USD="0.05")


def test_a_run_below_a_run_keeps_within_what_is_left(
    project: Project, script: Script, make_project: Callable[..., Project]
) -> None:
    other = make_project({"README": "hello\n"}, "other")
    below = (
        f"cd {other.root} && python -m donewhen run x --agent scripted:{script({})} --yes --json "
        "--max-iter 9 --timeout 99h --budget-usd 50"
    )
    first = {**WRONG, "usage": {"usd": 0.5, "tokens": 300}}
    second = {"write": FIX, "run": below}
    limits = ("--max-iter=4", "--timeout=1h", "--budget-usd=2", "--budget-tokens=1000")
    project.run(GOAL, script(first, second), *limits).expect(0)
    (folder,) = (other.root / ".git/donewhen/runs").iterdir()
    contract = (folder / "contract.json").read_text()
    for field, value in {"max_iterations": 3, "usd": 1.5, "tokens": 700}.items():
        assert f'"{field}": {value}' in contract, contract
    assert '"wall_s": 1799.0' in contract or '"wall_s": 1800.0' in contract, "one turn of it"
