"""On which line of a TOML text is a key? Pure; only asked when there is a fault to report.

tomllib keeps no positions. But every statement of TOML (a header, or a key with its value) can be
parsed alone, so the text is walked statement by statement.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

Path = tuple[str | int, ...]


def locate(text: str, path: Path) -> int:
    """The line (from 1) of the statement that sets or opens `path`; 0 if none does."""
    table: Path = ()
    seen: dict[Path, int] = {}  # how many [[tables]] of a name there were
    for line, statement in _statements(text):
        parsed = tomllib.loads(statement)
        if statement.lstrip().startswith("["):
            table = _header(parsed, seen)
            found: Iterator[Path] = iter([table])
        else:
            found = (table + rest for rest in _paths(parsed))
        if any(candidate[: len(path)] == path for candidate in found):
            return line
    return 0


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """(first line, text) of each statement; a value may go over several lines."""
    start, held = 1, ""
    for number, row in enumerate(text.splitlines(), 1):
        if not held and (not row.strip() or row.lstrip().startswith("#")):
            continue
        start = start if held else number
        held += f"{row}\n"
        try:
            tomllib.loads(held)
        except tomllib.TOMLDecodeError:
            continue
        yield start, held
        held = ""


def _header(parsed: Any, seen: dict[Path, int]) -> Path:
    """The path that a header opens: {"a": {"b": {}}} is a.b, {"a": [{}]} the next a."""
    path: Path = ()
    while parsed:
        if isinstance(parsed, list):
            number = seen.get(path, 0)
            seen[path] = number + 1
            return (*path, number)
        ((key, parsed),) = parsed.items()
        path = (*path, key)
    return path


def _paths(value: Any) -> Iterator[Path]:
    """Every leaf of a parsed statement; an empty table is a leaf too."""
    children: list[tuple[str | int, Any]] = []
    if isinstance(value, Mapping):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    if not children:
        yield ()
    for key, child in children:
        for rest in _paths(child):
            yield (key, *rest)
