"""Writing is whole or not at all, private, and every failure names the path and the next command."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.errors import StoreError
from donewhen.system import fs


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_every_folder_that_was_missing_is_private(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        fs.make_private_dir(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    assert [mode(tmp_path / p) for p in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_folder_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir(mode=0o755)
    fs.make_private_dir(tmp_path / "mine" / "sub")
    assert mode(tmp_path / "mine") == 0o755


@pytest.mark.parametrize("kind", ["file", "dangling link", "below a file"])
def test_a_folder_that_cannot_be_is_an_error_that_names_it(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "place"
    if kind == "dangling link":
        path.symlink_to(tmp_path / "nowhere" / "at all")
    else:
        path.write_text("")
    path = path / "sub" if kind == "below a file" else path
    with pytest.raises(StoreError, match=r"cannot create the folder .*place.*\n.*donewhen doctor"):
        fs.make_private_dir(path)


def test_atomic_write_replaces_whole_and_leaves_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(0)
    try:
        fs.write_atomic(path, b"one")
    finally:
        os.umask(before)
    assert mode(path) == 0o600
    fs.write_atomic(path, b"two", mode=0o640)
    assert (path.read_bytes(), mode(path)) == (b"two", 0o640)
    assert os.listdir(tmp_path) == ["file"]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    (path / "x").touch()
    with pytest.raises(StoreError, match="cannot write"):
        fs.write_atomic(path, b"data")
    assert os.listdir(tmp_path) == ["folder"]
    with pytest.raises(StoreError, match="cannot write"):
        fs.write_atomic(tmp_path / "none" / "file", b"data")


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    fs.write_atomic(path, b"a" * 100_000)
    writer = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys; from pathlib import Path; from donewhen.system import fs\n"
            "for n in range(200): fs.write_atomic(Path(sys.argv[1]), bytes([97 + n % 26]) * 100_000)",
            str(path),
        ]
    )
    while writer.poll() is None:
        data = path.read_bytes()
        assert len(data) == 100_000
        assert len(set(data)) == 1
    assert writer.returncode == 0


def test_append_adds_and_makes_private_files(tmp_path: Path) -> None:
    path = tmp_path / "log"
    fs.append_fsync(path, b"one\n")
    fs.append_fsync(path, b"two\n", durable=False)
    assert path.read_bytes() == b"one\ntwo\n"
    assert mode(path) == 0o600


def test_an_append_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    """A real short write: the file may not grow beyond 1000 bytes."""
    path = tmp_path / "log"
    fs.append_fsync(path, b"x" * 900)
    code = (
        "import resource, signal, sys; from pathlib import Path; from donewhen.system import fs\n"
        "from donewhen.errors import StoreError\n"
        f"signal.signal({int(signal.SIGXFSZ)}, signal.SIG_IGN)\n"
        f"resource.setrlimit({resource.RLIMIT_FSIZE}, (1000, 1000))\n"
        "try: fs.append_fsync(Path(sys.argv[1]), b'y' * 500)\n"
        "except StoreError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, check=True)
    assert b"cannot append to" in done.stdout
    assert path.read_bytes() == b"x" * 900


def test_reading_says_none_for_no_file_and_complains_about_the_rest(tmp_path: Path) -> None:
    assert fs.read_bytes(tmp_path / "none") is None
    assert fs.size(tmp_path / "none") == 0
    (tmp_path / "file").write_bytes(b"abc")
    assert fs.read_bytes(tmp_path / "file") == b"abc"
    assert fs.size(tmp_path / "file") == 3
    assert fs.read_bytes(tmp_path / "file" / "below") is None
    with pytest.raises(StoreError, match="cannot read"):
        fs.read_bytes(tmp_path)


def test_truncate_cuts(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcdef")
    fs.truncate(tmp_path / "file", 2)
    assert (tmp_path / "file").read_bytes() == b"ab"
    with pytest.raises(StoreError, match="cannot cut"):
        fs.truncate(tmp_path / "none", 0)
