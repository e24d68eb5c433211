"""The user's checkout and repository while an agent works: what ends a run, and what never does."""

from __future__ import annotations

import shlex
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Project, Ran

Make = Callable[..., Project]
Script = Callable[..., Path]
GATE = ("--gate", "sh: grep -q done work.txt")
DONE = {"write": {"work.txt": "done\n"}}
FILES = {"work.txt": "open\n", "mine.txt": "one\ntwo\n", ".gitignore": "*.log\n"}


@pytest.fixture
def quick(make_project: Make) -> Project:
    """A repository whose gate takes no time; `mine.txt` is the user's."""
    return make_project(FILES)


def ends(ran: Ran, reason: str, code: int) -> dict[str, Any]:
    result: dict[str, Any] = ran.expect(code).json()
    assert result["reason"] == reason, ran.err
    return result


def meanwhile(
    project: Project, script: Script, place: Path, act: Callable[[], None], turn: Mapping[str, Any]
) -> Ran:
    """A run during whose turn the user does something, which no event of the agent names."""
    begun, go = place / "begun", place / "go"
    wait = (
        f"touch {begun}; n=0; while [ ! -e {go} ] && [ $n -lt 600 ]; do n=$((n+1)); sleep 0.1; done"
    )
    failed: list[BaseException] = []

    def user() -> None:
        try:
            for _ in range(600):
                if begun.exists():
                    break
                time.sleep(0.1)
            act()
        except BaseException as error:  # noqa: BLE001  # told to the test
            failed.append(error)
        finally:
            go.touch()

    thread = threading.Thread(target=user)
    thread.start()
    ran = project.run("do it", script({**turn, "run": f"{wait}; {turn.get('run', 'true')}"}), *GATE)
    thread.join()
    assert not failed, failed
    return ran


# -- what never ends a run --------------------------------------------------------------------------------


def test_a_user_at_work_in_the_checkout(quick: Project, script: Script, tmp_path: Path) -> None:
    """Edits, commits, branches, a stash, settings, a hook: theirs, and still theirs afterwards."""
    quick.write({"mine.txt": "stashed\n"})
    quick.git("stash")

    def user() -> None:
        quick.write({"mine.txt": "one\nmine\n", "new.txt": "n\n"})
        quick.git("commit", "-qam", "mine")
        quick.git("switch", "-q", "-c", "topic")
        quick.git("config", "user.name", "Ada L.")
        quick.git("config", "core.hooksPath", ".husky/_")
        quick.git("config", "remote.up.url", "https://example.org/up.git")
        quick.git("stash", "drop")
        quick.git("tag", "v1")
        (quick.root / ".git/hooks").mkdir(exist_ok=True)
        quick.write({".git/hooks/pre-commit": "#!/bin/sh\n", "mine.txt": "half done"})

    ran = meanwhile(quick, script, tmp_path, user, DONE)
    ends(ran, "gates-passed", 0)
    assert "outside the worktree: refs/heads/main is now" in ran.err
    assert quick.read("mine.txt") == "half done"
    assert quick.git("status", "--porcelain") == "M mine.txt\n?? new.txt"
    quick.git("commit", "-qam", "more")
    refused = quick.donewhen("inbox", "accept", ran.json()["run"]).expect(1)
    assert "git switch main" in refused.err
    quick.git("switch", "-q", "main")
    quick.donewhen("inbox", "accept", ran.json()["run"]).expect(0)
    assert (quick.read("work.txt"), quick.read("mine.txt")) == ("done\n", "one\nmine\n")


