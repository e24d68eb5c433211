"""config.templates: the shipped prompts, and the user's own in their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.config.templates import NAMES, OWN, read_own, shipped, templates
from donewhen.errors import ConfigError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / OWN
    place.mkdir(parents=True)
    return place


def test_without_any_of_the_users_own(tmp_path: Path) -> None:
    assert read_own(tmp_path) == {}
    assert templates({}) == {name: shipped(name) for name in NAMES}


def test_one_of_the_users_own_replaces_that_one(tmp_path: Path, folder: Path) -> None:
    (folder / "anchor.md").write_bytes(b"\xef\xbb\xbf$goal\r\n$gates $feedback\r\n")
    found = templates(read_own(tmp_path))
    assert found["anchor"] == "$goal\n$gates $feedback\n"
    assert found["nudge"] == shipped("nudge")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("anchor", f"mv {OWN}/anchor {OWN}/anchor.md"),
        ("Anchor.MD", f"{OWN}/Anchor.MD"),
        ("anchors.md", f"mv {OWN}/anchors.md {OWN}/anchor.md"),
        ("my notes.txt", f"rm '{OWN}/my notes.txt'"),
    ],
)
def test_a_file_that_would_be_ignored_is_named(
    tmp_path: Path, folder: Path, name: str, hint: str
) -> None:
    (folder / name).write_text("$goal")
    (folder / ".gitkeep").touch()
    with pytest.raises(ConfigError, match=r"is no template .* known: anchor\.md, nudge\.md") as e:
        read_own(tmp_path)
    assert f"{OWN}/{name}" in e.value.message
    assert hint in e.value.hint


@pytest.mark.parametrize("kind", ["latin1", "folder", "dangling"])
def test_what_cannot_be_read_is_named(tmp_path: Path, folder: Path, kind: str) -> None:
    path = folder / "anchor.md"
    if kind == "latin1":
        path.write_bytes("für".encode("latin1"))
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(folder / "gone")
    with pytest.raises(ConfigError, match=r"prompts/anchor\.md: (not UTF-8|cannot be read)") as e:
        read_own(tmp_path)
    assert e.value.hint
