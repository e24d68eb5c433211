"""The scripted agent: plays a JSON script, one turn an invocation. Deterministic, and a real process.

Which turn is played is the number of earlier invocations with a recorded outcome (Turn.turn). The
file's form is in script.py; what it does, player.py does in a process of its own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, cast, get_args

from donewhen.agents.base import (
    AgentEvent,
    AgentSpec,
    End,
    Finished,
    Launch,
    Outcome,
    Parser,
    Turn,
)
from donewhen.agents.script import check
from donewhen.agents.stream import Lines, number, objects, record, words
from donewhen.core.events import Usage
from donewhen.errors import UsageError

PLAYER = Path(__file__).parent / "player.py"
SHOWN = ("say", "tool", "error")


class Scripted:
    """`scripted:FILE`."""

    tool_events = True

    def __init__(self, spec: AgentSpec) -> None:
        if not spec.model:
            raise UsageError("--agent scripted names no script", hint="Type: --agent scripted:FILE")
        self.spec = spec
        self.file = Path(spec.model).absolute()

    def locate(self) -> str:
        check(self.file)
        return sys.executable

    def launch(self, turn: Turn) -> Launch:
        # -I -S: neither the tree that is worked on nor a site package may answer for a module.
        return Launch(
            argv=(sys.executable, "-I", "-S", str(PLAYER), str(self.file), str(turn.turn)),
            stdin=turn.prompt,
        )

    def parser(self, turn: Turn) -> Parser:
        return Played()


class Played:
    """Reads what the player says it did; its word on how it ended is the script's."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.end: dict[str, Any] | None = None
        self.used = Usage()

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return [e for said in objects(self.lines.feed(chunk)) if (e := self._take(said))]

    def _take(self, said: dict[str, Any]) -> AgentEvent | None:
        kind = said.get("type")
        if kind == "end" and said.get("end") in get_args(End):
            self.end = said
        if kind == "usage":
            self.used = _usage(said)
            return AgentEvent("usage", "", usage=self.used)
        if kind not in SHOWN:
            return None
        paths = said.get("paths")
        touched = tuple(map(words, paths)) if isinstance(paths, list) else ()
        return AgentEvent(str(kind), words(said.get("text")), touched)

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        for said in objects(self.lines.last()):
            self._take(said)
        detail = words(stderr_tail.strip()[-500:])
        if done.spawn_error:
            return Outcome("spawn", detail=words(done.spawn_error))
        if self.end is not None:
            return self._said(self.end)
        if done.timed_out:
            return Outcome("timeout", self.used, detail=detail)
        if done.silent:
            return Outcome("hang", self.used, detail=detail)
        return Outcome("crashed", self.used, detail=detail or f"exit {done.code} without an end")

    def _said(self, end: dict[str, Any]) -> Outcome:
        return Outcome(
            cast(End, end["end"]),
            _usage(end),
            number(end.get("until")),
            words(end.get("detail")),
        )


def _usage(said: dict[str, Any]) -> Usage:
    usage = record(said.get("usage"))
    return Usage(number(usage.get("usd")), int(number(usage.get("tokens"))), bool(usage))
