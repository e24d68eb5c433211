"""Any program as an agent: the prompt on standard input, in the run's folder, ended by its exit."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from donewhen.agents.base import AgentEvent, AgentSpec, Finished, Launch, Outcome, Parser, Turn
from donewhen.agents.stream import Lines
from donewhen.errors import UsageError


class Command:
    tool_events = False

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        try:
            self.argv = tuple(shlex.split(spec.model))
        except ValueError as error:
            raise _bad(spec.model, str(error)) from error
        if not self.argv:
            raise _bad(spec.model, "there is no command")
        if "/" in self.argv[0]:  # relative to where the user is, not to the worktree
            self.argv = (str(Path(self.argv[0]).absolute()), *self.argv[1:])

    def locate(self) -> str:
        found = shutil.which(self.argv[0], path=os.environ.get("PATH"))
        if not found:
            raise _bad(self.spec.model, f"{self.argv[0]} is not there or not executable")
        return found

    def launch(self, turn: Turn) -> Launch:
        return Launch(self.argv, {"DONEWHEN_PROMPT": str(turn.prompt)}, stdin=turn.prompt)

    def parser(self, turn: Turn) -> Parser:
        return Plain()


class Plain:
    """Shows what the program prints; how it ended is its exit code."""

    def __init__(self) -> None:
        self.lines = Lines(cap=1 << 16)

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        texts = (line.decode("utf-8", "replace").rstrip() for line in self.lines.feed(chunk))
        return [AgentEvent("say", text) for text in texts if text]

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        last = stderr_tail.strip()[-500:]
        if done.spawn_error or done.code in (126, 127):
            return Outcome("spawn", detail=done.spawn_error or last)
        if done.timed_out:
            return Outcome("timeout")
        if done.silent:
            return Outcome("hang")
        return (
            Outcome("worked")
            if done.code == 0
            else Outcome("crashed", detail=last or f"exit {done.code}")
        )


def _bad(text: str, what: str) -> UsageError:
    return UsageError(
        f"--agent command:{text!r}: {what}", hint='Type: --agent command:"./agent.sh"'
    )
