"""What a result of Claude Code's stream says: how an error ended the run, and what was used.

An error's status and reasons decide; its text only where they are silent. Never `subtype` alone: it
says "success" for a refused login.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from donewhen.agents.base import End
from donewhen.agents.stream import number, record, words
from donewhen.core.events import Usage

# HTTP status of the API -> how it ended. Any other 5xx is `overloaded`.
STATUS: Mapping[int, End] = {
    401: "auth",
    402: "credit",
    403: "auth",
    408: "overloaded",
    429: "limited",
}
# What an error result says where no status does, or where the status says less (credit gone is a
# 400, a spend limit a 429: neither comes back by waiting).
PURSE = re.compile(r"credit balance is too low|monthly spend limit", re.I)
SAID: tuple[tuple[re.Pattern[str], End], ...] = (
    (re.compile(r"invalid api key|not logged in|run /login|oauth token", re.I), "auth"),
    (re.compile(r"hit your .{0,40}limit|(usage|session|weekly|5-hour) limit", re.I), "limited"),
    (re.compile(r"overloaded", re.I), "overloaded"),
    # The answer did not fit: that is the work, and the same prompt would end so again.
    (re.compile(r"output token maximum|context window limit|prompt is too long", re.I), "crashed"),
)
TOO_MUCH = ("prompt_too_long", "image_error")
MODEL_TOKENS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
USAGE_TOKENS = (
    "input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens",
)  # fmt: skip


class Meter:
    """What the session has used, from cumulative and from single figures.

    `total_cost_usd` and `modelUsage` count the whole session, sub-agents and earlier processes
    included; `usage` of a result only that prompt. With no result at all (killed) the requests seen
    are a lower bound.
    """

    def __init__(self, before: Usage) -> None:
        self.before = before
        self.usd = 0.0
        self.cumulative = 0
        self.single = 0
        self.asked = 0
        self.known = False
        self._messages: deque[str] = deque(maxlen=256)

    def result(self, event: dict[str, Any]) -> None:
        self.known = True
        self.usd = max(self.usd, number(event.get("total_cost_usd")))
        rows = record(event.get("modelUsage")).values()
        self.cumulative = max(self.cumulative, sum(_sum(row, MODEL_TOKENS) for row in rows))
        self.single += _sum(event.get("usage"), USAGE_TOKENS)

    def message(self, message: dict[str, Any]) -> None:
        name = words(message.get("id"), 100)
        if name and name not in self._messages:  # one event per block, each with the same figures
            self._messages.append(name)
            self.asked += _sum(message.get("usage"), USAGE_TOKENS)

    def used(self) -> Usage:
        """By this invocation."""
        if not self.known:
            return Usage(0.0, self.asked, False)
        usd = max(0.0, self.usd - self.before.usd)
        if not self.cumulative:
            return Usage(usd, self.single, True)
        return Usage(usd, max(0, self.cumulative - self.before.tokens), True)

    def so_far(self) -> Usage:
        """At least this much: after a result, sub-agents may still be at work."""
        used = self.used()
        return Usage(used.usd, max(used.tokens, self.asked), used.known)

    def reading(self) -> tuple[float, int]:
        """Of the session so far, in dollars and tokens."""
        used = self.used()
        return (
            max(self.usd, self.before.usd),
            max(self.cumulative, self.before.tokens + used.tokens),
        )


def failure(result: dict[str, Any]) -> tuple[End, str]:
    """How a run with this error result ended, and what it says of itself."""
    said = words(result.get("result")) or "; ".join(map(words, items(result.get("errors"))))
    return _failure(result, said[:2000]), said[:500]


def _failure(result: dict[str, Any], said: str) -> End:
    subtype, reason = str(result.get("subtype")), result.get("terminal_reason")
    if subtype in ("error_max_turns", "error_max_budget_usd"):
        return "worked"  # a cap that the user gave the client: what it did till then is judged
    if subtype == "error_during_execution":
        # Interrupted at work; without a single turn it never began (no such session).
        return "crashed" if number(result.get("num_turns")) else "protocol"
    if PURSE.search(said):
        return "credit"
    if result.get("stop_reason") == "refusal":
        return "refused"
    status = int(number(result.get("api_error_status")))
    if status in STATUS:
        return STATUS[status]
    if status >= 500:
        return "overloaded"
    for pattern, end in SAID:
        if pattern.search(said):
            return end
    if reason in TOO_MUCH:
        return "crashed"
    # No status: nobody answered, or the answer broke off. The network, not the work.
    return "overloaded" if reason == "api_error" and not status else "protocol"


def _sum(row: object, names: tuple[str, ...]) -> int:
    return sum(int(number(record(row).get(name))) for name in names)


def items(value: object) -> list[Any]:
    """A foreign value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []
