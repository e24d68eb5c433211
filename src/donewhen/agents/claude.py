"""Claude Code: `claude -p` with the prompt on standard input, judged by its stream of JSON lines.

How it ended is read from `is_error` of the last result (a run can have two), then from the exit
code; never from `subtype`, which says "success" for a refused login. Text is looked at only in
results that are errors, never in what the model wrote.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from typing import Any

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

INSTALL = "npm install -g @anthropic-ai/claude-code"
READ_ONLY_GIT = ("git status", "git diff", "git log", "git show")
# What a running session sets; a nested client refuses to start, or answers for the outer one.
NESTING = (
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA",
)  # fmt: skip
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
# HTTP status of the API -> how it ended.
STATUS: Mapping[int, End] = {
    401: "auth",
    403: "auth",
    402: "credit",
    429: "limited",
    529: "overloaded",
}
# Error results without a status, by what they begin with or contain.
SAID: tuple[tuple[str, End], ...] = (
    (r"credit balance is too low", "credit"),
    (r"invalid api key|not logged in|please run /login|oauth token", "auth"),
    (r"(usage|session|weekly|5-hour) limit", "limited"),
    (r"overloaded", "overloaded"),
)
FILE_TOOLS = {
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
}


class Claude:
    tool_events = True

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
        env: dict[str, str] = {}
        if self.spec.permissions == "full":
            argv.append("--dangerously-skip-permissions")
            if os.geteuid() == 0:  # root is refused unless it says that it is sandboxed
                env["IS_SANDBOX"] = "1"
        else:
            argv += ["--permission-mode", "acceptEdits", "--allowedTools", *self._allowed()]
        unset = NESTING + (KEYS if self.spec.auth == "subscription" else ())
        return Launch(tuple(argv), env, unset, turn.prompt)

    def _allowed(self) -> list[str]:
        commands = [c for c in self.spec.gate_commands if not c.startswith("sh:")]
        return [f"Bash({command}:*)" for command in (*commands, *READ_ONLY_GIT)]

    def parser(self, turn: Turn) -> Parser:
        return Stream()


class Stream:
    """Events as they come; the last result decides."""

    def __init__(self) -> None:
        self.lines = Lines()
        self.result: dict[str, Any] | None = None
        self.session = ""
        self.tokens = 0
        self.resets_at = 0.0

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return [shown for event in objects(self.lines.feed(chunk)) for shown in self._take(event)]

    def _take(self, event: dict[str, Any]) -> list[AgentEvent]:
        self.session = str(event.get("session_id") or self.session)
        match event.get("type"):
            case "result":
                self.result = event
                self.tokens = all_tokens(event) or self.tokens + tokens(event.get("usage"))
            case "assistant":
                return list(_shown(event))
            case "rate_limit_event":
                info = event.get("rate_limit_info") or event
                if isinstance(info, dict) and info.get("status") == "rejected":
                    self.resets_at = _number(info.get("resetsAt"))
        return []

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        for event in objects(self.lines.last()):
            self._take(event)
        cost = _number(self.result.get("total_cost_usd")) if self.result else 0.0
        end, until, detail = self._how(done, stderr_tail.strip()[-500:])
        usage = Usage(cost, self.tokens, self.result is not None)
        return Outcome(end, usage, until, detail, self.session, cost)

    def _how(self, done: Finished, errors: str) -> tuple[End, float, str]:
        if done.spawn_error:
            return "spawn", 0.0, done.spawn_error
        if self.result is not None and not self.result.get("is_error"):
            return "worked", 0.0, ""
        if done.timed_out:
            return "timeout", 0.0, errors
        if done.silent:
            return "hang", 0.0, errors
        if self.result is not None:
            return self._error(self.result)
        if done.code < 0 or done.code in (130, 137, 143):
            return "crashed", 0.0, errors or f"ended by signal, exit {done.code}"
        return "protocol", 0.0, errors or f"exit {done.code} without a result"

    def _error(self, result: dict[str, Any]) -> tuple[End, float, str]:
        said = str(result.get("result") or "; ".join(map(str, result.get("errors") or ())))[:500]
        status = result.get("api_error_status")
        if str(result.get("subtype", "")).startswith(("error_max_turns", "error_max_budget")):
            return "worked", 0.0, said  # a cap of the client's own: what it did is judged
        if isinstance(status, int) and status in STATUS:
            end = STATUS[status]
        elif isinstance(status, int) and status >= 500:
            end = "overloaded"
        else:
            end = self._by_text(result, said)
        return end, self.resets_at if end == "limited" else 0.0, said

    def _by_text(self, result: dict[str, Any], said: str) -> End:
        for pattern, end in SAID:
            if re.search(pattern, said, re.I):
                return end
        if result.get("subtype") == "error_during_execution":
            return "crashed"
        if result.get("terminal_reason") == "api_error" and result.get("api_error_status") is None:
            return "overloaded"  # nobody answered: the network, not the work
        return "protocol"


def _shown(event: dict[str, Any]) -> list[AgentEvent]:
    content = (event.get("message") or {}).get("content")
    found = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        if block.get("type") == "text" and block.get("text"):
            found.append(AgentEvent("say", str(block["text"])))
        elif block.get("type") == "tool_use":
            found.append(_tool(str(block.get("name")), block.get("input") or {}))
    return found


def _tool(name: str, given: dict[str, Any]) -> AgentEvent:
    path = str(given.get(FILE_TOOLS.get(name, ""), ""))
    what = str(given.get("command") or path or given.get("description") or "")
    return AgentEvent("tool", f"{name} {what}".strip(), (path,) if path else ())


def all_tokens(result: dict[str, Any]) -> int:
    """Tokens of the session so far, sub-agents included: modelUsage is cumulative, usage is not."""
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    models = result.get("modelUsage")
    rows = models.values() if isinstance(models, dict) else ()
    return sum(
        int(_number(row.get(name))) for row in rows if isinstance(row, dict) for name in names
    )


def tokens(usage: Any) -> int:
    """Tokens that one result names, cache reads included."""
    if not isinstance(usage, dict):
        return 0
    names = (
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    )
    return sum(int(_number(usage.get(name))) for name in names)


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0
