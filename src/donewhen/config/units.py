"""Numbers, durations and money as people type them; shared by flags and files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from donewhen.core.contract import Limits
from donewhen.core.events import Usage
from donewhen.errors import UsageError

ONE = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)"
PARTS = re.compile(rf"(?:{ONE}h)?(?:{ONE}m)?(?:{ONE}s)?")
ITERATIONS = range(1, 1001)
LONGEST_S = 365 * 24 * 3600.0


def iterations(value: str | int) -> int:
    """1 to 1000; `08` is 8. Raises ValueError with what is wrong."""
    number = whole(value)
    if number not in ITERATIONS:
        raise ValueError("must be 1 to 1000")
    return number


def whole(value: str | int) -> int:
    """A whole number of decimal digits. Raises ValueError."""
    if isinstance(value, bool) or not re.fullmatch(r"[0-9]{1,15}", str(value)):
        raise ValueError("must be a whole number")
    return int(str(value), 10)


def seconds(value: str | int) -> float:
    """`90s`, `30m`, `4h`, `1h30m`; more than nothing. Raises ValueError."""
    text = str(value)
    match = PARTS.fullmatch(text)
    if not text or match is None:
        raise ValueError("must be a duration such as 90s, 30m or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in match.groups())
    total = hours * 3600 + minutes * 60 + rest
    if total <= 0:
        raise ValueError("must be longer than nothing")
    if total > LONGEST_S:
        raise ValueError("must be at most a year (8760h)")
    return total


def money(value: str | float) -> float:
    """Dollars, more than nothing. Raises ValueError."""
    if isinstance(value, bool) or not re.fullmatch(ONE, str(value)):
        raise ValueError("must be an amount such as 5 or 2.50")
    if float(value) <= 0:
        raise ValueError("must be more than 0")
    return float(value)


def tokens(value: str | int) -> int:
    number = whole(value)
    if number < 1:
        raise ValueError("must be at least 1")
    return number


FLAGS: dict[str, tuple[str, str, Callable[[Any], float | int], str]] = {
    "max_iter": ("--max-iter", "max_iterations", iterations, "10"),
    "budget_usd": ("--budget-usd", "usd", money, "5"),
    "budget_tokens": ("--budget-tokens", "tokens", tokens, "2000000"),
    "timeout": ("--timeout", "wall_s", seconds, "4h"),
}


def limit_flags(**given: str | None) -> dict[str, float | int]:
    """Limits named on the command line, by field of core.contract.Limits. Raises UsageError."""
    limits: dict[str, float | int] = {}
    for name, text in given.items():
        if text is None:
            continue
        flag, field, read, example = FLAGS[name]
        try:
            limits[field] = read(text)
        except ValueError as error:
            raise UsageError(f"{flag} {text!r} {error}", hint=f"Type: {flag} {example}") from error
    return limits


# A run below another run keeps within what that one has left. Also for people: an upper bound for
# every run of a shell. By field of core.contract.Limits.
CEILINGS: dict[str, tuple[str, Callable[[Any], float | int]]] = {
    "max_iterations": ("DONEWHEN_MAX_ITER", iterations),
    "usd": ("DONEWHEN_BUDGET_USD", money),
    "tokens": ("DONEWHEN_BUDGET_TOKENS", tokens),
    "wall_s": ("DONEWHEN_TIMEOUT", seconds),
}


def ceilings(environ: Mapping[str, str]) -> dict[str, float | int]:
    """Upper bounds named in the environment. Raises UsageError naming the variable."""
    found: dict[str, float | int] = {}
    for field, (name, read) in CEILINGS.items():
        text = environ.get(name)
        if text is None:
            continue
        try:
            found[field] = read(text)
        except ValueError as error:
            raise UsageError(
                f"{name}={text!r} in the environment {error}", hint=f"Type: unset {name}"
            ) from error
    return found


def lowered(limits: Limits, bounds: Mapping[str, float | int]) -> Limits:
    """The limits, none above its bound; 0 (no cap) is above every bound."""
    lower: dict[str, Any] = {
        field: min(getattr(limits, field) or bound, bound) for field, bound in bounds.items()
    }
    return replace(limits, **lower)


def handed_on(limits: Limits, spent: Usage, completed: int, left_s: float) -> dict[str, str]:
    """What an agent's own runs may use, as variables: what is left of these limits."""
    left = {
        "max_iterations": f"{max(1, limits.max_iterations - completed)}",
        "wall_s": f"{max(1, int(left_s))}s",
    }
    if limits.usd:
        left["usd"] = f"{max(0.000001, limits.usd - spent.usd):.6f}"
    if limits.tokens:
        left["tokens"] = f"{max(1, limits.tokens - spent.tokens)}"
    return {CEILINGS[field][0]: text for field, text in left.items()}
