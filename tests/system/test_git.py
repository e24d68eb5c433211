"""git access against real repositories: odd names, races, and pushes that must not happen."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.errors import GitError
from donewhen.system.git import Git, push_refusal_env
from tests.conftest import Project

ODD = b"odd \xff\n name.txt"


@pytest.fixture
def repo(make_project: Callable[..., Project]) -> Project:
    return make_project({"a.txt": "one\n", "sub/b.txt": "two\n"})


def test_outside_of_a_repository_there_is_no_toplevel(tmp_path: Path) -> None:
    assert Git.toplevel(tmp_path) is None
    assert Git.toplevel(tmp_path / "not there") is None


def test_toplevel_keeps_white_space_of_the_path(tmp_path: Path) -> None:
    place = tmp_path / "ends in a space "
    (place / "sub").mkdir(parents=True)
    Git(place).run("init", "-q")
    assert Git.toplevel(place / "sub") == place


def test_an_unborn_branch_has_no_head(tmp_path: Path) -> None:
    git = Git(tmp_path)
    git.run("init", "-q", "-b", "main")
    assert git.head() is None
    assert git.branch() == "main"
    assert git.refs() == {}


def test_a_detached_head_has_no_branch(repo: Project) -> None:
    git = Git(repo.root)
    assert git.branch() == "main"
    repo.git("checkout", "-q", "--detach")
    assert git.branch() is None
    assert git.head() == repo.git("rev-parse", "HEAD")


def test_an_error_names_the_command_and_what_git_said(repo: Project) -> None:
    with pytest.raises(GitError, match=r"git rev-parse --verify no-such.*Needed a single revision"):
        Git(repo.root).rev_tree("no-such")


def test_the_users_git_variables_never_reach_our_calls(repo: Project, tmp_path: Path) -> None:
    environ = {**os.environ, "GIT_DIR": str(tmp_path / "elsewhere"), "GIT_INDEX_FILE": "/nonsense"}
    assert Git(repo.root, environ).head() == repo.git("rev-parse", "HEAD")


def test_commits_are_ours_or_the_users(repo: Project) -> None:
    git = Git(repo.root)
    tree, head = git.rev_tree("HEAD"), git.head()
    assert head
    ours = git.commit_tree(tree, [head], b"s\xc3\xa9 $(touch x) `touch y`\n", 1_000_000_000)
    shown = repo.git("log", "-1", "--format=%an %ae %at %s", ours)
    assert shown == "donewhen donewhen@localhost 1000000000 sé $(touch x) `touch y`"
    theirs = git.commit_tree(tree, [head], b"m\n", person=True)
    assert repo.git("log", "-1", "--format=%an", theirs) == "Ada"
    assert git.is_ancestor(head, ours)
    assert not git.is_ancestor(ours, head)


def test_a_ref_moves_only_from_where_it_was_said_to_stand(repo: Project) -> None:
    git = Git(repo.root)
    first = git.head()
    assert first
    second = git.commit_tree(git.rev_tree("HEAD"), [first], b"2\n")
    git.update_ref("refs/donewhen/x", first)
    with pytest.raises(GitError):
        git.update_ref("refs/donewhen/x", second, second)
    git.update_ref("refs/donewhen/x", second, first)
    assert git.refs("refs/donewhen/") == {"refs/donewhen/x": second}
    git.delete_ref("refs/donewhen/x")
    assert git.refs("refs/donewhen/") == {}


def test_refs_have_the_stash(repo: Project) -> None:
    repo.write({"a.txt": "changed\n"})
    repo.git("stash")
    assert "refs/stash" in Git(repo.root).refs()


def test_changed_paths_are_bytes_whatever_they_hold(repo: Project) -> None:
    Path(os.fsdecode(os.fsencode(repo.root) + b"/" + ODD)).write_text("x")
    repo.git("rm", "-q", "a.txt")
    repo.write({"sub/b.txt": "changed\n"})
    repo.commit()
    assert Git(repo.root).changed_paths("HEAD~1", "HEAD") == [
        ("D", b"a.txt"),
        ("A", ODD),
        ("M", b"sub/b.txt"),
    ]


def test_a_diff_applies_with_binary_files_modes_and_links(repo: Project) -> None:
    git = Git(repo.root)
    (repo.root / "data.bin").write_bytes(bytes(range(256)) * 9)
    (repo.root / "run.sh").write_text("#!/bin/sh\r\n")
    (repo.root / "run.sh").chmod(0o755)
    (repo.root / "link").symlink_to("a.txt")
    repo.commit()
    patch = git.diff("HEAD~1", "HEAD")
    goal = git.rev_tree("HEAD")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    git.run("apply", "--index", "--whitespace=nowarn", "-", input=patch)
    assert git.text("write-tree") == goal


def test_a_merge_in_memory_names_its_conflicts(repo: Project) -> None:
    git = Git(repo.root)
    repo.git("checkout", "-q", "-b", "other")
    repo.write({"a.txt": "theirs\n", "new.txt": "n\n"})
    repo.commit()
    repo.git("checkout", "-q", "main")
    assert git.merge_tree("main", "other") == (git.rev_tree("other"), [])
    repo.write({"a.txt": "mine\n"})
    repo.commit()
    _tree, conflicts = git.merge_tree("main", "other")
    assert conflicts == ["a.txt"]


def test_a_worktree_comes_and_goes_with_whatever_is_in_it(repo: Project, tmp_path: Path) -> None:
    git, place = Git(repo.root), tmp_path / "trees" / "one"
    hook = repo.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\ntouch hook-ran\n")
    hook.chmod(0o755)
    git.worktree_add(place, "HEAD", "donewhen/x")
    assert Git(place).branch() == "donewhen/x"
    assert not (place / "hook-ran").exists()
    (place / "untracked").write_text("x")
    git.worktree_remove(place)
    assert not place.exists()
    assert git.worktrees() == [repo.root]
    git.worktree_remove(place)  # again: nothing to do


def test_a_worktree_that_was_removed_by_hand_can_be_made_again(
    repo: Project, tmp_path: Path
) -> None:
    git, place = Git(repo.root), tmp_path / "one"
    git.worktree_add(place, "HEAD", "donewhen/x")
    subprocess.run(["rm", "-rf", str(place)], check=True)
    git.worktree_add(place, "HEAD", "donewhen/x")
    assert (place / "a.txt").exists()


def test_what_a_crash_left_of_a_worktree_is_removed(repo: Project, tmp_path: Path) -> None:
    git, place = Git(repo.root), tmp_path / "half"
    (place / "locked").mkdir(parents=True)
    (place / "locked" / "file").write_text("x")
    (place / "locked").chmod(0o500)
    git.worktree_remove(place)
    assert not place.exists()


def test_a_folder_that_is_a_repository_is_never_removed(repo: Project, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    Git(other).run("init", "-q")
    with pytest.raises(GitError):
        Git(repo.root).worktree_remove(other)
    assert (other / ".git").is_dir()


def test_a_lock_of_another_git_is_waited_for(repo: Project) -> None:
    git = Git(repo.root)
    lock = repo.root / ".git" / "refs" / "heads" / "held.lock"
    lock.touch()
    later = threading.Timer(0.3, lock.unlink)
    later.start()
    git.update_ref("refs/heads/held", git.head() or "")
    later.join()
    assert "refs/heads/held" in git.refs()


# -- pushes ----------------------------------------------------------------------------------------


@pytest.fixture
def remote(repo: Project, tmp_path: Path) -> Path:
    """A bare repository that `repo` knows as origin and has pushed `main` to."""
    place = tmp_path / "up stream.git"
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    repo.git("remote", "add", "origin", str(place))
    repo.git("push", "-q", "origin", "main")
    return place


def push(repo: Project, *where: str) -> int:
    """A push as an agent would try it: its own git, our environment."""
    refusal = push_refusal_env(Git(repo.root), repo.root.parent / "gitconfig")
    env = {**os.environ, **refusal, "GIT_SSH_COMMAND": "false"}
    return subprocess.run(
        ["git", "push", *where, "HEAD:refs/heads/leak"], cwd=repo.root, env=env, capture_output=True
    ).returncode


@pytest.mark.parametrize("where", ["origin", "{path}", "file://{path}", "../up stream.git"])
def test_no_push_leaves(repo: Project, remote: Path, where: str) -> None:
    config = (repo.root / ".git" / "config").read_bytes()
    assert push(repo, where.format(path=remote)) != 0
    assert list(Git(remote).refs()) == ["refs/heads/main"]
    assert (repo.root / ".git" / "config").read_bytes() == config


@pytest.mark.parametrize("pushurl", ["other", "same"])
def test_a_configured_pushurl_does_not_leak(
    repo: Project, remote: Path, tmp_path: Path, pushurl: str
) -> None:
    """git pushes to every pushurl of a remote, so one more is not enough."""
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "-q", "--bare", str(other)], check=True)
    repo.git("config", "remote.origin.pushurl", str(other if pushurl == "other" else remote))
    assert push(repo, "origin") != 0
    assert push(repo, str(other)) != 0
    assert Git(other).refs() == {}
    assert list(Git(remote).refs()) == ["refs/heads/main"]
    assert fetch(repo) == 0


def test_the_users_own_push_rewriting_does_not_win(
    repo: Project, remote: Path, tmp_path: Path
) -> None:
    repo.git("config", f"url.{tmp_path}/.pushInsteadOf", f"{tmp_path}/")
    assert push(repo, str(remote)) != 0
    assert push(repo, "origin") != 0
    assert list(Git(remote).refs()) == ["refs/heads/main"]


def fetch(repo: Project, *where: str) -> int:
    env = {**os.environ, **push_refusal_env(Git(repo.root), repo.root.parent / "gitconfig")}
    return subprocess.run(
        ["git", "fetch", *(where or ("origin",))], cwd=repo.root, env=env, capture_output=True
    ).returncode


def test_fetch_works_all_the_while(repo: Project, remote: Path) -> None:
    assert fetch(repo) == 0
    assert fetch(repo, str(remote)) == 0
    assert fetch(repo, f"file://{remote}") == 0
