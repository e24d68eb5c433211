"""donewhen.toml through the command line: it counts, flags win over it, and a fault starts nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import FIX, GREPPED, Project

Script = Callable[..., Path]
GOAL = "make the tests pass"
WRONG = [
    {"write": {"src/calc/__init__.py": f"def add(a, b):\n    return {n}\n"}} for n in (9, 8, 7, 6)
]


@pytest.mark.row("V4", kills="donewhen.config.check:checked")
def test_limits_of_the_file_count_and_flags_win(grepped: Project, script: Script) -> None:
    project = grepped
    toml = GREPPED["donewhen.toml"] + "[limits]\nmax_iterations = 2\n"
    project.write({"donewhen.toml": toml})
    ran = project.run(GOAL, script(*WRONG)).expect(1)
    assert "2 iterations" in ran.err
    assert (ran.json()["reason"], ran.json()["iterations"]) == ("max-iterations", 2)
    ran = project.run(GOAL, script(*WRONG), "--max-iter", "1").expect(1)
    assert (ran.json()["reason"], ran.json()["iterations"]) == ("max-iterations", 1)


def test_without_a_word_there_are_ten_iterations(grepped: Project, script: Script) -> None:
    assert "10 iterations, 4h, no money cap" in grepped.run(GOAL, script({"write": FIX})).err


def test_gates_of_the_file_replace_detection_and_flags_replace_both(project: Project) -> None:
    project.write({"pyproject.toml": '[tool.donewhen.gates.fine]\nrun = "true"\n'})
    assert [g["name"] for g in project.donewhen("judge", "--json").expect(0).json()["gates"]] == [
        "fine"
    ]
    found = project.donewhen("judge", "--json", "--gate", "mine=false").expect(1).json()["gates"]
    assert [g["name"] for g in found] == ["mine"]


@pytest.mark.parametrize("command", [("run", GOAL, "--yes"), ("judge",)])
@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("donewhen.toml", "version = 1\n[limits]\nwal = '1h'\n", ":3: limits.wal: unknown key"),
        ("donewhen.toml", "version = 1\n[limits\n", ":2: not valid TOML"),
        ("pyproject.toml", "[tool.donewhen]\nbaselin = 'auto'\n", ":2: tool.donewhen.baselin"),
    ],
)
def test_a_fault_starts_nothing(
    project: Project, script: Script, command: tuple[str, ...], file: str, text: str, says: str
) -> None:
    project.write({file: text})
    agent = ("--agent", f"scripted:{script({})}") if command[0] == "run" else ()
    ran = project.donewhen(*command, *agent).expect(2)
    assert f"{file}{says}" in ran.err
    assert "Traceback" not in ran.err
    assert not (project.root / ".git/donewhen").exists()


def test_doctor_shows_the_fault(project: Project) -> None:
    project.write({"donewhen.toml": "version = 1\n[verifier]\nrounds = 3\n"})
    assert (
        "donewhen.toml:3: verifier.rounds: this version acts on"
        in project.donewhen("doctor").expect(1).out
    )


def test_what_init_writes_is_read_back(project: Project) -> None:
    before = project.donewhen("judge", "--json").json()["gates"][0]
    project.donewhen("init").expect(0)
    after = project.donewhen("judge", "--json").json()["gates"][0]
    assert (after["name"], after["state"], after["counts"]) == (
        before["name"],
        before["state"],
        before["counts"],
    )


def test_a_template_of_the_users_own(project: Project, script: Script) -> None:
    own = "$goal\n\nHouse rule: it costs $$5.\n\n$gates\n\n$feedback\n"
    project.write({".donewhen/prompts/anchor.md": own})
    run = project.run(GOAL, script({"write": FIX})).expect(0).json()["run"]
    prompt = project.read(f".git/donewhen/runs/{run}/iterations/1/prompt.md")
    assert prompt.startswith(f"{GOAL}\n\nHouse rule: it costs $5.\n")
    assert "tests/test_calc.py::test_add" in prompt
