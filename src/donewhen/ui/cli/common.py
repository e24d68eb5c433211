"""What several commands share: options, printing JSON, finding a run by what the user typed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, TypeVar

import click

from donewhen.errors import Refused

F = TypeVar("F", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

gate_option = click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="[NAME=]CMD",
    help="A command that must pass; replaces what was detected. '+CMD' adds to it. Repeatable.",
)

# Variables that only an agent's own environment carries; ours is set for everything a run starts.
AGENT_MARKS = (
    "DONEWHEN_RUN",
    "CLAUDECODE",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "GEMINI_CLI",
    "OPENCODE",
    "QWEN_CODE",
    "AIDER_CHAT",
)


def at_work() -> None:
    """This process runs agents or gates: what hid from a killed shim is to come to it."""
    from donewhen.system import orphans

    orphans.adopt()


def print_json(value: Any) -> None:
    """One object on standard output, for scripts."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=True))


def agent_mark() -> str:
    """The variable that says that this shell belongs to an agent, "" for none."""
    return next((name for name in AGENT_MARKS if os.environ.get(name)), "")


def only_a_person(command: str) -> None:
    """Refuse a command that speaks for a person when an agent types it."""
    if mark := agent_mark():
        raise Refused(
            f"`donewhen {command}` speaks for a person, and this shell belongs to an agent "
            f"({mark} is set)",
            hint=f"Type it in a terminal of your own: donewhen {command}",
        )
