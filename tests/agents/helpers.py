"""Start an agent as the driver does, and read what it says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.agents.base import Agent, AgentEvent, Finished, Outcome, Turn
from donewhen.system import proc

DATA = Path(__file__).parent / "data"


@dataclass
class Played:
    """One invocation: events as they came, the outcome, and how the process ended."""

    outcome: Outcome
    ended: proc.Outcome
    events: list[AgentEvent] = field(default_factory=list)

    def said(self, kind: str = "say") -> str:
        return "\n".join(e.text for e in self.events if e.kind == kind)

    def paths(self) -> list[str]:
        return [path for e in self.events for path in e.paths]


def invoke(
    agent: Agent, turn: Turn, env: Mapping[str, str] | None = None, timeout: float = 60.0
) -> Played:
    """Launch through run_once and parse the stream."""
    launch = agent.launch(turn)
    whole = {**(os.environ if env is None else env), **launch.env}
    for name in launch.unset:
        whole.pop(name, None)
    parser = agent.parser(turn)
    events: list[AgentEvent] = []
    number = len(list(turn.scratch.glob("attempt-*")))
    ended = proc.run_once(
        proc.Request(
            argv=launch.argv,
            cwd=turn.cwd,
            env=whole,
            marker=f"{turn.scratch.name}-{number}-{os.getpid()}",
            stdin=launch.stdin,
            timeout=timeout,
            grace=1.0,
        ),
        turn.scratch / f"attempt-{number}",
        on_stdout=lambda chunk: events.extend(parser.feed(chunk)),
    )
    done = Finished(ended.code, ended.timed_out, ended.silent, ended.spawn_error)
    errors = ended.stderr.tail(20_000).decode("utf-8", "replace")
    return Played(parser.finish(done, errors), ended, events)


def recording(name: str) -> bytes:
    return (DATA / "claude" / f"{name}.out.jsonl").read_bytes()
