"""From parsed TOML to a Config: every key known, every value of its kind. Pure.

Every fault says file, line, dotted key, what is wrong, and the next command to type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from donewhen.config import lines
from donewhen.config.model import AgentConfig, Config, Integrity, Source, Workspace
from donewhen.config.options import AGENT, GATE, SECTIONS, TABLES, TOP, Option
from donewhen.core.contract import Limits
from donewhen.errors import ConfigError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
MEND = "Mend it, then type: donewhen doctor"


@dataclass(frozen=True)
class Place:
    """A table of a file: makes errors that name file, line and dotted key."""

    file: str
    text: str
    path: lines.Path = ()

    def at(self, *keys: str | int) -> Place:
        return replace(self, path=(*self.path, *keys))

    def error(self, what: str) -> ConfigError:
        ends = range(len(self.path), 0, -1)  # the key, else the table that encloses it
        line = next((n for end in ends if (n := lines.locate(self.text, self.path[:end]))), 0)
        where = f"{self.file}:{line}" if line else self.file
        key = ".".join(part for part in self.path if isinstance(part, str))
        return ConfigError(f"{where}: {key}: {what}", hint=MEND)


def checked(data: Mapping[str, Any], place: Place) -> Config:
    """The whole configuration. Raises ConfigError for the first fault."""
    if "version" in data:  # a file of another version is not called wrong key by key
        _value(TOP[0], data["version"], place.at("version"))
    top = _values({k: v for k, v in data.items() if k not in TABLES}, TOP, place, TABLES)
    tables = {
        name: _values(data.get(name, {}), options, place.at(name))
        for name, options in SECTIONS.items()
    }
    limits = {_field(key): value for key, value in tables["limits"].items()}
    return Config(
        source=place.file,
        exit=top.get("exit", "gates"),
        baseline=top.get("baseline", "auto"),
        limits=replace(Limits(), **limits),
        workspace=Workspace(**tables["workspace"]),
        integrity=Integrity(**tables["integrity"]),
        gates=_gates(data.get("gates", {}), place.at("gates")),
        agents=_agents(data.get("agents", []), place.at("agents")),
        origins=_origins(top, limits, tables["workspace"], data),
    )


def _field(key: str) -> str:
    option = next(o for o in SECTIONS["limits"] if o.key == key)
    return option.field or option.key


def _origins(
    top: Mapping[str, Any],
    limits: Mapping[str, Any],
    workspace: Mapping[str, Any],
    data: Mapping[str, Any],
) -> dict[str, Source]:
    said = [*top, *(f"limits.{k}" for k in limits), *(f"workspace.{k}" for k in workspace)]
    said += [f"gates.{name}" for name in data.get("gates", {})]
    said += ["agents"] if data.get("agents") else []
    return dict.fromkeys(said, Source.FILE)


def _values(
    table: Any, options: Sequence[Option], place: Place, also: Sequence[str] = ()
) -> dict[str, Any]:
    """One table as checked values."""
    if not isinstance(table, Mapping):
        raise place.error(f"must be a table, not {table!r:.60}")
    known = {option.key: option for option in options}
    for key in table:
        if key not in known:
            raise place.at(key).error(f"unknown key; {_meant(key, [*known, *also])}")
    values = {key: _value(known[key], value, place.at(key)) for key, value in table.items()}
    return {key: value for key, value in values.items() if not known[key].inert}


def _value(option: Option, value: Any, place: Place) -> Any:
    try:
        return option.read(value)
    except ValueError as error:
        raise place.error(f"{error}, not {value!r:.60}") from error


def _meant(key: str, known: Sequence[str]) -> str:
    """What an unknown key may have meant: one of another table, a near one, or these."""
    if near := get_close_matches(key, known, n=1, cutoff=0.6):
        return f"did you mean {near[0]}?"
    tables = {"[gates.NAME]": GATE, "[[agents]]": AGENT}
    tables |= {f"[{name}]": tuple(options) for name, options in SECTIONS.items()}
    homes = [name for name, options in tables.items() if any(o.key == key for o in options)]
    if homes:
        return f"it belongs in {' or '.join(homes)}"
    return f"known: {', '.join(known)}"


def _gates(table: Any, place: Place) -> dict[str, dict[str, Any]]:
    if not isinstance(table, Mapping):
        raise place.error("must be tables [gates.NAME]")
    found = {}
    for name, values in table.items():
        here = place.at(name)
        if not NAME.fullmatch(name):
            raise here.error("a gate's name is letters, digits, - and _")
        found[name] = _values(values, GATE, here)
        if "run" not in found[name]:
            raise here.error('has no command; add run = "pytest -q"')
    return found


def _agents(rows: Any, place: Place) -> tuple[AgentConfig, ...]:
    if not isinstance(rows, list):
        raise place.error("must be [[agents]] tables")
    found = []
    for number, row in enumerate(rows):
        here = place.at(number)
        values = _values(row, AGENT, here)
        if "use" not in values:
            raise here.error('an agent has no name; add use = "claude"')
        found.append(AgentConfig(**values))
    return tuple(found)
