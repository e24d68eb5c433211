"""The one table of configuration keys: section, key, what a value must be, default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from donewhen.config import units


@dataclass(frozen=True)
class Option:
    """`read` turns a TOML value into ours, or raises ValueError saying what it must be."""

    key: str
    read: Callable[[Any], Any]
    help: str


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v for v in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def codes(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list) or not all(
        isinstance(v, int) and not isinstance(v, bool) for v in value
    ):
        raise ValueError("must be a list of exit codes")
    return tuple(value)


def one_of(*choices: str) -> Callable[[Any], str]:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return str(value)

    return read


def version(value: Any) -> int:
    if value != 1 or isinstance(value, bool):
        raise ValueError("must be 1, the only version this donewhen reads")
    return 1


def or_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """0 means no limit."""
    return lambda value: 0 if value == 0 and not isinstance(value, bool) else read(value)


TOP = (
    Option("version", version, "the version of this file: 1"),
    Option("baseline", one_of("auto", "clean", "no-new"), "what was red before the run"),
)
LIMITS = (
    Option("max_iterations", units.iterations, "turns of the loop at most"),
    Option("iteration", units.seconds, "one turn of the agent at most"),
    Option("wall", units.seconds, "the whole run at most"),
    Option("silence", units.seconds, "an agent that says and does nothing at most"),
    Option("usd", or_none(units.money), "money at most, 0 for no cap"),
    Option("tokens", or_none(units.tokens), "tokens at most, 0 for no cap"),
)
WORKSPACE = (
    Option("mode", one_of("worktree", "in-place"), "where the agent works"),
    Option("setup", texts, "commands run in a fresh checkout"),
    Option("copy", texts, "ignored files copied into a fresh checkout"),
    Option("link", texts, "folders linked into a fresh checkout"),
)
GATE = (
    Option("run", text, "the command"),
    Option("format", one_of("pytest", "unittest", "junit", "exit"), "how its result is read"),
    Option("timeout", units.seconds, "it at most"),
    Option("inputs", texts, "what it reads"),
    Option("required", flag, "does it decide"),
    Option("hermetic", flag, "does it depend on its inputs alone"),
    Option("writes", texts, "what it may change in the tree"),
    Option("pass_codes", codes, "exit codes that can be a pass"),
    Option("env", texts, "denied variables that it gets all the same"),
    Option("cwd", text, "where it runs"),
    Option("empty", one_of("fail", "pass"), "what no tests at all means"),
)
AGENT = (
    Option("use", text, "NAME[:MODEL]"),
    Option("after", units.iterations, "failed judgements before the next agent"),
    Option("permissions", one_of("edit", "full"), "what it may do"),
    Option("env", texts, "variables that it gets"),
    Option("auth", one_of("key", "subscription"), "whether API keys are passed on"),
)