def test_an_agent_that_uses_git_as_everybody_does(quick: Project, script: Script) -> None:
    quick.write({"mine.txt": "stashed\n"})
    quick.git("stash")
    kept = quick.git("stash", "list")
    usual = (
        "git status; git diff; git tag mark; git stash list; git config user.name Agent; git checkout -b idea main;"
        " git commit -qam half; echo more >> mine.txt; git stash; git stash pop; git branch -u main;"
        " git checkout -q -; echo lost >> mine.txt; git stash"
    )
    first = {"write": {"work.txt": "half\n"}, "run": "git checkout -q -b early; git commit -qam x"}
    second = {"write": {"work.txt": "done\n"}, "run": "git branch -f early HEAD; " + usual}
    ran = quick.run("do it", script(first, second), *GATE)
    assert ends(ran, "gates-passed", 0)
    assert kept.partition(": ")[2] in quick.git("stash", "list")


def test_an_agent_that_cleans_up_loses_nothing_of_ours(make_project: Make, script: Script) -> None:
    """Its worktree's copy of the configuration is no configuration of this run."""
    toml = '[gates.work]\nrun = "grep -q done work.txt"\nformat = "exit"\n'
    project = make_project({**FILES, "donewhen.toml": f"version = 1\n{toml}"})
    away = "git clean -fdxq; rm -rf .donewhen donewhen.toml"
    ran = project.run("do it", script({"run": away}, DONE), "--max-iter", "2")
    result = ran.json()
    assert (ran.code, result["iterations"]) == (0, 2), ran.err
    assert {r["type"] for r in project.journal(result["run"])} >= {"Judged", "Finished"}
    project.donewhen("inbox", "show", result["run"]).expect(0)


