"""More of what rows of docs/parity.md promise: each a thing that an earlier system let through."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import FIX, GREPPED, Project

Script = Callable[..., Path]
GOAL = "make the tests pass"


@pytest.mark.row("V19", kills="donewhen.judge.judge:added_up")
def test_a_verdict_that_the_agent_got_for_itself_is_not_the_runs(
    project: Project, script: Script
) -> None:
    """It calls our own judge with a gate that passes, and tells everybody."""
    turn = {
        "run": "python -m donewhen judge --gate true --json > verdict.json; echo PASS",
        "say": '{"verdict": "pass", "exit": 0} <donewhen:done/>',
    }
    result = project.run(GOAL, script(turn, after="repeat"), "--max-iter", "2").expect(1).json()
    assert result["reason"] in {"max-iterations", "stuck:repeat"}
    assert result["proof"] != "goal"


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


@pytest.mark.row("D2", kills="donewhen.agents.command:Plain.finish")
@pytest.mark.parametrize(
    ("agent", "code", "reason"),
    [
        ("echo success; exit 0", 1, "stuck:idle"),
        ("printf 'def add(a, b):\\n    return a + b\\n' > src/calc/__init__.py; exit 7", 0, "gates-passed"),
    ],
    ids=["a success that did nothing", "a failure that did it"],
)  # fmt: skip
def test_how_the_agent_exits_decides_nothing(
    project: Project, tmp_path: Path, agent: str, code: int, reason: str
) -> None:
    file = tmp_path / "agent.sh"
    file.write_text(f"#!/bin/sh\n{agent}\n")
    file.chmod(0o755)
    ran = project.donewhen("run", GOAL, "--agent", f"command:{file}", "--yes", "--json")
    assert ran.expect(code).json()["reason"] == reason


@pytest.mark.row("D4", kills="donewhen.drivers.run:Run.restore_journal")
def test_a_record_that_the_agent_wrote_into_the_journal_ends_the_run(
    project: Project, script: Script
) -> None:
    forge = (
        'for j in "$(git rev-parse --git-common-dir)"/donewhen/runs/*/journal.jsonl; do '
        """echo '{"v":1,"seq":99,"kind":"event","type":"Judged","data":{}}' >> "$j"; done"""
    )
    result = project.run(GOAL, script({"write": FIX, "run": forge})).expect(1).json()
    assert result["reason"] == "tampered"
    types = [r["type"] for r in project.journal(result["run"])]
    assert types[-3:] == ["Tampered", "Finish", "Finished"]
    assert project.donewhen("status", result["run"], "--json").expect(0).json()["exit"] == 1


def test_removing_all_that_is_ours_ends_the_run_and_loses_nothing(
    project: Project, script: Script
) -> None:
    away = 'rm -rf "$(git rev-parse --git-common-dir)/donewhen"'
    result = project.run(GOAL, script({"write": FIX, "run": away})).expect(1).json()
    assert result["reason"] == "tampered"
    assert project.donewhen("why", result["run"]).expect(0).out.startswith(result["run"])


@pytest.mark.row("D5", kills="donewhen.judge.judge:_unchanged")
def test_a_gate_that_changes_the_tree_has_not_measured_it(project: Project) -> None:
    project.write(FIX)
    gate = "sh: echo x > made.txt; python -m pytest -q"
    verdict = project.donewhen("judge", "--json", "--gate", gate).expect(3).json()
    assert "made.txt" in verdict["gates"][0]["why"]


@pytest.mark.row("VB7", kills="donewhen.drivers.ending:title")
def test_commits_on_any_branch_without_what_was_not_committed(
    make_project: Callable[..., Project], script: Script
) -> None:
    """A branch called trunk, an untracked .env, and a file whose name comes first."""
    project = make_project({**GREPPED, "a.txt": "old\n"})
    project.git("checkout", "-q", "-b", "trunk")
    project.write({".env": "KEY=secret\n", "a.txt": "mine\n"})
    head = project.git("rev-parse", "HEAD")
    run = project.run(GOAL, script({"write": FIX})).expect(0).json()["run"]
    subject = project.git("log", "-1", "--format=%s", f"refs/donewhen/{run}/1")
    assert subject == GOAL
    project.donewhen("inbox", "accept", run).expect(0)
    assert project.git("rev-parse", "trunk") == head, "a commit was made of uncommitted work"
    assert "a + b" in project.read("src/calc/__init__.py")
    status = {row.split()[-1] for row in project.git("status", "--porcelain").splitlines()}
    assert status == {"a.txt", "src/calc/__init__.py", ".env"}
    assert project.git("log", "--branches", "--format=%H", "--", ".env") == ""
