"""Read a file that a person named: bounded, and without waiting for what never comes."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path

CHUNK = 1 << 16
PIPE_S = 10.0  # how long a pipe may say nothing


class Unreadable(Exception):
    """Why a file cannot be read; its text completes "FILE cannot be read: ..."."""


def read(path: Path | str, most: int, *, pipes: bool = False) -> bytes:
    """The whole content, at most `most` bytes. Raises Unreadable.

    A folder, a device and a longer file are refused; a pipe too unless `pipes` says that one may be
    named (`<(command)` of a shell is one), and then it may be silent for PIPE_S at most.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from error
    try:
        return _content(handle, most, pipes)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from error
    finally:
        os.close(handle)


def _content(handle: int, most: int, pipes: bool) -> bytes:
    kind = os.fstat(handle).st_mode
    pipe = stat.S_ISFIFO(kind)
    if stat.S_ISDIR(kind):
        raise Unreadable("Is a directory")
    if pipe and not pipes:
        raise Unreadable("Is a pipe, not a file")
    if not (stat.S_ISREG(kind) or pipe):
        raise Unreadable("Is a device, not a file")
    data = bytearray()
    while chunk := _chunk(handle, pipe):
        data += chunk
        if len(data) > most:
            raise Unreadable(f"Is over {_size(most)}")
    return bytes(data)


def _chunk(handle: int, pipe: bool) -> bytes:
    if pipe and not select.select([handle], [], [], PIPE_S)[0]:
        raise Unreadable(f"Is a pipe that says nothing ({PIPE_S:g} s waited)")
    return os.read(handle, CHUNK)


def _size(most: int) -> str:
    return f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
