"""Where things are: state where it may be, names that are nothing but names, folders that explain."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.errors import NotFound, StoreError, UsageError
from donewhen.store.layout import Layout, state_home
from donewhen.store.runs import RunStore

RUN = "r20261201-030000-aaaa"


def made(tmp_path: Path) -> Layout:
    (tmp_path / ".git").mkdir()
    return Layout.of(tmp_path / ".git", tmp_path / "state")


# -- the state folder ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("environ", "place"),
    [
        ({"DONEWHEN_STATE": "/tmp/given", "HOME": "/h"}, "/tmp/given"),
        ({"DONEWHEN_STATE": "/given", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/given"),
        ({"DONEWHEN_STATE": "", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/donewhen"),
    ],
)
def test_state_set_by_hand_is_used_as_given(environ: dict[str, str], place: str) -> None:
    assert state_home(environ) == Path(place)


@pytest.mark.skipif(sys.platform == "darwin", reason="has a place of its own")
@pytest.mark.parametrize("xdg", ["", "relative/path", "."])
def test_without_it_state_is_in_the_home(xdg: str) -> None:
    assert state_home({"XDG_STATE_HOME": xdg, "HOME": "/h"}) == Path("/h/.local/state/donewhen")


def test_a_relative_path_given_by_hand_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_home({"DONEWHEN_STATE": "here"}) == tmp_path / "here"


@pytest.mark.parametrize(
    "environ",
    [
        {"HOME": "/tmp/me"},
        {"HOME": "/var/tmp/me"},
        {"HOME": "/h", "XDG_STATE_HOME": "/tmp/x"},
        {"HOME": "/h/scratch/me", "TMPDIR": "/h/scratch"},
    ],
)
def test_the_default_is_never_in_a_temp_folder(environ: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="in the temp folder") as error:
        state_home(environ)
    assert "DONEWHEN_STATE" in error.value.hint


def test_a_link_into_a_temp_folder_is_seen_through() -> None:
    link = Path(os.environ["HOME"]) / "link"  # in a temp folder itself, so no test of its own
    link.symlink_to("/tmp")
    with pytest.raises(UsageError, match="in the temp folder"):
        state_home({"HOME": str(link / "me")})


CHECK = """
import sys
from donewhen.errors import UsageError
from donewhen.store import layout
layout.TEMP = ("/nowhere",)  # what is under test may be in a temp folder
try:
    print(layout.state_home({"HOME": sys.argv[1], "TMPDIR": "/nowhere"}))
except UsageError as error:
    print(error.message, "|", error.hint)
"""


def default_in(home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(home)], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_default_is_never_in_a_repository(tmp_path: Path) -> None:
    home = tmp_path / "repo" / "home"
    assert default_in(home).strip().endswith("donewhen")
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    said = default_in(home)
    assert f"is in the repository {(tmp_path / 'repo').resolve()}" in said
    assert "Set DONEWHEN_STATE" in said


def test_a_worktree_is_a_repository_too(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: /elsewhere\n")
    assert "is in the repository" in default_in(tmp_path / "home")


NO_HOME = """
import os
from donewhen.errors import DonewhenError
from donewhen.store.layout import state_home
os.setgroups([]); os.setgid(54321); os.setuid(54321)
try:
    print(state_home({}))
except DonewhenError as error:
    print(type(error).__name__, error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_without_any_home_the_error_names_what_to_set() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_HOME], capture_output=True, text=True, check=True
    )
    assert done.stdout == (
        "UsageError there is no home folder to keep state in\n"
        "  Set DONEWHEN_STATE to a folder of yours outside of any repository.\n"
    )


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_home_the_user_database_says_it(home: str) -> None:
    import pwd

    known = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert state_home({"HOME": home}).is_relative_to(known)


# -- the folders -----------------------------------------------------------------------------------


def test_both_folders_say_what_they_are_and_how_to_remove_them(tmp_path: Path) -> None:
    layout = made(tmp_path)
    layout.prepare()
    inside, state = ((p / "README").read_text() for p in (layout.home, layout.state))
    assert "donewhen status" in inside
    assert "may be removed" in inside
    assert str(layout.state / "mirror" / layout.repo) in inside
    assert "git worktree prune" in state
    for text in (inside, state):
        assert "http" not in text
    for path in (layout.home, layout.state):
        assert path.stat().st_mode & 0o777 == 0o700
        assert (path / "README").stat().st_mode & 0o777 == 0o600


