"""Rows of docs/parity.md on records: what is appended, locked and answered is never lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_git_outside import DONE, FILES, GATE
from tests.conftest import Project

Make = Callable[..., Project]
Script = Callable[..., Path]


@pytest.mark.row("D9", kills="donewhen.store.history:append")
def test_a_torn_line_costs_that_line_alone(make_project: Make, script: Script) -> None:
    """A crash in mid-write, in journal and history: the run goes on, every line before is whole."""
    project = make_project(FILES)
    ran = project.run("do it", script({"write": {"x": ""}}, DONE), "--max-iter", "1", *GATE)
    run = ran.expect(1).json()["run"]
    home = project.root / ".git/donewhen"
    for file in (home / "runs" / run / "journal.jsonl", home / "history.jsonl"):
        with file.open("ab") as out:
            out.write(b'{"v": 1, "se')
    result = project.donewhen("resume", run, "--max-iter", "3", "--json").expect(0).json()
    assert (result["reason"], result["iterations"]) == ("gates-passed", 2)
    journal = project.journal(run)
    assert [r["seq"] for r in journal] == list(range(1, len(journal) + 1))
    lines = (home / "history.jsonl").read_text().splitlines()
    assert [json.loads(lines[n])["reason"] for n in (0, 2)] == ["max-iterations", "gates-passed"]
    assert lines[1] == '{"v": 1, "se'


@pytest.mark.row("VB25", kills="donewhen.system.locks:_named")
def test_a_lock_says_who_holds_it_and_ends_with_its_holder(
    make_project: Make, script: Script, tmp_path: Path
) -> None:
    """Who comes second is told, at once and by name; a killed holder's lock holds nobody up."""
    project = make_project(FILES)
    begun, go = tmp_path / "begun", tmp_path / "go"
    turn = {**DONE, "run": f"touch {begun}; while [ ! -e {go} ]; do sleep 0.1; done"}
    words = ["run", "do it", "--agent", f"scripted:{script(turn)}", "--yes", "--json", *GATE]
    runner = subprocess.Popen(
        [sys.executable, "-m", "donewhen", *words],
        cwd=project.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        while not begun.exists():
            assert runner.poll() is None
            time.sleep(0.05)
        run = project.donewhen("status", "--json").expect(0).json()["runs"][0]["run"]
        for command in (("resume", run), ("inbox", "accept", run)):
            said = project.donewhen(*command).expect(1 if command[0] == "resume" else 2).err
            assert str(runner.pid) in said or "no inbox item" in said
    finally:
        os.kill(runner.pid, signal.SIGKILL)
        runner.wait()
        go.touch()
    result = project.donewhen("resume", run, "--json").expect(0).json()
    assert (result["reason"], result["iterations"]) == ("gates-passed", 1)
    assert len(project.donewhen("inbox", "--json").json()["items"]) == 1


@pytest.mark.row("VB26", kills="donewhen.store.inbox:Inbox.close")
def test_what_a_person_said_is_never_written_over(make_project: Make, script: Script) -> None:
    """Goals of a word in Korean, or with a slash, have an item each; a closed one stays byte for byte."""
    project = make_project(FILES)
    goals = ("고쳐", "a/b", "a-b")
    agent = script({"write": {"x": ""}})
    runs = [project.run(g, agent, "--max-iter", "1", *GATE).expect(1).json()["run"] for g in goals]
    items = project.donewhen("inbox", "--json").json()["items"]
    assert sorted(item["goal"] for item in items) == sorted(goals)  # made within one second
    project.donewhen("inbox", "accept", runs[0]).expect(0)
    (file,) = (project.root / ".git/donewhen/inbox").glob(f"i-{runs[0]}-*.json")
    before = file.read_bytes()
    assert json.loads(before)["history"][-1]["what"] == "accepted"
    project.donewhen("resume", runs[0], "--max-iter", "5")
    project.donewhen("inbox", "reject", runs[0]).expect(1)
    assert file.read_bytes() == before
    assert len(project.donewhen("inbox", "--json").json()["items"]) == 2
