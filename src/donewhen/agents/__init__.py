"""Agents by name: a table, imported on use; then `pkg.mod:Class`, then entry points."""

from __future__ import annotations

import shutil
from difflib import get_close_matches
from importlib import import_module
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


def parse(text: str) -> AgentSpec:
    """`name[:model]`, `scripted:FILE`, `command:CMD` or `pkg.mod:Class`. Raises UsageError."""
    name, _, model = text.partition(":")
    if not name.strip() or "\0" in text:
        raise UsageError(f"--agent {text!r} names no agent", hint=f"Known: {', '.join(TABLE)}")
    if "." in name and model:  # a dotted path is a name of its own
        cls, _, rest = model.partition(":")
        return AgentSpec(f"{name}:{cls}", rest)
    return AgentSpec(name.strip(), model)


def load(spec: AgentSpec) -> Agent:
    """The adapter of a spec. Raises UnknownName listing the known ones."""
    target = TABLE.get(spec.name) or (spec.name if ":" in spec.name else _entry_point(spec.name))
    if not target:
        raise _unknown(spec.name)
    module, _, cls = target.partition(":")
    try:
        made = getattr(import_module(module), cls)(spec)
    except (ImportError, AttributeError) as error:
        raise UnknownName(
            f"agent {spec.name!r} cannot be loaded: {error}", hint=f"Known: {', '.join(TABLE)}"
        ) from error
    return cast(Agent, made)


def _entry_point(name: str) -> str:
    from importlib.metadata import entry_points

    return next((e.value for e in entry_points(group=GROUP) if e.name == name), "")


def _unknown(name: str) -> UnknownName:
    near = get_close_matches(name, TABLE, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    return UnknownName(
        f"unknown agent {name!r}.{meant} Known: {', '.join(TABLE)}",
        hint='For any other program: --agent command:"./agent.sh"',
    )


def default_agent(path: str) -> str:
    """The first known agent on PATH that has an adapter. Raises UsageError with what to install."""
    for name in KNOWN_PROGRAMS:
        if name in TABLE and shutil.which(name, path=path):
            return name
    looked = ", ".join(n for n in KNOWN_PROGRAMS if n in TABLE)
    raise UsageError(
        f"no coding agent found (looked for {looked} on PATH)",
        hint=f'Type: {INSTALL}, or name one: --agent command:"./agent.sh"',
    )
