"""The tree key: equal for equal content, different for any change, and the user's index untouched."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper
from tests.conftest import Project

FILES = {"a.txt": "one\n", "sub/b.txt": "two\n", ".gitignore": "*.log\n"}


@pytest.fixture
def repo(make_project: Callable[..., Project]) -> Project:
    return make_project(FILES)


@pytest.fixture
def keeper(repo: Project, tmp_path: Path) -> TreeKeeper:
    return TreeKeeper(Git(repo.root), tmp_path / "state" / "index")


def test_a_clean_checkout_has_the_tree_of_its_commit(repo: Project, keeper: TreeKeeper) -> None:
    assert keeper.key() == repo.git("rev-parse", "HEAD^{tree}")


def test_uncommitted_staged_and_committed_are_the_same_tree(
    repo: Project, keeper: TreeKeeper
) -> None:
    repo.write({"a.txt": "changed\n", "new/file.txt": "n\n"})
    dirty = keeper.key()
    repo.git("add", "-A")
    assert keeper.key() == dirty
    repo.commit()
    assert keeper.key() == dirty == repo.git("rev-parse", "HEAD^{tree}")


def test_ignored_files_and_tool_caches_do_not_count(repo: Project, keeper: TreeKeeper) -> None:
    before = keeper.key()
    repo.write({"x.log": "x", "sub/__pycache__/b.pyc": "x", ".pytest_cache/v": "x"})
    assert keeper.key() == before


def test_every_kind_of_change_counts(repo: Project, keeper: TreeKeeper) -> None:
    seen = [keeper.key()]

    def changed() -> None:
        seen.append(keeper.key())
        assert seen[-1] not in seen[:-1]

    repo.write({"a.txt": "two\n"})  # same size
    changed()
    (repo.root / "a.txt").chmod(0o755)
    changed()
    (repo.root / "link").symlink_to("a.txt")
    changed()
    (repo.root / "link").unlink()
    (repo.root / "link").symlink_to("sub")
    changed()
    Path(os.fsdecode(os.fsencode(repo.root) + b"/\xff\nodd")).write_text("x")
    changed()
    (repo.root / "sub/b.txt").unlink()
    changed()
    (repo.root / "sub").rmdir()
    (repo.root / "sub").write_text("now a file")
    changed()


def test_a_change_back_is_the_same_tree(repo: Project, keeper: TreeKeeper) -> None:
    before = keeper.key()
    repo.write({"a.txt": "other\n"})
    assert keeper.key() != before
    repo.write({"a.txt": "one\n"})
    assert keeper.key() == before


def test_an_edit_of_equal_size_and_time_is_found(repo: Project, keeper: TreeKeeper) -> None:
    """`touch -r` hides an edit from size and mtime; the change time tells."""
    keeper.key()
    path = repo.root / "a.txt"
    info = path.stat()
    path.write_text("two\n")
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert keeper.key() != repo.git("rev-parse", "HEAD^{tree}")


def test_an_edit_in_the_instant_of_the_users_add_is_found(
    repo: Project, keeper: TreeKeeper
) -> None:
    """git reads a file again whose time is not before its index's; a copy must not look newer.

    Forged: an index that holds the old content with the times that the file has now.
    """
    old = repo.git("rev-parse", "HEAD:a.txt")
    repo.write({"a.txt": "two\n"})
    then = 1_700_000_000 * 10**9
    os.utime(repo.root / "a.txt", ns=(then, then))
    repo.git("add", "a.txt")
    new = repo.git("rev-parse", ":a.txt")
    index = repo.root / ".git" / "index"
    body = index.read_bytes()[:-20].replace(bytes.fromhex(new), bytes.fromhex(old))
    index.write_bytes(body + hashlib.sha1(body).digest())
    os.utime(index, ns=(then, then))
    assert repo.git("cat-file", "-p", f"{keeper.key()}:a.txt") == "two"


@pytest.mark.parametrize("mark", ["--assume-unchanged", "--skip-worktree"])
def test_marks_that_hide_a_change_are_not_believed(
    repo: Project, keeper: TreeKeeper, mark: str
) -> None:
    repo.git("update-index", mark, "a.txt")
    before = keeper.key()
    repo.write({"a.txt": "hidden\n"})
    assert repo.git("status", "--short") == ""
    assert keeper.key() != before


def test_what_a_sparse_checkout_left_out_stays(repo: Project, keeper: TreeKeeper) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}")
    repo.git("sparse-checkout", "set", "--no-cone", "/a.txt", "/.gitignore")
    assert not (repo.root / "sub").exists()
    assert keeper.key() == tree


def test_the_users_index_and_its_lock_are_left_alone(repo: Project, keeper: TreeKeeper) -> None:
    repo.write({"a.txt": "staged\n"})
    repo.git("add", "a.txt")
    repo.write({"a.txt": "not staged\n", "new": "n"})
    index = repo.root / ".git" / "index"
    before = (index.read_bytes(), index.stat().st_mtime_ns)
    lock = repo.root / ".git" / "index.lock"
    lock.touch()  # the user is in the middle of a rebase
    keeper.key()
    assert (index.read_bytes(), index.stat().st_mtime_ns) == before
    assert lock.exists()


def test_a_split_index_is_read_and_stays_the_users(repo: Project, keeper: TreeKeeper) -> None:
    repo.git("update-index", "--split-index")
    assert keeper.key() == repo.git("rev-parse", "HEAD^{tree}")
    for shared in (repo.root / ".git").glob("sharedindex.*"):
        shared.unlink()  # git expires them; ours must not need one
    repo.write({"a.txt": "changed\n"})
    assert keeper.key() != repo.git("rev-parse", "HEAD^{tree}")


def test_an_unborn_branch_has_a_tree(tmp_path: Path) -> None:
    git = Git(tmp_path / "new")
    git.root.mkdir()
    git.run("init", "-q")
    keeper = TreeKeeper(git, tmp_path / "index")
    empty = keeper.key()
    (git.root / "a").write_text("a")
    (git.root / ".donewhen/rtm").mkdir(parents=True)
    (git.root / ".donewhen/rtm/x").write_text("x")
    assert git.changed_paths(empty, keeper.key()) == [("A", b"a")]


def test_a_linked_worktree_is_keyed_by_itself(
    repo: Project, keeper: TreeKeeper, tmp_path: Path
) -> None:
    before = keeper.key()
    git, place = Git(repo.root), tmp_path / "linked"
    git.worktree_add(place, "HEAD")
    there = TreeKeeper(git.at(place), tmp_path / "linked-index")
    assert there.key() == before
    (place / "a.txt").write_text("there\n")
    assert there.key() != before
    assert keeper.key() == before


def test_submodules_count_by_their_commit(
    repo: Project, keeper: TreeKeeper, make_project: Callable[..., Project]
) -> None:
    inner = make_project({"x": "1"}, "inner")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.root), "mod")
    repo.commit()
    before = keeper.key()
    assert before == repo.git("rev-parse", "HEAD^{tree}")
    there = Project(repo.root / "mod")
    there.write({"x": "2"})
    there.commit()
    assert keeper.key() != before


def test_a_nested_repository_without_a_commit_is_left_out(
    repo: Project, keeper: TreeKeeper
) -> None:
    """git refuses to add one, and the judge must not fall over it."""
    before = keeper.key()
    for name in ("nested", "sub/deep [x]"):
        (repo.root / name).mkdir()
        subprocess.run(["git", "init", "-q"], cwd=repo.root / name, check=True)
        (repo.root / name / "file").write_text("x")
    assert keeper.key() == before
    repo.write({"a.txt": "changed\n"})
    assert keeper.key() != before


def test_line_endings_by_attribute_make_a_steady_key(
    make_project: Callable[..., Project], tmp_path: Path
) -> None:
    repo = make_project({".gitattributes": "*.txt text eol=crlf\n", "a.txt": "one\ntwo\n"}, "crlf")
    repo.git("rm", "-q", "--cached", "a.txt")
    repo.git("checkout", "-q", "HEAD", "--", "a.txt")
    assert b"\r\n" in (repo.root / "a.txt").read_bytes()
    keeper = TreeKeeper(Git(repo.root), tmp_path / "index")
    assert keeper.key() == keeper.key() == repo.git("rev-parse", "HEAD^{tree}")


def test_derived_views_count_as_head_has_them(repo: Project, keeper: TreeKeeper) -> None:
    repo.write({".donewhen/rtm/view.md": "old", ".donewhen/loops/x.md": "definition"})
    repo.commit()
    before = keeper.key()
    assert before == repo.git("rev-parse", "HEAD^{tree}")
    repo.write({".donewhen/rtm/view.md": "new", ".donewhen/works/WORK-01/plan.md": "new"})
    assert keeper.key() == before
    repo.write({".donewhen/loops/x.md": "changed"})
    assert keeper.key() != before
    repo.commit()
    assert keeper.key() == repo.git("rev-parse", "HEAD^{tree}")


def test_what_a_kill_left_behind_is_no_obstacle(repo: Project, keeper: TreeKeeper) -> None:
    before = keeper.key()
    keeper.index.with_name("index.lock").touch()
    assert keeper.key() == before
    data = keeper.index.read_bytes()
    for torn in (b"", data[: len(data) // 2], b"x" * len(data)):
        keeper.index.write_bytes(torn)
        assert keeper.key() == before


def test_two_keepers_of_one_index_wait_for_each_other(repo: Project, keeper: TreeKeeper) -> None:
    from concurrent.futures import ThreadPoolExecutor

    other = TreeKeeper(Git(repo.root), keeper.index)
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda k: k.key(), [keeper, other] * 8))
    assert set(keys) == {repo.git("rev-parse", "HEAD^{tree}")}
