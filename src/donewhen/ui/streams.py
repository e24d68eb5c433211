"""Standard streams that cannot stop a command: closed ones lead nowhere, a full disk is remembered.

A run's result does not depend on whether its last lines could be shown. Only a closed pipe on
standard output (`| head -1`) ends a command early, as it does for every other program.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO


class Forgiving(io.FileIO):
    """Writes to a descriptor. The first failure is kept in `fault`, and nothing is raised for it."""

    def __init__(self, descriptor: int, *, pipes: bool) -> None:
        super().__init__(descriptor, "wb", closefd=False)
        self.pipes = pipes  # a broken pipe is raised
        self.fault = ""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            if self.pipes:
                raise
            self.fault = self.fault or "Broken pipe"
        except OSError as error:
            self.fault = self.fault or error.strerror or str(error)
        return len(data)


def open_closed() -> None:
    """Descriptors 0 to 2 that are closed lead nowhere, so that no file of ours gets their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number


def forgiving(stream: TextIO, *, pipes: bool = False) -> tuple[TextIO, Forgiving]:
    """The same stream over a Forgiving writer; a glyph that its encoding lacks is escaped."""
    raw = Forgiving(stream.fileno(), pipes=pipes)
    text = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=True,
    )
    return text, raw


def drop(stream: TextIO) -> None:
    """Point a stream that nobody reads at nothing, so that the interpreter ends quietly."""
    with open(os.devnull, "wb") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), stream.fileno())


def wrap() -> Forgiving | None:
    """Replace sys.stdout and sys.stderr; returns what writes standard output, None if it is closed.

    A closed one stays None, as Python has it.
    """
    open_closed()
    out = None
    if sys.stdout is not None:
        sys.stdout, out = forgiving(sys.stdout, pipes=True)
    if sys.stderr is not None:
        sys.stderr, _err = forgiving(sys.stderr)
    return out
