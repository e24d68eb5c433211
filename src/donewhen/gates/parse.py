"""From what a user wrote to a gate definition: `--gate [NAME=]CMD` and `[gates.NAME]` tables.

A command is split by shlex and run without a shell; `sh: ...` asks for one. A known program gets
its adapter, anything else is judged by its exit code and shown as weak.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from donewhen.errors import UsageError
from donewhen.gates.base import GateDef

NAMED = re.compile(r"([A-Za-z0-9_-]+)=(?=\S)(.*)", re.S)
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
SLUG = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
# Words that only start another program, with the number of words they take.
WRAPPERS = (("uv", "run"), ("poetry", "run"), ("pdm", "run"), ("hatch", "run"), ("pipenv", "run"))
KINDS = {"pytest": "test", "unittest": "test"}
LINTERS = {
    "ruff": "lint",
    "flake8": "lint",
    "eslint": "lint",
    "mypy": "types",
    "pyright": "types",
    "tsc": "types",
}
NAMES = {"test": "tests", "lint": "lint", "types": "types"}


def is_addition(flag: str) -> bool:
    """`+CMD` adds to what was configured or detected; anything else replaces it."""
    return flag.startswith("+")


def parse_flag(flag: str) -> GateDef:
    """One `--gate`. Raises UsageError naming the flag and what to type instead."""
    text = flag.removeprefix("+").strip()
    name = ""
    if (match := NAMED.fullmatch(text)) and not _assigns(text):
        name, text = match[1], match[2].strip()
    if _assigns(text):
        raise _bad(flag, "begins with a variable", f"--gate 'env {text}' or --gate 'sh: {text}'")
    return from_command(text, name=name, source="flag", flag=flag)


def _assigns(text: str) -> bool:
    """`FOO=1 pytest`: a shell would set a variable; a name of a gate is written in lower case."""
    head = text.split(None, 1)
    return bool(
        head and ASSIGNMENT.match(head[0]) and head[0].split("=", 1)[0].isupper() and len(head) > 1
    )


def from_command(text: str, *, name: str = "", source: str, flag: str = "") -> GateDef:
    """A command line as a gate. Raises UsageError where it is empty or cannot be split."""
    flag = flag or text
    if "\0" in text:
        raise _bad(flag, "holds a NUL byte", "--gate 'pytest -q'")
    argv = _split(flag, text)
    form = adapter_of(argv)
    kind = KINDS.get(form) or LINTERS.get(program_of(argv), "other")
    return GateDef(
        name=name or NAMES.get(kind) or slug(program_of(argv)),
        argv=argv,
        format=form,
        source=source,
        kind=kind,
        weak=form == "exit",
        why=f"named by {source}",
    )


def from_config(name: str, values: Mapping[str, Any]) -> GateDef:
    """A `[gates.NAME]` table, as config.load has checked it."""
    gate = from_command(str(values["run"]), name=name, source="config")
    changes = {k: v for k, v in values.items() if k != "run"}
    weak = changes.get("format", gate.format) == "exit"
    return replace(gate, **changes, weak=weak, why="configured")


def _split(flag: str, text: str) -> tuple[str, ...]:
    if text.startswith("sh:"):
        script = text[3:].strip()
        if not script:
            raise _bad(flag, "has no command after sh:", "--gate 'sh: make lint | tee log'")
        return ("sh", "-c", script)
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise _bad(
            flag, f"cannot be split: {error}", "--gate 'sh: ...' for shell syntax"
        ) from error
    if not argv or not argv[0]:
        raise _bad(flag, "has no command", "--gate 'pytest -q'")
    return argv


def _bad(flag: str, what: str, instead: str) -> UsageError:
    return UsageError(f"--gate {flag!r} {what}", hint=f"Type: {instead}")


def program_of(argv: Sequence[str]) -> str:
    """The program that really runs, behind wrappers and `python -m`."""
    words = unwrapped(argv)
    if not words:
        return ""
    program = PurePath(words[0]).name
    if re.fullmatch(r"python[\d.]*|py", program) and len(words) > 2 and words[1] == "-m":
        return words[2]
    return program


def unwrapped(argv: Sequence[str]) -> tuple[str, ...]:
    """Without `uv run`, `env A=b` and the like."""
    words = tuple(argv)
    while words:
        if PurePath(words[0]).name == "env":
            words = words[1:]
            while words and ASSIGNMENT.match(words[0]):
                words = words[1:]
        elif words[:2] in WRAPPERS:
            words = words[2:]
        else:
            return words
    return words


def adapter_of(argv: Sequence[str]) -> str:
    """The report format for a command line."""
    program = program_of(argv)
    if program in {"pytest", "py.test"}:
        return "pytest"
    if program == "unittest" and "unittest" in argv:
        return "unittest"
    return "junit" if any("{report}" in word for word in argv) else "exit"


def slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(text).stem).strip("-").lower() or "gate"


def unique(gates: Iterable[GateDef]) -> tuple[GateDef, ...]:
    """The same gates with names that differ: tests, tests-2."""
    taken: dict[str, int] = {}
    named = []
    for gate in gates:
        taken[gate.name] = taken.get(gate.name, 0) + 1
        number = taken[gate.name]
        named.append(gate if number == 1 else replace(gate, name=f"{gate.name}-{number}"))
    return tuple(named)
