"""From what a user wrote to a gate definition: `--gate [NAME=]CMD` and `[gates.NAME]` tables.

A command is split by shlex and run without a shell; `sh: ...` asks for one. A known program gets
its adapter, anything else is judged by its exit code and shown as weak. `FOO=1 cmd` is refused
and not guessed at: without a shell it would be a gate named FOO that runs a program called 1.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from pathlib import PurePath, PurePosixPath
from typing import Any

from donewhen.config import shell, units
from donewhen.errors import UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.command import program_at, program_of, swallowed, unwrapped
from donewhen.gates.programs import KINDS, tool_of

__all__ = [
    "adapter_of", "from_command", "from_config", "from_dict", "is_addition", "parse_flag",
    "program_at", "program_of", "slug", "to_dict", "unique", "unwrapped",
]  # fmt: skip

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
NUMBER_FIRST = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[\d.]*\s+\S")
NAMED = re.compile(rf"({NAME.pattern})=(?=\S)(.*)", re.S)
NAMES = {
    "test": "tests",
    "lint": "lint",
    "types": "types",
    "format": "format",
    "security": "security",
}
SETTINGS = {f.name for f in fields(GateDef)} - {
    "name",
    "argv",
    "source",
    "kind",
    "why",
    "weak",
    "rule",
    "exit",
    "script",
}


@dataclass(frozen=True)
class _Origin:
    """How an error calls the thing that is wrong, and how it shows a right one."""

    what: str
    show: str  # a format with one place for a command
    flag: str | None = None  # what stands before the command in a `--gate`: "+", "NAME="

    def error(self, why: str, *better: str) -> UsageError:
        shown = " or ".join(self.show.format(self._typed(text)) for text in better)
        return UsageError(f"{self.what} {why}", hint=f"Type: {shown}")

    def _typed(self, text: str) -> str:
        """As it must be typed: a flag is quoted for the user's shell."""
        return text if self.flag is None else shlex.quote(f"{self.flag}{text}")


def is_addition(flag: str) -> bool:
    """`+CMD` adds to what was configured or detected; anything else replaces it."""
    return flag.lstrip().startswith("+")


def parse_flag(flag: str) -> GateDef:
    """One `--gate`. Raises UsageError naming the flag and what to type instead."""
    text = flag.strip().removeprefix("+").strip()
    name, added = "", "+" if is_addition(flag) else ""
    if (match := NAMED.fullmatch(text)) and not _assigns(text):
        name, text = match[1], match[2].strip()
    origin = _Origin(f"--gate {flag!r}", "--gate {}", f"{added}{name and f'{name}='}")
    if _assigns(text):
        variable, _, rest = text.partition("=")
        named = not name and _known_program(rest)
        raise origin.error(
            "begins with a variable, which only a shell would set",
            f"env {text}",
            f"sh: {text}",
            *([f"{variable.lower()}={rest}"] if named else []),
        )
    return _gate(text, name, "flag", origin)


def _assigns(text: str) -> bool:
    """`FOO=1 pytest`, and `foo=1 pytest`: a gate called foo could not run a program called 1."""
    return shell.assigns(text) or NUMBER_FIRST.match(text) is not None


def _known_program(text: str) -> bool:
    """Would this be a gate's command, so that what stands before it is the gate's name?"""
    try:
        argv = shlex.split(text)
    except ValueError:
        return False
    return adapter_of(argv) != "exit" or tool_of(argv) is not None


def from_command(text: str, *, name: str = "", source: str, flag: str = "") -> GateDef:
    """A command line as a gate. Raises UsageError where it is empty or cannot be split."""
    return _gate(text, name, source, _Origin(f"the gate {flag or text!r}", "'{}'"))


def _gate(text: str, name: str, source: str, origin: _Origin) -> GateDef:
    argv = _split(text, origin)
    form = adapter_of(argv)
    tool = tool_of(argv)
    kind = tool.kind if tool else KINDS.get(form, "other")
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
    """A `[gates.NAME]` table. Raises UsageError naming the gate and the key."""
    origin = _Origin(f"[gates.{name}]", "{}")
    if not NAME.fullmatch(name):
        raise UsageError(
            f"[gates.{name}]: a gate's name is letters, digits, - and _",
            hint=f"Call it [gates.{slug(name)}].",
        )
    if not isinstance(values.get("run"), str):
        raise origin.error("has no command", 'run = "pytest -q"')
    _known(name, values)
    quoted = _Origin(f"[gates.{name}] run = {values['run']!r}", 'run = "{}"')
    gate = _gate(values["run"], name, "config", quoted)
    changes: dict[str, Any] = {
        k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k != "run"
    }
    changes["timeout"] = _seconds(changes.get("timeout", gate.timeout), origin)
    form = changes.get("format", gate.format)
    kind = gate.kind if gate.kind != "other" else KINDS.get(form, "other")
    gate = replace(gate, **changes, weak=form == "exit", why="configured", kind=kind)
    _fits(gate, origin)
    return gate


