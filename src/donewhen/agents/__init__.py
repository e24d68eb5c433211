"""Agents by name: a table, imported on use; then `pkg.mod:Class`, then entry points."""

from __future__ import annotations

import shutil
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from donewhen.agents.base import Agent, AgentSpec
from donewhen.errors import UnknownName, UsageError

TABLE = {
    "claude": "donewhen.agents.claude:Claude",
    "command": "donewhen.agents.command:Command",
    "scripted": "donewhen.agents.scripted:Scripted",
}
# Programs of coding agents, in the order in which a default is looked for.
KNOWN_PROGRAMS = ("claude", "codex", "gemini", "opencode", "aider")
INSTALL = "npm install -g @anthropic-ai/claude-code"
GROUP = "donewhen.agents"
DOOR = ("spec", "tool_events", "locate", "launch", "parser")  # what an Agent must offer


def parse(text: str, base: Path | None = None) -> AgentSpec:
    """`name[:model]`, `scripted:FILE`, `command:CMD` or `pkg.mod:Class`. Raises UsageError.

    Files are named relative to `base` (the current folder) and made absolute here, once: a run is
    resumed from anywhere, and its agent works in another folder.
    """
    name, _, model = text.partition(":")
    name = name.strip()
    if not name or "\0" in text:
        raise UsageError(
            f"--agent {text!r} names no agent", hint=f"Known: {', '.join(TABLE)}; NAME[:MODEL]"
        )
    if "." in name and model:  # a dotted path is a name of its own
        cls, _, rest = model.partition(":")
        return AgentSpec(f"{name}:{cls}", rest)
    spec = AgentSpec(name, model)
    if name == "scripted" and model:
        return replace(spec, model=str((base or Path.cwd()) / model))
    if name == "command":
        from donewhen.agents.command import anchored

        return replace(spec, model=anchored(model, base or Path.cwd()))
    return spec


def load(spec: AgentSpec) -> Agent:
    """The adapter of a spec. Raises UnknownName listing the known ones."""
    target = TABLE.get(spec.name) or (spec.name if ":" in spec.name else _entry_point(spec.name))
    if not target:
        raise _unknown(spec.name)
    module, _, name = target.partition(":")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError, SyntaxError, TypeError, ValueError) as error:
        raise _unfit(spec.name, f"cannot be loaded: {error}") from error
    if not callable(cls):
        raise _unfit(spec.name, f"is no class but {cls!r}")
    made = cls(spec)
    if missing := [part for part in DOOR if not hasattr(made, part)]:
        raise _unfit(spec.name, f"is no adapter: it lacks {', '.join(missing)}")
    return cast(Agent, made)


def known() -> list[str]:
    """Every name that `load` knows: ours and those that installed packages bring."""
    from importlib.metadata import entry_points

    return sorted({*TABLE, *(e.name for e in entry_points(group=GROUP))})


def _entry_point(name: str) -> str:
    from importlib.metadata import entry_points

    return next((e.value for e in entry_points(group=GROUP) if e.name == name), "")


def _unfit(name: str, why: str) -> UnknownName:
    return UnknownName(f"agent {name!r} {why}", hint=f"Known: {', '.join(known())}")


def _unknown(name: str) -> UnknownName:
    names = known()
    near = get_close_matches(name, names, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return UnknownName(
        f"unknown agent {name!r}.{meant} Known: {', '.join(names)}",
        hint=f'Type: --agent {(near or names)[0]}, or for any program: --agent command:"./agent.sh"',
    )


def default_agent(path: str) -> str:
    """The first known agent on PATH that has an adapter. Raises UsageError with what to install."""
    here = [name for name in KNOWN_PROGRAMS if shutil.which(name, path=path)]
    for name in here:
        if name in TABLE:
            return name
    looked = ", ".join(n for n in KNOWN_PROGRAMS if n in TABLE)
    also = f"; {', '.join(here)} is there but has no adapter yet" if here else ""
    raise UsageError(
        f"no coding agent found (looked for {looked} on PATH{also})",
        hint=f'Type: {INSTALL}, or name one: --agent command:"./agent.sh"',
    )