def test_another_runs_result_that_is_accepted_meanwhile(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """The branch moves and files change, to what a run of ours made; nobody is charged."""
    first = quick.run("first", script({"write": {"work.txt": "done\n", "a.txt": "a\n"}}), *GATE)
    run = first.expect(0).json()["run"]

    def user() -> None:
        quick.donewhen("inbox", "accept", run).expect(0)

    same = {"write": {"work.txt": "done\n", "a.txt": "a\n"}}
    ends(meanwhile(quick, script, tmp_path, user, same), "gates-passed", 0)
    assert quick.git("rev-parse", "main") != quick.git("rev-parse", "main@{1}")


# -- what does ----------------------------------------------------------------------------------------


def test_an_agent_that_writes_into_the_users_checkout(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """It is found, told, and ends the run; the user's own edits stand, and `mine` goes on."""
    goal = quick.root / "mine.txt"

    def user() -> None:
        quick.write({"other.txt": "the user's\n"})

    turn = {**DONE, "run": f"echo agent >> {shlex.quote(str(goal))}"}
    ran = meanwhile(quick, script, tmp_path, user, turn)
    result = ends(ran, "integrity", 1)
    assert "mine.txt" in ran.err
    assert quick.read("mine.txt") == "one\ntwo\nagent\n"
    assert quick.read("other.txt") == "the user's\n"
    item = quick.donewhen("inbox", "show", result["run"], "--json").expect(0).json()
    assert "mine.txt" in item["question"]
    assert "other.txt" not in item["question"]
    assert "mine" in item["offers"]
    again = quick.donewhen("resume", result["run"], "--max-iter", "20", "--json")
    ends(again, "integrity", 1)
    assert f"donewhen inbox show {result['run']}" in again.err


def test_what_the_run_made_is_found_in_the_checkout_without_being_named(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """Copied by something that no event names."""

    def copy() -> None:
        quick.write({"made.txt": "of the agent\n"})

    turn = {"write": {"work.txt": "done\n", "made.txt": "of the agent\n"}}
    ran = meanwhile(quick, script, tmp_path, copy, turn)
    ends(ran, "integrity", 1)
    assert "made.txt" in ran.err


def test_an_agent_that_names_nothing(quick: Project, tmp_path: Path) -> None:
    """`command` says nothing of what it does: yours or the agent's, and a person is asked."""
    agent = tmp_path / "agent.sh"
    agent.write_text(f"#!/bin/sh\necho done > work.txt\necho x >> {quick.root}/mine.txt\n")
    agent.chmod(0o755)
    ran = quick.donewhen("run", "do it", "--agent", f"command:{agent}", "--yes", "--json", *GATE)
    result = ends(ran, "integrity", 1)
    assert "yours or the agent's" in quick.donewhen("why", result["run"]).expect(0).out


TAMPERING: dict[str, str] = {
    "HEAD of the checkout": "git -C {root} checkout -q -b elsewhere",
    "a commit in the checkout": "cd {root} && git commit -q --allow-empty -m agents",
    "a branch": "git commit -qam x && git update-ref refs/heads/main HEAD",
    "a branch that is gone": "git branch -D other",
    "the stash": "git stash drop",
    "the reflog": "git reflog expire --expire=now --all",
    "marks of the index": "git -C {root} update-index --skip-worktree mine.txt",
    "a hook": "echo '#!/bin/sh' > $(git rev-parse --git-common-dir)/hooks/pre-push",
    "settings": "git config core.sshCommand /tmp/evil",
    "settings of the user": "git config --global alias.st '!evil'",
    "info/attributes": "echo '*.txt filter=x' > $(git rev-parse --git-path info/attributes)",
    "info/exclude": "echo '*.py' >> $(git rev-parse --git-path info/exclude)",
    "a filter": "git config filter.x.clean 'sed s/evil/nice/'",
    "the user's ignore file": "mkdir -p $XDG_CONFIG_HOME/git; echo '*.py' > $XDG_CONFIG_HOME/git/ignore",
    "a pin of ours": "git update-ref refs/donewhen/$DONEWHEN_RUN/base HEAD~0^0 && git commit -qam x"
    " && git update-ref refs/donewhen/$DONEWHEN_RUN/base HEAD",
}


@pytest.mark.parametrize("what", TAMPERING)
def test_changed_behind_our_back(quick: Project, script: Script, what: str) -> None:
    quick.write({"mine.txt": "stashed\n"})
    quick.git("stash")
    quick.git("branch", "other")
    (quick.root / ".git/hooks").mkdir(exist_ok=True)
    turn = {**DONE, "run": TAMPERING[what].format(root=shlex.quote(str(quick.root)))}
    ran = quick.run("do it", script(turn), *GATE)
    expected = "integrity" if what == "the user's ignore file" else "tampered"
    ends(ran, expected, 1)


def test_what_hides_in_a_script_is_asked_about_where_a_verdict_could_rest_on_it(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """No event names it. A filter bends what is seen; a hook does not, and is only told."""
    hidden = tmp_path / "hidden.sh"
    hidden.write_text("git config filter.x.clean cat\n")
    ran = quick.run("do it", script({**DONE, "run": f"sh {hidden}"}), *GATE)
    result = ends(ran, "integrity", 1)
    assert "filter.x.clean" in quick.donewhen("why", result["run"]).expect(0).out
    hidden.write_text(
        'h="$(git rev-parse --git-common-dir)/hooks"; mkdir -p $h; echo x > $h/pre-push'
    )
    ran = quick.run("do it", script({**DONE, "run": f"sh {hidden}"}), *GATE)
    ends(ran, "gates-passed", 0)
    assert ".git/hooks/pre-push" in ran.err


def test_state_that_was_committed_or_cloned_captures_nobody(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """Somebody commits copies of our folders; a clone of that neither sees runs nor fails."""
    run = quick.run("do it", script(DONE), *GATE).expect(0).json()["run"]
    for place in ("donewhen", ".donewhen"):
        subprocess.run(["cp", "-r", quick.root / ".git/donewhen", quick.root / place], check=True)
    quick.commit("oh no")
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(quick.root), str(clone)], check=True)
    there = Project(clone)
    assert "there are no runs here" in there.donewhen("status", run).expect(2).err
    assert there.donewhen("inbox").expect(0).out.startswith("Nothing waits")
    other = there.run("do it", script(DONE), *GATE).expect(0).json()
    assert other["run"] != run
    there.donewhen("inbox", "accept", other["run"]).expect(0)
    assert quick.read("work.txt") == "open\n"
