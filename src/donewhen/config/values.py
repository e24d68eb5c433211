"""What a value of the configuration must be: TOML value in, ours out, or ValueError. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from datetime import date
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from donewhen.config import shell, units

Read = Callable[[Any], Any]


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text")
    return value


def command(value: Any) -> str:
    """A command line for argv, or `sh: ...` for a shell."""
    line = text(value)
    if not line.startswith("sh:"):
        try:
            shlex.split(line)
        except ValueError as error:
            raise ValueError(f'cannot be split ({error}); for a shell write "sh: ..."') from error
    return line


def gate_command(value: Any) -> str:
    """A command line that is started without a shell, or `sh: ...` for one."""
    line = command(value)
    if line.startswith("sh:"):
        return line
    if bare := shell.shell_only(line):
        raise ValueError(
            f'holds {bare}, which only a shell acts on; write "sh: ..." or put it in single quotes'
        )
    if shell.assigns(line):
        raise ValueError('begins with a variable; write "env NAME=VALUE ..." or "sh: ..."')
    return line


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def number(read: Read, *kinds: type) -> Read:
    """A TOML number; text is refused, so that `"10"` is not mistaken for 10."""

    def checked(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise ValueError("must be a number without quotes")
        return read(value)

    return checked


def duration(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError('must be a duration in quotes such as "90s", "30m" or "1h30m"')
    return units.seconds(value)


def or_none(read: Read) -> Read:
    """0 means no limit."""
    return lambda value: 0 if value == 0 and not isinstance(value, bool) else read(value)


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def commands(value: Any) -> tuple[str, ...]:
    return tuple(command(line) for line in texts(value))


def names(value: Any) -> tuple[str, ...]:
    found = texts(value)
    if wrong := next((n for n in found if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", n)), ""):
        raise ValueError(f"must be names of environment variables ({wrong!r} is none)")
    return found


def inside(value: Any) -> str:
    """A path that cannot leave the project."""
    path = PurePosixPath(text(value))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("must be a path inside the project")
    return str(value)


def outside(value: Any) -> str:
    """A folder, or "" for none; whether it lies outside the repository is seen where that is known."""
    return text(value) if value != "" else ""


def all_inside(value: Any) -> tuple[str, ...]:
    return tuple(inside(path) for path in texts(value))


def codes(value: Any) -> tuple[int, ...]:
    whole = isinstance(value, list) and all(type(v) is int and 0 <= v <= 255 for v in value)
    if not whole or not value:
        raise ValueError("must be a list of exit codes, 0 to 255")
    return tuple(value)


def until(value: Any) -> tuple[str, ...]:
    """A table of test id = day, as "YYYY-MM-DD TEST-ID"."""
    if not isinstance(value, Mapping):
        raise ValueError('must be a table: { "tests/test_a.py::test_x" = 2027-01-31 }')
    return tuple(f"{_day(day)} {text(test)}" for test, day in value.items())


LEVELS = ("error", "warning", "info", "off")


def severities(value: Any) -> tuple[str, ...]:
    """A table of rule = level, as "RULE=level"."""
    if not isinstance(value, Mapping):
        raise ValueError('must be a table: { E501 = "warning", S = "error" }')
    return tuple(f"{_rule(key)}={_level(key, level)}" for key, level in value.items())


def _rule(key: str) -> str:
    """A rule, the beginning of rules, or a severity; what is nearly a severity is one misspelt."""
    near = get_close_matches(key.lower(), LEVELS[:3], n=1, cutoff=0.8)
    if near and key not in LEVELS:
        raise ValueError(f"{key!r} is no severity; did you mean {near[0]}?")
    return text(key)


def _level(key: str, value: Any) -> str:
    if isinstance(value, str) and value in LEVELS:
        return value
    near = get_close_matches(str(value).lower(), LEVELS, n=1, cutoff=0.5)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{key} must be {' or '.join(map(repr, LEVELS))} ({value!r} is none{meant})")


def _day(value: Any) -> str:
    try:
        day = date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        day = None
    if type(day) is not date:
        raise ValueError(f"must give each test a day such as 2027-01-31 ({value!s} is none)")
    return day.isoformat()


def one_of(*choices: str) -> Read:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be {' or '.join(map(repr, choices))}")
        return value

    return read


def known(names: Mapping[str, str]) -> Read:
    """One of a longer table, with the nearest name for what is none."""

    def read(value: Any) -> str:
        if isinstance(value, str) and value in names:
            return value
        near = get_close_matches(str(value), names, n=1)
        meant = f"; did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"must be one of {', '.join(names)}{meant}")

    return read


def version(value: Any) -> int:
    if type(value) is not int or value != 1:
        raise ValueError("must be 1, the only version this donewhen reads")
    return value
