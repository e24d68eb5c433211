"""Repositories in every state that people have them in: a run works there, or says what to type."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.cli.test_git_outside import DONE, FILES, GATE
from tests.conftest import Project, Ran

Make = Callable[..., Project]
Script = Callable[..., Path]


@pytest.fixture
def quick(make_project: Make) -> Project:
    return make_project(FILES)


def git(place: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=place, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def accepted(project: Project, ran: Ran) -> None:
    """It passed, and its result comes in."""
    run = ran.expect(0).json()["run"]
    project.donewhen("inbox", "accept", run).expect(0)
    assert project.read("work.txt") == "done\n"


@pytest.mark.row("VB24", kills="donewhen.store.inbox:Inbox.put")
def test_eight_runs_at_once_beside_locks_that_were_left(make_project: Make, script: Script) -> None:
    """They race for refs, worktrees and the inbox; locks of dead processes stop none."""
    quick = make_project(FILES)
    for name in ("index", "HEAD", "config", "packed-refs"):
        (quick.root / f".git/{name}.lock").touch()
    command = [sys.executable, "-m", "donewhen", "run", "do it", "--yes", "--json", *GATE]
    started = [
        subprocess.Popen(
            [*command, "--agent", f"scripted:{script(DONE)}"],
            cwd=quick.root, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(8)
    ]  # fmt: skip
    said = [one.communicate(timeout=240) for one in started]
    assert [one.returncode for one in started] == [0] * 8, said
    refs = quick.git("for-each-ref", "--format=%(refname)", "refs/donewhen/").splitlines()
    assert len(refs) == 16
    assert len(quick.git("worktree", "list").splitlines()) == 9
    assert len(quick.donewhen("inbox", "--json").expect(0).json()["items"]) == 8


NASTY = {
    "commit.gpgSign": "true", "gpg.program": "{hang}", "merge.verifySignatures": "true",
    "log.showSignature": "true", "merge.ff": "false", "core.askPass": "{hang}",
    "core.editor": "{hang}", "core.pager": "{hang}", "diff.external": "{hang}",
    "sequence.editor": "{hang}", "core.fsmonitor": "{hang}", "credential.helper": "{hang}",
    "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "apply.whitespace": "error",
    "status.showUntrackedFiles": "no", "color.ui": "always", "core.abbrev": "4",
    "core.trustctime": "false", "core.checkStat": "minimal", "index.threads": "1",
    "branch.main.mergeOptions": "--no-ff --edit", "core.commentChar": "x", "core.quotePath": "true",
    "branch.autoSetupMerge": "always", "feature.manyFiles": "true", "core.autocrlf": "input",
}  # fmt: skip


@pytest.mark.parametrize("moved", [False, True], ids=["forward", "merge"])
def test_hooks_that_hang_signing_that_asks_and_settings_of_all_kinds(
    quick: Project, script: Script, tmp_path: Path, moved: bool
) -> None:
    hang = tmp_path / "hang"
    hang.write_text("#!/bin/sh\ntouch $0.ran\nsleep 1000\n")
    hang.chmod(0o755)
    ran = quick.run("do it", script({"write": {"work.txt": "done\n", "b c.txt": "x \t\n"}}), *GATE)
    ran.expect(0)
    if moved:
        quick.write({"mine.txt": "moved on\n"})
        quick.commit("mine")
    hooks = quick.root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    names = ("pre-commit", "post-checkout", "reference-transaction", "post-index-change", "pre-push",
             "post-merge", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-rewrite")  # fmt: skip
    for name in names:
        (hooks / name).symlink_to(hang)
    for name, value in NASTY.items():
        quick.git("config", name, value.format(hang=hang))
    accepted(quick, ran)
    second = quick.run("again", script({"write": {"w2": "done"}}), "--gate", "sh: test -e w2")
    quick.donewhen("inbox", "accept", second.expect(0).json()["run"], "--apply").expect(0)
    assert quick.read("w2") == "done"
    assert not (tmp_path / "hang.ran").exists()


def test_a_detached_head(quick: Project, script: Script) -> None:
    quick.git("checkout", "-q", "--detach")
    accepted(quick, quick.run("do it", script(DONE), *GATE))
    assert quick.git("rev-parse", "HEAD") != quick.git("rev-parse", "main")


def test_an_unborn_branch(make_project: Make, script: Script) -> None:
    project = make_project(FILES, commit=False)
    accepted(project, project.run("do it", script(DONE), *GATE))
    assert project.git("status", "--porcelain").count("??") == 3


def test_a_bare_repository_and_a_worktree_of_it(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    bare = tmp_path / "project.git"
    git(tmp_path, "clone", "-q", "--bare", str(quick.root), str(bare))
    for place in (bare, quick.root / ".git"):
        ran = Project(place).donewhen("run", "do it", "--agent", f"scripted:{script(DONE)}")
        assert ("worktree add" if place == bare else "cd ") in ran.expect(2).err
        assert "git init" not in ran.err
    git(bare, "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    linked = Project(tmp_path / "linked")
    accepted(linked, linked.run("do it", script(DONE), *GATE))
    assert git(bare, "rev-parse", "main") == linked.git("rev-parse", "HEAD")


def test_shallow_and_sparse_and_without_blobs(
    quick: Project, script: Script, tmp_path: Path
) -> None:
    quick.write({"deep/away.txt": "away\n", "deep/er/x.txt": "x\n"})
    quick.commit("two")
    quick.git("config", "uploadpack.allowFilter", "true")
    url = f"file://{quick.root}"
    for name, flags in (
        ("shallow", ["--depth=1"]),
        ("partial", ["--filter=blob:none", "--sparse"]),
    ):
        git(tmp_path, "clone", "-q", *flags, url, name)
        clone = Project(tmp_path / name)
        accepted(clone, clone.run("do it", script(DONE), *GATE))
        assert clone.git("status", "--porcelain") == ""
        assert clone.git("diff", "--name-only", "HEAD~1", "HEAD") == "work.txt"


def test_a_merge_in_progress(quick: Project, script: Script) -> None:
    """The conflict is part of the base; the result comes into the tree, and the merge stays open."""
    quick.git("checkout", "-q", "-b", "other")
    quick.write({"work.txt": "theirs\n"})
    quick.commit("theirs")
    quick.git("checkout", "-q", "main")
    quick.write({"work.txt": "mine\n"})
    quick.commit("mine")
    subprocess.run(["git", "merge", "-q", "other"], cwd=quick.root, capture_output=True)
    assert "<<<<<<<" in quick.read("work.txt")
    accepted(quick, quick.run("do it", script(DONE), *GATE))
    assert quick.git("ls-files", "-u", "--", "work.txt")
    assert quick.git("rev-parse", "MERGE_HEAD") == quick.git("rev-parse", "other")


ODD = (b"odd \xff\n name.txt", b"-rf", b"*", b":(top)x", "é\u0301.txt".encode(), b'"q"')


def test_names_of_any_bytes(quick: Project, script: Script) -> None:
    top = os.fsencode(quick.root)
    for number, name in enumerate(ODD):
        Path(os.fsdecode(top + b"/" + name)).write_text(f"{number}\n")
    quick.git("add", "-A")
    quick.commit("odd")
    turn = {
        "write": {"work.txt": "done\n"},
        "run": "for f in odd* ./-rf ':(top)x'; do echo more >> \"$f\"; done; rm '*'",
    }
    ran = quick.run("do it", script(turn), *GATE)
    accepted(quick, ran)
    assert (quick.root / "-rf").read_text() == "1\nmore\n"
    assert not (quick.root / "*").exists()
    assert Path(os.fsdecode(top + b"/" + ODD[0])).read_text() == "0\nmore\n"
    assert quick.git("status", "--porcelain") == ""


@pytest.mark.parametrize("ignorecase", ["false", "true"])
def test_a_rename_of_case_alone(quick: Project, script: Script, ignorecase: str) -> None:
    quick.git("config", "core.ignorecase", ignorecase)
    turn = {**DONE, "run": "mv mine.txt Mine.TXT"}
    accepted(quick, quick.run("do it", script(turn), *GATE))
    assert quick.git("ls-tree", "--name-only", "HEAD").splitlines() == [
        ".gitignore",
        "Mine.TXT",
        "work.txt",
    ]
    assert quick.git("status", "--porcelain") == ""


def test_submodules_are_filled_or_named(
    quick: Project, make_project: Make, script: Script, tmp_path: Path
) -> None:
    library = make_project({"lib.txt": "library\n"}, "library")
    allow = ("-c", "protocol.file.allow=always")
    quick.git(*allow, "submodule", "-q", "add", str(library.root), "vendor/lib")
    quick.commit("submodule")
    gate = ("--gate", "sh: grep -q done work.txt && grep -q library vendor/lib/lib.txt")
    accepted(quick, quick.run("do it", script(DONE), *gate))
    git(tmp_path, "clone", "-q", str(quick.root), "empty")
    empty = Project(tmp_path / "empty")
    ran = empty.run("do it", script(DONE), *gate).expect(2)
    assert "vendor/lib" in ran.err
    assert "git submodule update --init" in ran.err


LFS: Mapping[str, str] = {
    ".gitattributes": "*.bin filter=lfs -text\n",
    "a.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
}


def test_lfs_with_and_without_its_program(
    make_project: Make, script: Script, tmp_path: Path
) -> None:
    """Pointers stay pointers; a filter that turns them into content does so in the worktree too."""
    project = make_project({**FILES, **LFS})
    accepted(project, project.run("do it", script(DONE), *GATE))
    project.git("config", "filter.lfs.clean", "git-lfs-that-is-not-there clean %f")
    project.git("config", "filter.lfs.required", "true")
    project.write({"a.bin": "content\n"})
    ran = project.run("again", script({"write": {"w2": ""}}), "--gate", "sh: test -e w2")
    assert ran.code in (2, 3), ran.err
    assert "filter" in ran.err
    assert not list(Path(os.environ["DONEWHEN_STATE"]).glob("trees/*/*"))
    project.git("config", "filter.lfs.clean", "tr a-z A-Z")
    project.git("config", "filter.lfs.smudge", "tr A-Z a-z")
    gate = ("--gate", "sh: test -e w2 && grep -q content a.bin")
    ran = project.run("again", script({"write": {"w2": ""}}), *gate).expect(0)
    assert project.git("show", f"{ran.json()['tree']}:a.bin") == "CONTENT"
