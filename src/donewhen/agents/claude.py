"""Claude Code: `claude -p` with the prompt on standard input, judged by its stream of JSON lines.

How it ended is read from `is_error` of the last result (a run can have two: sub-agents work in the
background), then from the exit code. What a result says is in claude_result.py.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from typing import Any

from donewhen.agents import INSTALL
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
from donewhen.agents.claude_result import Meter, failure, items
from donewhen.agents.stream import Lines, number, objects, record, words
from donewhen.core.events import Usage
from donewhen.errors import UsageError

READ_ONLY_GIT = ("git status", "git diff", "git log", "git show")
# What a session of Claude Code sets for its tools and hooks (2.1.332, measured): a client started
# in one would take itself for a part of it. What a person sets (CLAUDE_CONFIG_DIR, provider, limits,
# CLAUDE_CODE_OAUTH_TOKEN) has other names and stays.
NESTING = (
    "AI_AGENT", "CLAUDECODE", "CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_EXECPATH", "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR", "CLAUDE_SESSION_ID",
)  # fmt: skip
# The same families under names that other versions use.
NESTED = re.compile(r"CLAUDE_(CODE_(SESSION|CHILD|MESSAGING|BRIDGE)|BG|JOB|PLUGIN)_\w+")
SIGNALLED = (130, 137, 143)
SESSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{0,99}")  # goes back into argv one day
OLD_LIMIT = re.compile(r"limit reached\|(\d{10})\b")  # older clients put the reset time there
FILE_TOOLS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")


class Claude:
    """`claude[:MODEL]`."""

    tool_events = True
    login = "To log in type `claude`, then /login there; or set ANTHROPIC_API_KEY"

    def __init__(self, spec: AgentSpec) -> None:
        self.spec = spec

    def locate(self) -> str:
        found = shutil.which("claude", path=os.environ.get("PATH"))
        if not found:
            raise UsageError("claude is not on PATH", hint=f"Type: {INSTALL}")
        return found

    def launch(self, turn: Turn) -> Launch:
        argv = ["claude", "-p", "--output-format", "stream-json", "--verbose"]
        if self.spec.model:
            argv += ["--model", self.spec.model]
        if turn.usd_left:
            argv += ["--max-budget-usd", f"{max(turn.usd_left, 0.0001):.4f}"]
        if turn.session:
            argv += ["--resume", turn.session]
        env: dict[str, str] = {}
        if self.spec.permissions == "full":
            argv.append("--dangerously-skip-permissions")
            if os.geteuid() == 0:  # root is refused unless it says that it is sandboxed
                env["IS_SANDBOX"] = "1"
        else:
            argv += ["--permission-mode", "acceptEdits", "--allowedTools", *self._allowed()]
        return Launch(tuple(argv), env, self._unset(), turn.prompt)

    def _allowed(self) -> list[str]:
        commands = [c for c in self.spec.gate_commands if not c.startswith("sh:")]
        return [f"Bash({command}:*)" for command in (*commands, *READ_ONLY_GIT)]

    def _unset(self) -> tuple[str, ...]:
        also = {name for name in os.environ if NESTED.fullmatch(name)}
        keys = KEYS if self.spec.auth == "subscription" else ()
        return (*sorted(also.union(NESTING)), *keys)

    def parser(self, turn: Turn) -> Parser:
        return Stream(turn.before)


class Stream:
    """Events as they come; the last result decides."""

    def __init__(self, before: Usage | None = None) -> None:
        self.lines = Lines()
        self.meter = Meter(before or Usage())
        self.said = Usage()
        self.result: dict[str, Any] | None = None
        self.at_work = False  # something came after the last result
        self.session = ""
        self.resets_at = 0.0

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return [shown for event in objects(self.lines.feed(chunk)) for shown in self._take(event)]

    def _take(self, event: dict[str, Any]) -> list[AgentEvent]:
        session = event.get("session_id")
        if isinstance(session, str) and SESSION.fullmatch(session):
            self.session = session
        match event.get("type"):
            case "result":
                self.result, self.at_work = event, False
                self.meter.result(event)
                return self._used()
            case "assistant":
                self.at_work = True
                message = record(event.get("message"))
                self.meter.message(message)
                return [*_shown(message), *self._used()]
            case "rate_limit_event":
                info = record(event.get("rate_limit_info"))
                rejected = info.get("status") == "rejected"
                self.resets_at = number(info.get("resetsAt")) if rejected else 0.0
            case "system" if event.get("subtype") == "api_retry":
                return [AgentEvent("info", _retry(event))]
        return []

    def _used(self) -> list[AgentEvent]:
        now = self.meter.so_far()
        news = (now.usd, now.tokens) != (self.said.usd, self.said.tokens)
        self.said = now
        return [AgentEvent("usage", "", usage=now)] if news else []

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        for event in objects(self.lines.last()):
            self._take(event)
        end, detail = self._how(done, words(stderr_tail.strip()[-500:]))
        usd, tokens = self.meter.reading()
        return Outcome(
            end,
            self.meter.used(),
            self._until(detail) if end == "limited" else 0.0,
            detail,
            self.session,
            usd,
            tokens,
        )

    def _how(self, done: Finished, errors: str) -> tuple[End, str]:
        if done.spawn_error:
            return "spawn", words(done.spawn_error)
        cut = _cut(done)
        if self.result is None or (self.at_work and cut):
            if cut:
                return cut, errors or f"ended before its result, exit {done.code}"
            return "protocol", errors or f"exit {done.code} without a result"
        if not self.result.get("is_error"):
            if done.code and not cut:
                return "crashed", errors or f"exit {done.code} after a good result"
            return "worked", ""
        end, said = failure(self.result)
        return (cut or end if end == "crashed" else end), said

    def _until(self, said: str) -> float:
        old = OLD_LIMIT.search(said)
        return self.resets_at or (float(old[1]) if old else 0.0)


def _cut(done: Finished) -> End | None:
    """How it was ended from outside, if it was."""
    if done.timed_out:
        return "timeout"
    if done.silent:
        return "hang"
    return "crashed" if done.code < 0 or done.code in SIGNALLED else None


def _retry(event: dict[str, Any]) -> str:
    why = int(number(event.get("error_status"))) or words(event.get("error"), 200) or "no answer"
    attempt, of = (int(number(event.get(name))) for name in ("attempt", "max_retries"))
    return f"the API says {why}: try {attempt} of {of}"


def _shown(message: dict[str, Any]) -> Iterator[AgentEvent]:
    for block in map(record, items(message.get("content"))):
        if block.get("type") == "text" and (said := words(block.get("text"))):
            yield AgentEvent("say", said)
        elif block.get("type") == "tool_use":
            yield _tool(words(block.get("name"), 200), record(block.get("input")))


def _tool(name: str, given: dict[str, Any]) -> AgentEvent:
    path = words(given.get(FILE_TOOLS.get(name, "")))
    what = words(given.get("command")) or path or words(given.get("description"))
    return AgentEvent("tool", f"{name} {what}".strip(), (path,) if path else ())
