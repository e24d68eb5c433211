"""Any program as an agent: the prompt on standard input, in the run's folder, ended by its exit.

It has no stream that names what it touches, so its words are shown and never interpreted.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from donewhen.agents.base import AgentEvent, AgentSpec, Finished, Launch, Outcome, Parser, Turn
from donewhen.agents.stream import Lines, words
from donewhen.errors import UsageError

ROOM = 10_000  # lines of an invocation that are all shown
SHOWN = 5  # lines of a piece of output that are shown beyond that
NOT_STARTED = (126, 127)  # what a shell answers for a command that it cannot execute or find


class Command:
    """`command:CMD`. Exit 0 is `worked`: with nothing done and nothing said the gates see that."""

    tool_events = False

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.argv = _split(spec.model)

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
        self.room = ROOM

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        count = chunk.count(b"\n")
        left_out = count - max(self.room, SHOWN)
        self.room = max(0, self.room - count)
        if left_out <= 0:
            return self._said(chunk)
        # Nobody reads a flood, and showing it would take longer than the flood.
        for _line in self.lines.feed(b"\n"):  # what was begun is left out too
            pass
        note = AgentEvent("say", f"[... {left_out} lines not shown, see the log ...]")
        return [note, *self._said(chunk.split(b"\n", left_out)[-1])]

    def _said(self, chunk: bytes) -> list[AgentEvent]:
        return [AgentEvent("say", text) for line in self.lines.feed(chunk) if (text := _seen(line))]

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        detail = words(stderr_tail.strip()[-500:])
        if done.spawn_error or done.code in NOT_STARTED:
            return Outcome("spawn", detail=words(done.spawn_error) or detail or f"exit {done.code}")
        if done.timed_out:
            return Outcome("timeout", detail=detail)
        if done.silent:
            return Outcome("hang", detail=detail)
        if done.code == 0:
            return Outcome("worked")
        return Outcome("crashed", detail=detail or f"exit {done.code}")


def anchored(text: str, base: Path) -> str:
    """The command with a program named by path (`./agent.sh`) made absolute. Raises UsageError."""
    program, *rest = _split(text)
    if "/" in program:
        program = os.path.normpath(base / program)
    return shlex.join([program, *rest])


def _split(text: str) -> tuple[str, ...]:
    try:
        argv = tuple(shlex.split(text))
    except ValueError as error:
        raise _bad(text, str(error)) from error
    if not argv or not argv[0]:
        raise _bad(text, "there is no command")
    return argv


def _seen(line: bytes) -> str:
    """What a terminal would show of a line: after the last carriage return."""
    return words(line.decode("utf-8", "replace").rstrip().rsplit("\r", 1)[-1])


def _bad(text: str, what: str) -> UsageError:
    return UsageError(
        f"--agent command:{text!r}: {what}", hint='Type: --agent command:"./agent.sh"'
    )
