"""The door of the agents: what an adapter of one coding-agent CLI must offer.

An adapter builds argv and environment and parses a stream. It has no loop, no retries, no gates,
and starts nothing itself: the driver runs the Launch through system.proc.run_once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from donewhen.core.events import Usage

End = Literal[
    "worked", "limited", "overloaded", "auth", "credit", "spawn", "protocol", "hang", "timeout",
    "crashed", "refused",
]  # fmt: skip


@dataclass(frozen=True)
class AgentSpec:
    """An agent as the user named it: `claude:sonnet`, `scripted:FILE`, `command:"./agent.sh"`."""

    name: str
    model: str = ""  # whatever follows the first colon
    permissions: str = "edit"  # edit | full
    env: tuple[str, ...] = ()
    context: str = "fresh"  # fresh | resume
    auth: str = "key"  # key | subscription
    gate_commands: tuple[str, ...] = ()  # what `edit` lets the agent run

    @property
    def label(self) -> str:
        return f"{self.name}:{self.model}" if self.model else self.name


@dataclass(frozen=True)
class Turn:
    """One invocation: where, with which prompt, which turn of the run it is.

    `turn` counts earlier invocations with a recorded outcome, from 0 (the scripted agent plays
    by it). `scratch` is a folder of the attempt, outside the tree, for files of the adapter.
    `session` goes on with an earlier conversation, which had `before` on its meter. `usd_left` is
    what it may still cost, for clients that stop by themselves; 0 for no cap.
    """

    cwd: Path
    prompt: Path
    turn: int
    scratch: Path
    run: str = ""
    session: str = ""
    before: Usage = field(default_factory=Usage)
    usd_left: float = 0.0


@dataclass(frozen=True)
class Launch:
    """What to start. Standard input is always a file (the prompt or an empty one)."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    stdin: Path | None = None


@dataclass(frozen=True)
class Finished:
    """How the process ended: exit code (negative = signal) and why it was ended, if it was."""

    code: int
    timed_out: bool = False
    silent: bool = False
    spawn_error: str = ""


@dataclass(frozen=True)
class AgentEvent:
    """Something to show while it works: kind is say, tool, error or info; `paths` what it touches.

    Kind usage shows nothing: `usage` is what this invocation has used so far, as far as it says.
    """

    kind: str
    text: str
    paths: tuple[str, ...] = ()
    usage: Usage | None = None


@dataclass(frozen=True)
class Outcome:
    """How the invocation ended, in the one taxonomy. `until`: epoch seconds for `limited`.

    `usage` is what this invocation used. `cumulative_*` is the meter of `session` as the client
    says it: what a next Turn of the same session is given as `before`.
    """

    end: End
    usage: Usage = field(default_factory=Usage)
    until: float = 0.0
    detail: str = ""
    session: str = ""
    cumulative_usd: float = 0.0
    cumulative_tokens: int = 0


class Parser(Protocol):
    """Fed with the stream as it comes; bounded memory whatever comes."""

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """Bytes of standard output, in order, any size of pieces."""

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        """The end of the process: everything known, turned into one Outcome."""


class Agent(Protocol):
    """An adapter: built from an AgentSpec. `tool_events` says whether its stream names paths."""

    spec: AgentSpec
    tool_events: bool

    def locate(self) -> str:
        """The program's path. Raises UsageError with what was looked for and the install line."""

    def launch(self, turn: Turn) -> Launch:
        """argv, environment and standard input of one invocation; the prompt is never in argv."""

    def parser(self, turn: Turn) -> Parser:
        """A new parser of one invocation's stream."""
