"""Files of ours: private, atomic, durable. The crash harness wraps this module from outside."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from donewhen.errors import StoreError


def make_private_dir(path: Path) -> None:
    """Create `path` and its parents with mode 0700. Raises StoreError where that cannot be."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot("create the folder", path, error) from error


def write_atomic(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Whole or not at all: a temporary file beside it, fsync, rename, fsync of the folder."""
    try:
        handle, temp = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _cannot("write", path, error) from error
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fchmod(out.fileno(), mode)
            os.fsync(out.fileno())
        Path(temp).replace(path)
        sync_dir(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temp).unlink()
        raise _cannot("write", path, error) from error


def append_fsync(path: Path, data: bytes, durable: bool = True) -> None:
    """One O_APPEND write of `data`; raises StoreError if it did not fit whole."""
    try:
        out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(out, data)
            if written != len(data):
                os.ftruncate(out, os.fstat(out).st_size - written)
                raise OSError(28, "No space left on device")
            if durable:
                os.fsync(out)
        finally:
            os.close(out)
    except OSError as error:
        raise _cannot("append to", path, error) from error


def truncate(path: Path, size: int) -> None:
    """Cut the file to `size` bytes, durably."""
    with path.open("r+b") as out:
        out.truncate(size)
        os.fsync(out.fileno())


def sync_dir(path: Path) -> None:
    """Make a rename in `path` durable."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _cannot(what: str, path: Path, error: OSError) -> StoreError:
    return StoreError(f"cannot {what} {path}: {error.strerror}", hint="Type `donewhen doctor`.")
