"""What is used up: limits and spending in, the name of what ran out (or "") out."""

from __future__ import annotations

from donewhen.core.contract import Limits
from donewhen.core.events import Usage


def wall(started: float, now: float, waited: float) -> float:
    """Seconds a run has worked: waiting for a usage limit, and lying stopped, do not count."""
    return max(0.0, now - started - waited) if started else 0.0


def used_up(limits: Limits, spent: Usage) -> str:
    """`usd` or `tokens`; "" while both are within the limits. 0 means no limit."""
    if limits.usd and spent.usd >= limits.usd:
        return "usd"
    if limits.tokens and spent.tokens >= limits.tokens:
        return "tokens"
    return ""


def ran_out(limits: Limits, spent: Usage, worked_s: float) -> str:
    """`usd`, `tokens` or `wall`; "" while all is within the limits. 0 means no limit."""
    wall_over = limits.wall_s and worked_s >= limits.wall_s
    return used_up(limits, spent) or ("wall" if wall_over else "")


def together(one: Usage, other: Usage) -> Usage:
    """What two invocations used in all."""
    return Usage(one.usd + other.usd, one.tokens + other.tokens, one.known or other.known)
