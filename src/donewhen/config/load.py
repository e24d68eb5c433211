"""Find and read the configuration: donewhen.toml, or [tool.donewhen] of a pyproject.toml."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

from donewhen.config import bounded
from donewhen.config.check import MEND, Place, checked
from donewhen.config.model import AgentConfig, Config, Source, Workspace
from donewhen.errors import ConfigError

__all__ = ["AgentConfig", "Config", "Source", "Workspace", "find", "parse"]

MOST = 4 << 20  # bytes of a configuration
FILE, SHARED, TABLE = "donewhen.toml", "pyproject.toml", "[tool.donewhen]"
AT = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
OURS = re.compile(r"^\s*\[+\s*tool\s*\.\s*[\"']?donewhen\b", re.MULTILINE)


class Written(float):
    """A number with a point that knows how it was written: `1e3` is no amount of money."""

    def __new__(cls, text: str) -> Written:
        written = super().__new__(cls, text)
        written.text = text.replace("_", "")
        return written

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def find(top: Path, place: Path) -> Config:
    """The configuration in `place`, else at the top of the repository, else defaults.

    Raises ConfigError if it is wrong, or if one folder has both forms.
    """
    for folder in dict.fromkeys((place, top)):
        own, shared = _read(folder / FILE), _shared(folder / SHARED)
        if own is not None and shared is not None:
            raise ConfigError(
                f"{folder} has {FILE} and {TABLE} in {SHARED}; only one can count",
                hint=f"Remove one of them, e.g.: rm {shlex.quote(str(folder / FILE))}",
            )
        if own is not None:
            return parse(own, str(folder / FILE))
        if shared is not None:
            return parse_shared(shared, str(folder / SHARED))
    return Config()


def parse(text: str, name: str = FILE) -> Config:
    """The text of a donewhen.toml. Raises ConfigError."""
    data = _toml(text, name)
    if "version" not in data:
        raise ConfigError(
            f"{name}: version is missing", hint="Put `version = 1` in its first line."
        )
    return checked(data, Place(name, text))


def parse_shared(text: str, name: str = SHARED) -> Config:
    """The [tool.donewhen] table of a pyproject.toml; `version` may be left out."""
    place = Place(name, text, ("tool", "donewhen"))
    table = _toml(text, name).get("tool", {}).get("donewhen", {})
    if not isinstance(table, dict):
        raise place.error(f"must be a table, not {table!r:.60}")
    return checked(table, place)


def _toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=Written)
    except tomllib.TOMLDecodeError as error:
        what = str(error)
        found = AT.search(what)
        line = f":{found[1]}" if found and found[1] else ""
        raise ConfigError(f"{name}{line}: not valid TOML: {AT.sub('', what)}", hint=MEND) from error
    except RecursionError as error:
        raise ConfigError(f"{name}: not valid TOML: nested too deeply", hint=MEND) from error


def _read(path: Path) -> str | None:
    """Text with any line ends, with or without a byte order mark; None if there is no file."""
    if not os.path.lexists(path):
        return None
    try:
        return bounded.read(path, MOST).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 (byte {error.start})",
            hint=f"Save it as UTF-8, e.g.: iconv -f latin1 -t utf-8 {shlex.quote(path.name)}",
        ) from error
    except bounded.Unreadable as error:
        raise ConfigError(
            f"{path}: cannot be read: {error}", hint=f"Type: ls -l {shlex.quote(str(path))}"
        ) from error


def _shared(path: Path) -> str | None:
    """The text of a pyproject.toml that speaks to us. A broken one that does not is not ours."""
    try:
        if b"donewhen" not in bounded.read(path, MOST):
            return None
    except bounded.Unreadable:  # its own tools will say so
        return None
    text = _read(path)
    if text is None:
        return None
    if OURS.search(text):
        return text
    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError:
        return None
    return text if "donewhen" in tools else None