def test_a_readme_of_the_users_is_left_alone(tmp_path: Path) -> None:
    layout = made(tmp_path)
    layout.state.mkdir()
    (layout.state / "README").write_text("mine")
    layout.prepare()
    assert (layout.state / "README").read_text() == "mine"


def test_the_id_of_a_repository_is_short_and_of_its_real_path(tmp_path: Path) -> None:
    layout = made(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / ".git")
    assert Layout.of(tmp_path / "link", layout.state).repo == layout.repo
    assert len(layout.repo) == 12
    assert int(layout.repo, 16) >= 0


def test_reading_names_makes_nothing(tmp_path: Path) -> None:
    layout = made(tmp_path)
    for path in (layout.run(RUN), layout.journal(RUN), layout.mirror_journal(RUN), layout.inbox):
        assert not path.exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == [".git"]


def test_a_file_in_the_way_moves_us_to_the_state_folder(tmp_path: Path) -> None:
    layout = made(tmp_path)
    (tmp_path / ".git/donewhen").write_text("a file")
    assert layout.home == layout.state / "repos" / layout.repo
    layout.prepare()
    assert (layout.home / "README").is_file()


def test_runs_are_found_in_both_places(tmp_path: Path) -> None:
    """Made while the repository could not be written, found when it can be again."""
    layout = made(tmp_path)
    (tmp_path / ".git/donewhen").write_text("a file")
    RunStore(layout).create(RUN, {"goal": "g"})
    (tmp_path / ".git/donewhen").unlink()
    again = Layout.of(tmp_path / ".git", layout.state)
    other = "r20261202-030000-bbbb"
    RunStore(again).create(other, {"goal": "g"})
    assert again.home == tmp_path / ".git/donewhen"
    assert RunStore(again).list() == [other, RUN]
    assert again.run(RUN) == layout.run(RUN) != again.home / "runs" / RUN
    assert RunStore(again).contract(RUN) == {"goal": "g"}


READ_ONLY = """
import os, sys
from pathlib import Path
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout
from donewhen.store.runs import RunStore
os.setgroups([]); os.setgid(65534); os.setuid(65534)
layout = Layout.of(Path(sys.argv[1]) / ".git", Path(sys.argv[1]) / "none")
store = RunStore(layout)
print(layout.home == layout.state / "repos" / layout.repo, store.list(), store.contract(store.list()[0]))
print([i["run"] for i in Inbox(layout).items()])
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_repository_that_may_only_be_read_still_shows_its_runs() -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        layout = made(place)
        RunStore(layout).create(RUN, {"goal": "g"})
        layout.inbox.mkdir()
        from tests.store.test_inbox import put

        put(layout)
        for path in (place, *place.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, name],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert done.stdout == f"True ['{RUN}'] {{'goal': 'g'}}\n['{RUN}']\n", done.stderr


def test_a_state_folder_that_cannot_be_made_names_what_to_set(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / ".git").mkdir()
    with pytest.raises(StoreError, match="DONEWHEN_STATE"):
        Layout.of(tmp_path / ".git", tmp_path / "file" / "state").prepare()


# -- names -----------------------------------------------------------------------------------------

BAD_IDS = ("", ".", "..", "../x", "/etc", "r1", f"{RUN}/..", f"../{RUN}", f"{RUN}\n", f"{RUN}\0",
           RUN.upper(), RUN.replace("2", "２", 1))  # fmt: skip


@pytest.mark.parametrize("bad", BAD_IDS, ids=repr)
def test_a_run_id_is_nothing_but_one(tmp_path: Path, bad: str) -> None:
    layout = made(tmp_path)
    for name in (layout.run, layout.journal, layout.mirror, layout.contract, layout.cancel):
        with pytest.raises(NotFound, match="is no run id"):
            name(bad)
    with pytest.raises(StoreError):
        layout.tree(bad)


@pytest.mark.parametrize("bad", ["", ".", "..", "../x", "a/b", "-x", "a\n", "x" * 200], ids=repr)
def test_names_of_files_are_plain(tmp_path: Path, bad: str) -> None:
    layout = made(tmp_path)
    for name in (layout.lock, layout.index):
        with pytest.raises(StoreError, match="is no name"):
            name(bad)


def test_worktrees_of_a_run_have_a_purpose_at_most(tmp_path: Path) -> None:
    layout = made(tmp_path)
    trees = layout.state / "trees" / layout.repo
    assert layout.tree(RUN) == trees / RUN
    assert layout.tree(f"{RUN}-merge") == trees / f"{RUN}-merge"
    with pytest.raises(StoreError):
        layout.tree(f"{RUN}-../x")
