"""The scripted agent: plays a JSON script, one turn an invocation. Deterministic, and a real process.

{"version": 1, "turns": [{"say", "write", "delete", "patch", "run", "sleep", "usage", "end",
"until"}], "after": "idle" | "repeat"}
"""

from __future__ import annotations

import json
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

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
from donewhen.agents.stream import Lines, objects
from donewhen.core.events import Usage
from donewhen.errors import UsageError

PLAYER = Path(__file__).parent / "player.py"
KEYS: dict[str, type | tuple[type, ...]] = {
    "say": str,
    "write": dict,
    "delete": list,
    "patch": str,
    "run": str,
    "sleep": (int, float),
    "usage": dict,
    "end": str,
    "until": str,
}


class Scripted:
    tool_events = True

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec
        self.file = Path(spec.model).absolute()

    def locate(self) -> str:
        check(self.file)
        return sys.executable

    def launch(self, turn: Turn) -> Launch:
        return Launch(
            argv=(sys.executable, "-I", "-S", str(PLAYER), str(self.file), str(turn.turn)),
            stdin=turn.prompt,
        )

    def parser(self, turn: Turn) -> Parser:
        return Played()


class Played:
    """Reads what the player says it did."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.end: dict[str, Any] | None = None

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        events = []
        for said in objects(self.lines.feed(chunk)):
            if said.get("type") == "end":
                self.end = said
            elif said.get("type") in {"say", "tool", "error"}:
                paths = tuple(map(str, said.get("paths", ())))
                events.append(AgentEvent(said["type"], str(said.get("text", "")), paths))
        return events

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        if done.spawn_error:
            return Outcome("spawn", detail=done.spawn_error)
        if self.end is not None:
            usage = self.end.get("usage") or {}
            used = Usage(float(usage.get("usd", 0)), int(usage.get("tokens", 0)), bool(usage))
            return Outcome(
                self.end["end"], used, float(self.end.get("until", 0)), self.end.get("detail", "")
            )
        if done.timed_out:
            return Outcome("timeout")
        if done.silent:
            return Outcome("hang")
        return Outcome("crashed", detail=stderr_tail.strip()[-500:] or f"exit {done.code}")


def check(file: Path) -> None:
    """Raises UsageError naming file, turn and key of the first thing that is wrong."""
    hint = 'A script is {"version": 1, "turns": [{"say": "...", "write": {"path": "text"}}]}'

    def bad(what: str) -> UsageError:
        return UsageError(f"script {file}: {what}", hint=hint)

    try:
        script = json.loads(file.read_bytes())
    except OSError as error:
        raise bad(error.strerror or str(error)) from error
    except ValueError as error:
        raise bad(f"no JSON: {error}") from error
    if not isinstance(script, dict) or script.get("version") != 1:
        raise bad("version must be 1")
    if unknown := script.keys() - {"version", "turns", "after"}:
        raise bad(f"unknown key {sorted(unknown)[0]!r}")
    if script.get("after", "idle") not in {"idle", "repeat"}:
        raise bad(f"after must be idle or repeat, not {script['after']!r}")
    turns = script.get("turns")
    if not isinstance(turns, list):
        raise bad("turns must be a list")
    for number, turn in enumerate(turns, 1):
        if what := _wrong(turn):
            raise bad(f"turn {number}: {what}")


def _wrong(turn: Any) -> str:
    if not isinstance(turn, dict):
        return "must be an object"
    for key, value in turn.items():
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            return f"unknown key {key!r}{f' (did you mean {near[0]}?)' if near else ''}"
        if not isinstance(value, KEYS[key]) or isinstance(value, bool):
            return f"{key} has the wrong type"
    if turn.get("end", "worked") not in get_args(End):
        return f"end {turn['end']!r} is none of {', '.join(get_args(End))}"
    return ""
