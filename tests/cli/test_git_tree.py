"""What is judged and delivered is the tree as it is, whatever hides in it or points out of it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_git_outside import DONE, FILES, GATE, ends
from tests.conftest import Project

Make = Callable[..., Project]
Script = Callable[..., Path]


@pytest.fixture
def quick(make_project: Make) -> Project:
    return make_project(FILES)


def test_marks_and_times_hide_no_change(quick: Project, script: Script) -> None:
    """Files that git was told not to look at, and one of equal size and time, are in the result."""
    for name, value in {
        "trustctime": "false",
        "checkStat": "minimal",
        "ignoreStat": "true",
    }.items():
        quick.git("config", f"core.{name}", value)
    quick.write({"a.txt": "old\n", "b.txt": "old\n"})
    quick.commit("more")
    hide = (
        "git update-index --assume-unchanged work.txt; git update-index --skip-worktree a.txt;"
        " echo new > a.txt; touch -r b.txt /tmp/$DONEWHEN_RUN; echo new > b.txt;"
        " touch -r /tmp/$DONEWHEN_RUN b.txt; rm /tmp/$DONEWHEN_RUN; git status --porcelain"
    )
    result = ends(quick.run("do it", script({"run": hide}, DONE), *GATE), "gates-passed", 0)
    assert result["iterations"] == 2
    first = f"refs/donewhen/{result['run']}/1"
    assert quick.git("diff", "--name-only", "main", first) == "a.txt\nb.txt"
    last = f"refs/donewhen/{result['run']}/2"
    assert quick.git("diff", "--name-only", "main", last) == "a.txt\nb.txt\nwork.txt"


def test_a_users_filter_is_the_same_in_every_checkout(quick: Project, script: Script) -> None:
    """Cleaned as everywhere: a file that only looks changed is none, and what is kept is clean."""
    quick.git("config", "filter.secret.clean", "sed s/hunter2/@@/")
    quick.git("config", "filter.secret.smudge", "sed s/@@/hunter2/")
    quick.write({".gitattributes": "*.env filter=secret\n", "x.env": "pw=hunter2\n"})
    quick.commit("filter")
    gate = ("--gate", "sh: grep -q done work.txt && grep -q hunter2 x.env")
    result = ends(quick.run("do it", script(DONE), *gate), "gates-passed", 0)
    assert quick.git("diff", "--name-only", "main", result["tree"]) == "work.txt"
    assert "hunter2" not in quick.git("show", f"{result['tree']}:x.env")


def test_a_link_out_of_the_tree_is_no_result(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    """What it leads to passes the gate and would not be delivered; a link within is fine."""
    (tmp_path / "away.txt").write_text("done\n")
    out = {"run": f"ln -sf {tmp_path}/away.txt work.txt"}
    around = {"run": "mkdir -p d; ln -sfn . d/e; ln -sf d/e/e/e/" + "../" * 20 + "etc work.txt"}
    ran = quick.run(
        "do it", script(out, around), "--max-iter", "2", "--gate", "sh: test -e work.txt -a -e d"
    )
    ends(ran, "integrity", 1)
    assert "link out of the tree" in quick.donewhen("why", ran.json()["run"]).expect(0).out
    within = {
        "run": "echo done > real.txt; mkdir -p d; ln -sf ../real.txt d/link; ln -sf d/link work.txt"
    }
    ends(quick.run("do it", script(out, within), *GATE), "gates-passed", 0)


@pytest.mark.parametrize("when", ["while it works", "afterwards"])
def test_a_verdict_that_was_rewritten(quick: Project, script: Script, when: str) -> None:
    """It is not believed, not shown, and nothing is accepted on it."""
    forge = 'for v in "$(git rev-parse --git-common-dir)"/donewhen/runs/*/iterations/*/verdict.json; do sed -i \'s/"fail"/"pass"/g\' "$v"; done'
    if when == "while it works":
        ran = quick.run("do it", script({"write": {"x": ""}}, {**DONE, "run": forge}), *GATE)
        ends(ran, "tampered", 1)
        return
    ran = quick.run("do it", script({"write": {"x": ""}}), "--max-iter", "1", *GATE)
    run = ends(ran, "max-iterations", 1)["run"]
    assert "fail" in quick.donewhen("inbox", "show", run).expect(0).out
    subprocess.run(["sh", "-c", forge], cwd=quick.root, check=True)
    for words in (("inbox", "show"), ("why",)):
        assert "was changed since" in quick.donewhen(*words, run).expect(0).out
    refused = quick.donewhen("inbox", "accept", run).expect(1).err
    assert "not the verdict that was recorded" in refused


def test_what_gates_run_is_the_agents_code_too(quick: Project, script: Script) -> None:
    """It changes what git obeys while a gate runs it, and no event of the agent's says so."""
    evil = "git config filter.x.clean cat; grep -q done work.txt\n"
    ran = quick.run(
        "do it",
        script({**DONE, "write": {"work.txt": "done\n", "c.sh": evil}}),
        "--gate",
        "sh: sh c.sh",
    )
    result = ends(ran, "integrity", 1)
    assert "filter.x.clean" in quick.donewhen("why", result["run"]).expect(0).out


def test_no_push_by_other_doors(quick: Project, script: Script, tmp_path: Path) -> None:
    """send-pack to a path and over ssh, and with our settings taken away: nothing arrives."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    quick.git("remote", "add", "origin", str(remote))
    quick.git("push", "-q", "origin", "main")
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    quick.git("config", "core.sshCommand", str(ssh))
    doors = (
        f"git commit -qam x; git send-pack {remote} HEAD:refs/heads/a;"
        f" git send-pack file://{remote} HEAD:refs/heads/b;"
        f" git send-pack host:{remote} HEAD:refs/heads/c;"
        f" env -u GIT_CONFIG_COUNT git push {remote} HEAD:refs/heads/d;"
        f" git fetch -q host:{remote} main && git fetch -q {remote} main && echo fetched"
    )
    ran = quick.run("do it", script({**DONE, "run": doors}), *GATE)
    ends(ran, "gates-passed", 0)
    assert "fetched" in ran.err
    assert "a push is refused" in ran.err
    refs = subprocess.run(["git", "for-each-ref"], cwd=remote, capture_output=True, check=True)
    assert refs.stdout.count(b"\n") == 1
