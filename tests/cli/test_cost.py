"""What an iteration costs, counted in processes, and that nothing which is spared goes unseen."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.test_run import GOAL, Script, ends
from tests.conftest import FIX, Project

IDLE = "sh: false"


@pytest.fixture
def gits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a line for every git that is started: its command, in order."""
    real = shutil.which("git")
    log = tmp_path / "gits"
    place = tmp_path / "bin"
    place.mkdir()
    (place / "git").write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {real} "$@"\n')
    (place / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    return log


def iterations(log: Path) -> list[Counter[str]]:
    """How often each git command was started from the mark of one turn to that of the next."""
    found: list[Counter[str]] = [Counter()]
    for line in log.read_text().splitlines():
        words = iter(line.split())
        for word in words:
            if word == MARK:
                found.append(Counter())
            elif word == "-c":
                next(words)
                continue
            else:
                found[-1][word] += 1
            break
    return found[1:]


MARK = "turn"
# git reads a file again that is as young as its index, to the second.
OLD = {"sleep": 2}


def test_an_iteration_that_changes_nothing_starts_five_gits(
    project: Project, script: Script, gits: Path
) -> None:
    mark = {"run": f"echo {MARK} >> {gits}"}
    turns = ({**mark, **OLD}, mark, mark)
    project.run(GOAL, script(*turns), "--gate", IDLE, "--max-iter", "3").expect(1)
    # Worktree before and after the gates, and the user's checkout, are keyed.
    assert iterations(gits)[1] == {"add": 3, "update-ref": 1}


def test_an_iteration_that_changes_a_file_writes_its_tree_once(
    project: Project, script: Script, gits: Path
) -> None:
    turns = [
        {"write": {"a.txt": f"{number}\n"}, "run": f"echo {MARK} >> {gits}", **OLD}
        for number in range(3)
    ]
    project.run(GOAL, script(*turns), "--gate", IDLE, "--max-iter", "3").expect(1)
    found = iterations(gits)[1]
    assert (found["add"], found["write-tree"], found["for-each-ref"]) == (3, 1, 0)


# -- what is not asked twice is still seen ---------------------------------------------------------

MOVE = "git commit -q --allow-empty -m fix && git update-ref refs/heads/main HEAD"


@pytest.mark.parametrize(
    ("before", "move"),
    [
        ("true", MOVE),
        ("git pack-refs --all", MOVE),
        ("true", f"{MOVE} && git pack-refs --all"),
        ("git tag old-tag", "git tag -d old-tag"),
    ],
    ids=["loose", "packed before", "packed after", "one that is gone"],
)
def test_a_ref_that_moves_in_a_later_turn_is_found(
    project: Project, script: Script, before: str, move: str
) -> None:
    """The refs are compared after every ACT, also where two turns went by without a change."""
    subprocess.run(before, shell=True, cwd=project.root, check=True)
    turns = ({"say": "x"}, {"write": {"a.txt": "1"}}, {"write": FIX, "run": move})
    result = project.run(GOAL, script(*turns), "--gate", IDLE).expect(1).json()
    assert result["reason"] in {"tampered", "integrity"}
    assert result["iterations"] == 2, "found in the turn in which it happened"


@pytest.mark.parametrize(
    "begin",
    [
        'git rev-parse HEAD > "$(git rev-parse --git-common-dir)"/refs/heads/new-branch',
        "git branch new-branch",
    ],
    ids=["by hand", "by git"],
)
def test_a_branch_that_begins_in_a_later_turn_is_seen_and_told(
    project: Project, script: Script, begin: str
) -> None:
    turns = ({"say": "x"}, {"write": {"a.txt": "1"}}, {"run": begin})
    ran = project.run(GOAL, script(*turns), "--gate", IDLE).expect(1)
    assert ran.json()["reason"].startswith("stuck:")
    assert "outside the worktree: refs/heads/new-branch is now" in ran.err


def test_a_ref_that_a_gate_moves_is_not_the_next_turns(project: Project, script: Script) -> None:
    gate = f"sh: git -C {project.root} tag -f by-the-gate; false"
    turns = [{"write": {"a.txt": str(number)}, "run": "git tag -l by-the-gate"} for number in "12"]
    ran = project.run(GOAL, script(*turns), "--gate", gate, "--max-iter", "2").expect(1)
    assert ran.json()["reason"] == "max-iterations"
    assert "outside the worktree" not in ran.err


def test_a_worktree_that_the_agent_removes_is_keyed_anew(project: Project, script: Script) -> None:
    turns = ({"write": {"a.txt": "1"}}, {"run": 'rm -rf "$PWD"'}, {"write": FIX})
    result = ends(project, script(*turns), "gates-passed", 0)
    assert project.git("rev-parse", f"{result['branch']}^{{tree}}") == result["tree"]


def test_a_gate_that_changes_the_tree_after_a_quiet_turn_is_an_error(
    project: Project, script: Script
) -> None:
    project.write(FIX)
    project.commit()
    gate = "sh: date +%N > stamp.txt; test -e goal.txt"
    turns = ({"say": "x"}, {"write": {"goal.txt": "x"}})
    result = project.run(GOAL, script(*turns), "--gate", gate, "--max-iter", "2").json()
    assert result["reason"] != "gates-passed"
    assert (
        "the tree changed while gates ran: stamp.txt" in project.donewhen("why", result["run"]).out
    )
