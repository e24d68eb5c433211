"""Files of ours: private, atomic, durable. The crash harness wraps this module from outside."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from donewhen.errors import StoreError


def make_private_dir(path: Path) -> None:
    """Create `path` and what is missing above it, all with mode 0700.

    Folders that are already there keep their mode. Raises StoreError where it cannot be.
    """
    try:
        if path.is_dir():  # nearly always
            return
        missing = [place for place in (path, *path.parents) if not place.exists()]
        for place in reversed(missing):
            place.mkdir(mode=0o700, exist_ok=True)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    except OSError as error:
        raise _cannot("create the folder", path, error) from error


def write_atomic(path: Path, data: bytes, mode: int = 0o600, durable: bool = True) -> None:
    """Whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder."""
    import tempfile  # readers start without it

    try:
        handle, temp = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _cannot("write", path, error) from error
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fchmod(out.fileno(), mode)
            if durable:
                os.fsync(out.fileno())
        Path(temp).replace(path)
        if durable:
            sync_dir(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temp).unlink()
        raise _cannot("write", path, error) from error


def append_fsync(path: Path, data: bytes, durable: bool = True) -> None:
    """One O_APPEND write of `data`; raises StoreError, and leaves nothing, if it did not fit whole.

    Durable also means that the name of a file made by this call survives a power cut.
    """
    try:
        out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            before = os.fstat(out).st_size
            written = os.write(out, data)
            if written != len(data):
                os.ftruncate(out, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if durable:
                os.fsync(out)
        finally:
            os.close(out)
        if durable and not before:
            sync_dir(path.parent)
    except OSError as error:
        raise _cannot("append to", path, error) from error


def read_bytes(path: Path) -> bytes | None:
    """The whole file; None where there is none. Raises StoreError for any other trouble."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _cannot("read", path, error) from error


def size(path: Path) -> int:
    """The size in bytes, 0 where there is no file. Raises StoreError for any other trouble."""
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        raise _cannot("read", path, error) from error


def truncate(path: Path, size: int) -> None:
    """Cut the file to `size` bytes, durably."""
    try:
        with path.open("r+b") as out:
            out.truncate(size)
            os.fsync(out.fileno())
    except OSError as error:
        raise _cannot("cut", path, error) from error


def sync_dir(path: Path) -> None:
    """Make a rename or a new name in `path` durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot(what: str, path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot {what} {path}: {error.strerror}", hint="Type: donewhen doctor")
