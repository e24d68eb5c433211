"""Read and check the configuration. Every fault says file, line, key and the next command."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from donewhen.config.options import AGENT, GATE, LIMITS, TOP, WORKSPACE, Option
from donewhen.core.contract import Limits
from donewhen.errors import ConfigError

FILE, TABLE = "donewhen.toml", "[tool.donewhen]"
SECTIONS: dict[str, Sequence[Option]] = {"limits": LIMITS, "workspace": WORKSPACE}
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
FIELDS = {"iteration": "iteration_s", "wall": "wall_s", "silence": "silence_s"}


@dataclass(frozen=True)
class AgentConfig:
    use: str
    after: int = 2
    permissions: str = "edit"
    env: tuple[str, ...] = ()
    auth: str = "key"


@dataclass(frozen=True)
class Workspace:
    mode: str = "worktree"
    setup: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


@dataclass(frozen=True)
class Config:
    """`source` is the file it came from ("" for defaults); `gates` name -> values as checked."""

    source: str = ""
    baseline: str = "auto"
    limits: Limits = field(default_factory=Limits)
    workspace: Workspace = field(default_factory=Workspace)
    gates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    agents: tuple[AgentConfig, ...] = ()


def find(top: Path, place: Path) -> Config:
    """The configuration in `place`, else at the top of the repository, else defaults.

    Raises ConfigError if it is wrong, or if one folder has both forms.
    """
    for folder in dict.fromkeys((place, top)):
        own = folder / FILE
        shared = _tool_table(folder / "pyproject.toml")
        if own.is_file() and shared is not None:
            raise ConfigError(
                f"{folder} has {FILE} and {TABLE} in pyproject.toml; only one can count",
                hint=f"Remove one of them, e.g.: git rm {FILE}",
            )
        if own.is_file():
            return parse(_read(own), str(own))
        if shared is not None:
            return _checked(
                shared, Fault(folder / "pyproject.toml", _read(folder / "pyproject.toml"))
            )
    return Config()


@dataclass(frozen=True)
class Fault:
    """Makes errors that name the file and the line of a key."""

    path: Path
    text: str

    def at(self, where: str, what: str) -> ConfigError:
        line = self._line(where.rpartition(".")[2])
        place = f"{self.path}:{line}" if line else str(self.path)
        return ConfigError(f"{place}: {where}: {what}", hint="Mend it, then type: donewhen doctor")

    def _line(self, key: str) -> int:
        pattern = re.compile(rf"""^\s*(\[+.*\b)?["']?{re.escape(key)}\b""")
        return next((n for n, row in enumerate(self.text.splitlines(), 1) if pattern.match(row)), 0)


def parse(text: str, name: str = FILE) -> Config:
    """The text of a donewhen.toml. Raises ConfigError."""
    fault = Fault(Path(name), text)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            f"{name}: no TOML: {error}", hint="Mend it, then type: donewhen doctor"
        ) from error
    if "version" not in data:
        raise ConfigError(
            f"{name}: version is missing", hint="Put `version = 1` in its first line."
        )
    return _checked(data, fault)


def _read(path: Path) -> str:
    """Text with any line ends, with or without a byte order mark."""
    try:
        return path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: not UTF-8 (byte {error.start})", hint=f"Type: iconv -t utf-8 {path.name}"
        ) from error


def _tool_table(path: Path) -> dict[str, Any] | None:
    if not path.is_file() or "donewhen" not in (text := path.read_text("utf-8", "replace")):
        return None
    try:
        found = tomllib.loads(text.removeprefix("\ufeff")).get("tool", {}).get("donewhen")
    except tomllib.TOMLDecodeError:
        return None  # the tools that own the file will say so
    return found if isinstance(found, dict) else None


def _checked(data: Mapping[str, Any], fault: Fault) -> Config:
    tables = {*SECTIONS, "gates", "agents"}
    top = _section(
        {k: v for k, v in data.items() if k not in tables}, TOP, "", fault, sorted(tables)
    )
    limits = _section(data.get("limits", {}), LIMITS, "limits", fault)
    workspace = _section(data.get("workspace", {}), WORKSPACE, "workspace", fault)
    return Config(
        source=str(fault.path),
        baseline=top.get("baseline", "auto"),
        limits=replace(Limits(), **{FIELDS.get(k, k): v for k, v in limits.items()}),
        workspace=Workspace(**workspace),
        gates=_gates(data.get("gates", {}), fault),
        agents=_agents(data.get("agents", []), fault),
    )


def _section(
    table: Any, options: Sequence[Option], name: str, fault: Fault, also: Sequence[str] = ()
) -> dict[str, Any]:
    """One table: every key known, every value of its kind."""
    if not isinstance(table, Mapping):
        raise fault.at(name, f"must be a table, not {table!r:.40}")
    known = {option.key: option for option in options}
    values = {}
    for key, value in table.items():
        where = f"{name}.{key}" if name else key
        if key not in known:
            near = get_close_matches(key, [*known, *also], n=1, cutoff=0.5)
            meant = f"did you mean {near[0]}?" if near else f"known: {', '.join([*known, *also])}"
            raise fault.at(where, f"unknown key; {meant}")
        try:
            values[key] = known[key].read(value)
        except (ValueError, TypeError) as error:
            raise fault.at(where, f"{error}, not {value!r:.60}") from error
    return values


def _gates(table: Any, fault: Fault) -> dict[str, dict[str, Any]]:
    if not isinstance(table, Mapping):
        raise fault.at("gates", "must be tables [gates.NAME]")
    gates = {}
    for name, values in table.items():
        if not NAME.fullmatch(name):
            raise fault.at(f"gates.{name}", "a gate's name is letters, digits, - and _")
        gates[name] = _section(values, GATE, f"gates.{name}", fault)
        if "run" not in gates[name]:
            raise fault.at(f"gates.{name}", 'has no command; add run = "pytest -q"')
    return gates


def _agents(rows: Any, fault: Fault) -> tuple[AgentConfig, ...]:
    if not isinstance(rows, list):
        raise fault.at("agents", "must be [[agents]] tables")
    found = []
    for row in rows:
        values = _section(row, AGENT, "agents", fault)
        if "use" not in values:
            raise fault.at("agents", 'an agent has no name; add use = "claude"')
        found.append(AgentConfig(**values))
    return tuple(found)
