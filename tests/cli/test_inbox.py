"""`donewhen inbox`: accept and reject, for clean and dirty checkouts; nothing is ever half done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import FIX, GREPPED, Project

Script = Callable[..., Path]
GOAL = "make the tests pass"


def finished(project: Project, script: Script, *args: str) -> str:
    """A run that ended `gates-passed`; its id."""
    return str(project.run(GOAL, script({"write": FIX}), *args).expect(0).json()["run"])


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def everything(project: Project) -> tuple[str, str, str, str]:
    """All that a refused accept must leave as it was."""
    return (
        project.git("rev-parse", "HEAD"),
        project.git("status", "--porcelain"),
        project.git("diff"),
        project.git("branch", "--show-current"),
    )


def test_list_and_show(project: Project, script: Script) -> None:
    run = finished(project, script)
    assert run in project.donewhen("inbox").expect(0).out
    shown = project.donewhen("inbox", "show", run[:12]).expect(0).out
    assert "src/calc/__init__.py" in shown
    assert "measured in a clean room" in shown
    assert f"donewhen inbox accept {run}" in shown


def test_a_clean_checkout_is_fast_forwarded(project: Project, script: Script) -> None:
    run = finished(project, script)
    done = project.donewhen("inbox", "accept", run, "--json").expect(0).json()
    assert done["how"] == "fast-forward"
    assert project.git("log", "-1", "--format=%s") == GOAL
    assert project.donewhen("inbox", "--json").json()["items"] == []
    assert project.donewhen("inbox", "--all", "--json").json()["items"][0]["state"] == "accepted"


def test_squash_makes_one_commit_of_the_users(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.donewhen("inbox", "accept", run, "--squash").expect(0)
    assert project.git("log", "-1", "--format=%an %s") == f"Ada {GOAL}"
    assert project.git("rev-list", "--count", "HEAD") == "2"
    assert project.git("status", "--porcelain") == ""


def test_apply_leaves_it_uncommitted(project: Project, script: Script) -> None:
    run = finished(project, script)
    head = project.git("rev-parse", "HEAD")
    project.donewhen("inbox", "accept", run, "--apply").expect(0)
    assert project.git("rev-parse", "HEAD") == head
    assert project.git("status", "--porcelain") == "M src/calc/__init__.py"


def test_a_branch_that_moved_on_gets_a_merge_judged_first(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.write({"README": "mine\n"})
    project.commit("mine")
    done = project.donewhen("inbox", "accept", run, "--json").expect(0).json()
    assert done["how"] == "merge"
    assert len(project.git("log", "-1", "--format=%p").split()) == 2
    assert project.read("README") == "mine\n"
    assert "a + b" in project.read("src/calc/__init__.py")
    merges = project.root / f".git/donewhen/runs/{run}/merges"
    assert list(merges.rglob("stdout.0")), "the merged tree was never judged"


def test_a_merge_that_is_red_changes_nothing(project: Project, script: Script) -> None:
    gate = "sh: grep -q 'a + b' src/calc/__init__.py && test ! -e mine"
    run = finished(project, script, "--gate", gate)
    project.write({"mine": "and red"})
    project.commit("mine, and red")
    before = everything(project)
    ran = project.donewhen("inbox", "accept", run).expect(1)
    assert "red" in ran.err
    assert everything(project) == before


def test_a_conflict_changes_nothing_and_names_the_commands(
    project: Project, script: Script
) -> None:
    run = finished(project, script)
    project.write({"src/calc/__init__.py": "def add(a, b):\n    return b - -a\n"})
    project.commit("mine")
    before = everything(project)
    ran = project.donewhen("inbox", "accept", run).expect(1)
    assert "src/calc/__init__.py" in ran.err
    assert f"git merge donewhen/{run}" in ran.err
    assert everything(project) == before


def test_only_ff_refuses_when_the_branch_moved(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.commit("mine")
    project.donewhen("inbox", "accept", run, "--ff").expect(1)


def test_uncommitted_changes_that_do_not_overlap_stay(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.write({"notes.txt": "mine\n"})
    project.donewhen("inbox", "accept", run).expect(0)
    assert project.git("status", "--porcelain") == "?? notes.txt"


def test_uncommitted_changes_that_overlap_refuse(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.write({"src/calc/__init__.py": "# mine\n"})
    before = everything(project)
    assert "touch what the result changes" in project.donewhen("inbox", "accept", run).expect(1).err
    assert everything(project) == before


def test_another_branch_checked_out_refuses(project: Project, script: Script) -> None:
    run = finished(project, script)
    project.git("switch", "-q", "-c", "other")
    ran = project.donewhen("inbox", "accept", run).expect(1)
    assert "git switch main" in ran.err


def test_a_dirty_checkout_gets_the_difference_uncommitted(project: Project, script: Script) -> None:
    project.write({"notes.txt": "untracked\n", ".gitignore": GREPPED[".gitignore"] + "# mine\n"})
    head = project.git("rev-parse", "HEAD")
    run = finished(project, script)
    assert (project.worktree(run) / "notes.txt").read_text() == "untracked\n"
    done = project.donewhen("inbox", "accept", run, "--json").expect(0).json()
    assert done["how"] == "applied"
    assert project.git("rev-parse", "HEAD") == head
    assert "a + b" in project.read("src/calc/__init__.py")
    assert project.read(".gitignore").endswith("# mine\n")
    assert "notes.txt" not in project.git("log", "--format=", "--name-only", "main")


def test_a_dirty_checkout_that_went_on_is_merged_three_way(
    project: Project, script: Script
) -> None:
    project.write({"notes.txt": "untracked\n"})
    run = finished(project, script)
    project.write({"notes.txt": "untracked, and more\n"})
    project.donewhen("inbox", "accept", run).expect(0)
    assert project.read("notes.txt") == "untracked, and more\n"
    assert "a + b" in project.read("src/calc/__init__.py")


def test_a_dirty_checkout_that_conflicts_stays_as_it_is(project: Project, script: Script) -> None:
    project.write({"notes.txt": "untracked\n"})
    run = finished(project, script)
    project.write({"src/calc/__init__.py": "def add(a, b):\n    return 99\n"})
    before = everything(project)
    project.donewhen("inbox", "accept", run).expect(1)
    assert everything(project) == before


def test_an_unborn_branch_gets_its_files(
    make_project: Callable[..., Project], script: Script
) -> None:
    unborn = make_project(GREPPED, commit=False)
    run = finished(unborn, script)
    unborn.donewhen("inbox", "accept", run).expect(0)
    assert "a + b" in unborn.read("src/calc/__init__.py")


def test_accepting_what_is_red_names_it(project: Project, script: Script) -> None:
    lie = script({"write": {"a.txt": "a"}})
    run = project.run(GOAL, lie, "--max-iter", "1").expect(1).json()["run"]
    assert project.donewhen("inbox", "accept", run, "--json").expect(0).json()["red"] == ["tests"]


def test_reject_keeps_the_states_pinned(project: Project, script: Script) -> None:
    run = finished(project, script)
    place = project.worktree(run)
    project.donewhen("inbox", "reject", run).expect(0)
    assert not place.exists()
    assert "a - b" in project.read("src/calc/__init__.py")
    assert f"refs/donewhen/{run}/1" in project.git("for-each-ref", "refs/donewhen")
    assert "donewhen/" not in project.git("branch")


@pytest.mark.row("VB5", kills="donewhen.system.git:Git.commit_tree")
def test_odd_names_and_binary_files_come_through(project: Project, script: Script) -> None:
    odd = "a b'\"$(touch PWNED)\n é.txt"
    turn = {
        "write": {**FIX, odd: "x\n"},
        "run": "printf '\\000\\377\\001' > blob.bin && chmod +x blob.bin",
    }
    project.write({"dirty.txt": "d"})
    run = project.run(GOAL, script(turn)).expect(0).json()["run"]
    project.donewhen("inbox", "accept", run).expect(0)
    assert (project.root / odd).read_text() == "x\n"
    assert (project.root / "blob.bin").read_bytes() == b"\0\xff\1"
    assert (project.root / "blob.bin").stat().st_mode & 0o100
    assert not list(project.root.rglob("PWNED"))


@pytest.mark.row("VB6", kills="donewhen.drivers.workspace:Workspace.commit")
def test_twelve_runs_keep_twelve_states(project: Project, script: Script) -> None:
    """Every judged iteration is pinned, past the tenth as before it."""
    kinds = [f"def add(a, b):\n    raise {k}\n" for k in ("ValueError", "TypeError")]
    turns = [{"write": {"src/calc/__init__.py": kinds[n % 2] + f"# {n}\n"}} for n in range(11)]
    easy = ("--gate", "sh: python -c 'import sys, random; print(random.random()); sys.exit(1)'")
    run = project.run(GOAL, script(*turns), "--max-iter", "12", *easy).expect(1).json()
    pins = project.git("for-each-ref", "--format=%(refname)", f"refs/donewhen/{run['run']}").split()
    assert len(pins) == run["iterations"] + 1


def test_an_agent_cannot_speak_for_a_person(project: Project, script: Script) -> None:
    run = finished(project, script)
    for words in (("inbox", "accept"), ("inbox", "reject"), ("cancel",)):
        for mark in ("DONEWHEN_RUN", "CLAUDECODE", "CODEX_SANDBOX"):
            ran = project.donewhen(*words, run, **{mark: "1"}).expect(1)
            assert "speaks for a person" in ran.err
    assert project.donewhen("inbox", "--json").json()["items"][0]["state"] == "open"


def test_an_unknown_item_lists_what_waits(project: Project, script: Script) -> None:
    run = finished(project, script)
    ran = project.donewhen("inbox", "show", "nosuch").expect(2)
    assert run in ran.err
    project.donewhen("inbox", "accept", "../../etc").expect(2)
