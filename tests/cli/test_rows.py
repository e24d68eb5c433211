"""Rows of docs/parity.md that need a test of their own, through the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
Make = Callable[..., Project]
GOAL = "make the tests pass"


@pytest.mark.row("V1", kills="donewhen.drivers.anchoring:prompt")
def test_the_four_phases_in_order_each_journalled_before_and_after(
    project: Project, script: Script
) -> None:
    run = project.run(GOAL, script({}, {"write": FIX})).expect(0).json()["run"]
    types = [r["type"] for r in project.journal(run)]
    one = [
        "Anchor",
        "Anchored",
        "RunAgent",
        "AgentEnded",
        "RunGates",
        "Judged",
        "Record",
        "Recorded",
    ]
    assert types[:3] == ["RunStarted", "RunGates", "Judged"]
    assert types[3:11] == one
    assert types[11:] == [*one[:6], "RunGates", "Judged", *one[6:], "Finish", "Finished"]
    shown = project.donewhen("log", run).expect(0).out.splitlines()
    assert len(shown) == len(types)


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


@pytest.mark.row("V6", kills="donewhen.core.fingerprint:exit_fp")
def test_noise_does_not_make_a_finding_new(project: Project, script: Script) -> None:
    noisy = 'sh: echo "at $(date) pid $$ in /tmp/x$$/y, 0x$$ took ${RANDOM:-1}ms   failed"; exit 1'
    turns = [{"write": {"n.txt": str(n)}} for n in range(4)]
    ran = project.run(GOAL, script(*turns), "--gate", noisy).expect(1)
    assert (ran.json()["reason"], ran.json()["iterations"]) == ("stuck:repeat", 3)


@pytest.mark.row("V8", kills="donewhen.store.history:append")
def test_history_has_a_line_for_each_finished_run(project: Project, script: Script) -> None:
    runs = [project.run(GOAL, script({"write": FIX})).expect(0).json()["run"] for _ in range(2)]
    lines = (project.root / ".git/donewhen/history.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert [e["run"] for e in entries] == runs
    assert {(e["v"], e["reason"], e["goal"], e["iterations"]) for e in entries} == {
        (1, "gates-passed", GOAL, 1)
    }


@pytest.mark.row("V18", kills="donewhen.store.ledger:Page.write")
def test_the_ledger_is_derived_and_decides_nothing(make_project: Make, script: Script) -> None:
    project = make_project(CALC)
    run = project.run(GOAL, script({})).expect(1).json()["run"]
    path = project.root / f".git/donewhen/runs/{run}/ledger.json"
    ledger = json.loads(path.read_text())
    assert [i["iteration"] for i in ledger["iterations"]] == [1, 2, 3]
    assert {i["verdicts"]["iteration"]["state"] for i in ledger["iterations"]} == {"fail"}
    assert ledger["baseline"]["score"]["failing"] == 1
    path.write_text(json.dumps({**ledger, "reason": "gates-passed"}))
    assert project.donewhen("status", run, "--json").json()["reason"] == "stuck:idle"


@pytest.mark.row("VB2", kills="donewhen.drivers.accept:_target")
def test_what_is_accepted_is_what_was_judged(project: Project, script: Script) -> None:
    result = project.run(GOAL, script({"write": FIX})).expect(0).json()
    late = project.worktree(result["run"])
    (late / "src/calc/__init__.py").write_text("def add(a, b):\n    return 0\n")
    (late / "late.txt").write_text("after the verdict\n")
    project.donewhen("inbox", "accept", result["run"]).expect(0)
    assert project.git("rev-parse", "HEAD^{tree}") == result["tree"]
    assert not (project.root / "late.txt").exists()


@pytest.mark.row("VB7", kills="donewhen.system.treekey:TreeKeeper.key")
def test_ignored_files_stay_at_home_and_names_stay_whole(project: Project, script: Script) -> None:
    project.write({".gitignore": CALC[".gitignore"] + ".env\n", ".env": "KEY=secret\n"})
    project.commit()
    turn = {"write": {**FIX, "a.txt": "a\n", ".env": "KEY=other\n"}}
    run = project.run(GOAL, script(turn)).expect(0).json()["run"]
    project.donewhen("inbox", "accept", run).expect(0)
    changed = project.git("diff-tree", "-r", "--name-only", "--no-commit-id", "HEAD").splitlines()
    assert changed == ["a.txt", "src/calc/__init__.py"]
    assert project.read(".env") == "KEY=secret\n"


@pytest.mark.row("D4", kills="donewhen.gates.run:run_gate")
def test_a_verdict_records_what_ran_on_which_tree(make_project: Make, script: Script) -> None:
    project = make_project(CALC)
    result = project.run(GOAL, script({"write": FIX})).expect(0).json()
    verdict = json.loads(Path(result["verdict"]).read_text())
    (gate,) = verdict["gates"]
    assert verdict["tree"] == result["tree"]
    assert (gate["command"], gate["state"], gate["counts"]["tests"]) == (
        "python -m pytest -q",
        "pass",
        2,
    )
    assert gate["seconds"] > 0
    assert (verdict["version"], verdict["proof"], verdict["purpose"]) == (1, "goal", "deciding")
    run = Path(result["verdict"]).parents[2]
    assert list(run.glob("iterations/1/gates/deciding-1/**/report.xml")), (
        "nothing ran for this verdict"
    )


@pytest.mark.row("D5", kills="donewhen.judge.judge:verdict")
def test_every_change_makes_another_tree(project: Project) -> None:
    def tree() -> str:
        return str(project.donewhen("judge", "--json", "--gate", "true").expect(0).json()["tree"])

    first = tree()
    project.write({"new.txt": "untracked\n"})
    second = tree()
    project.commit()
    third = tree()
    project.write({"new.txt": "changed\n"})
    assert len({first, second, tree()}) == 3
    assert third == second, "a commit changes nothing of the tree"