def _known(name: str, values: Mapping[str, Any]) -> None:
    for key in values:
        if key not in SETTINGS | {"run"}:
            near = get_close_matches(key, sorted(SETTINGS), n=1, cutoff=0.5)
            raise UsageError(
                f"[gates.{name}] has the unknown key {key!r}",
                hint=f"Did you mean {near[0]}?"
                if near
                else f"Known: {', '.join(sorted(SETTINGS))}",
            )


def _seconds(value: Any, origin: _Origin) -> float:
    if isinstance(value, float) and value > 0:
        return value
    try:
        return units.seconds(value)
    except ValueError as error:
        raise origin.error(f"timeout = {value!r} {error}", 'timeout = "15m"') from error


def _fits(gate: GateDef, origin: _Origin) -> None:
    """The format and the command must go together, and the folder must be in the tree."""
    from donewhen.gates import load

    load(gate.format)
    if gate.format == "junit" and not any("{report}" in word for word in gate.argv):
        raise origin.error(
            "has format junit but does not say where the report goes",
            'run = "npx vitest run --reporter=junit --outputFile={report}"',
        )
    if gate.format == "unittest" and program_of(gate.argv) != "unittest":
        raise origin.error("has format unittest for another program", 'run = "python -m unittest"')
    if gate.severity and gate.format in {"exit", "junit", "pytest", "unittest"}:
        raise origin.error(
            f"has a severity table, but format {gate.format} has no rules",
            'format = "sarif"',
            'format = "lines"',
        )
    folder = PurePosixPath(gate.cwd)
    if folder.is_absolute() or ".." in folder.parts or "\0" in gate.cwd:
        raise origin.error(f"cwd = {gate.cwd!r} is not below the project", 'cwd = "packages/api"')
    if gate.empty not in {"fail", "pass"}:
        raise origin.error(f"empty = {gate.empty!r} is neither fail nor pass", 'empty = "fail"')


def _split(text: str, origin: _Origin) -> tuple[str, ...]:
    if "\0" in text:
        raise origin.error("holds a NUL byte", "pytest -q")
    if text.startswith("sh:"):
        return _script(text[3:].strip(), origin)
    if bare := shell.shell_only(text):
        _script(text, origin)  # a better word on a pipe that hides every failure
        raise origin.error(
            f"holds {bare}, which only a shell acts on (in single quotes it is just text)",
            f"sh: {text}",
        )
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise origin.error(f"cannot be split: {error}", "sh: ...") from error
    if not argv or not argv[0]:
        raise origin.error("has no command", "pytest -q")
    return argv


def _script(script: str, origin: _Origin) -> tuple[str, ...]:
    if not script:
        raise origin.error("has no command after sh:", "sh: make lint && make docs")
    if pipe := swallowed(script):
        before, last = pipe
        raise origin.error(
            f"can never fail: its exit code is that of `{last}`, not of `{before}` "
            "(all output is kept anyway)",
            before if not set(before) & set("|&;<>$`") else f"sh: {before}",
        )
    return ("sh", "-c", script)


def adapter_of(argv: Sequence[str]) -> str:
    """The report format for a command line."""
    tool = tool_of(argv)
    reports = any("{report}" in word for word in argv)
    if tool and tool.form != "exit" and (not reports or tool.form == "pytest"):
        return tool.form
    return "junit" if reports else "exit"


def slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]+", "-", PurePath(text).stem).strip("-").lower() or "gate"


def unique(gates: Iterable[GateDef]) -> tuple[GateDef, ...]:
    """The same gates with names that differ: tests, tests-2."""
    gates = list(gates)
    taken = {gate.name for gate in gates}
    seen: set[str] = set()
    named = []
    for gate in gates:
        if gate.name in seen:
            number = 2
            while f"{gate.name}-{number}" in taken:
                number += 1
            gate = replace(gate, name=f"{gate.name}-{number}")
            taken.add(gate.name)
        seen.add(gate.name)
        named.append(gate)
    return tuple(named)


def to_dict(gate: GateDef) -> dict[str, Any]:
    """JSON values for contract.json."""
    return {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(gate).items()}


def from_dict(data: Mapping[str, Any]) -> GateDef:
    """The same gate back. Raises KeyError or TypeError for what is no gate."""
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
    return GateDef(**values)
