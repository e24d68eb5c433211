"""The one table of configuration: section, key, what a value must be, default, flag, help.

The sample in the documentation is rendered from it (`sample`), the checks are made by it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from donewhen.config import units

Read = Callable[[Any], Any]


@dataclass(frozen=True)
class Option:
    """`read` turns a TOML value into ours, or raises ValueError saying what it must be.

    `default` is written as TOML ("" where there is none), `field` is its name in
    core.contract.Limits where that differs, `flag` the option of `donewhen run` that wins over it.
    """

    key: str
    read: Read
    default: str
    help: str
    flag: str = ""
    field: str = ""


# -- what a value must be ----------------------------------------------------------------------


def text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("must be a text")
    return value


def command(value: Any) -> str:
    """A command line for argv, or `sh: ...` for a shell."""
    line = text(value)
    if not line.startswith("sh:"):
        try:
            shlex.split(line)
        except ValueError as error:
            raise ValueError(f'cannot be split ({error}); for a shell write "sh: ..."') from error
    return line


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def number(read: Read, *kinds: type) -> Read:
    """A TOML number; text is refused, so that `"10"` is not mistaken for 10."""

    def checked(value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, kinds):
            raise ValueError("must be a number without quotes")
        return read(value)

    return checked


def duration(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError('must be a duration in quotes such as "90s", "30m" or "1h30m"')
    return units.seconds(value)


def or_none(read: Read) -> Read:
    """0 means no limit."""
    return lambda value: 0 if value == 0 and not isinstance(value, bool) else read(value)


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(v, str) and v.strip() for v in value):
        raise ValueError("must be a list of texts")
    return tuple(value)


def commands(value: Any) -> tuple[str, ...]:
    return tuple(command(line) for line in texts(value))


def names(value: Any) -> tuple[str, ...]:
    found = texts(value)
    if wrong := next((n for n in found if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", n)), ""):
        raise ValueError(f"must be names of environment variables ({wrong!r} is none)")
    return found


def inside(value: Any) -> str:
    """A path that cannot leave the project."""
    path = PurePosixPath(text(value))
    if path.is_absolute() or ".." in path.parts:
        raise ValueError("must be a path inside the project")
    return str(value)


def all_inside(value: Any) -> tuple[str, ...]:
    return tuple(inside(path) for path in texts(value))


def codes(value: Any) -> tuple[int, ...]:
    whole = isinstance(value, list) and all(type(v) is int and 0 <= v <= 255 for v in value)
    if not whole or not value:
        raise ValueError("must be a list of exit codes, 0 to 255")
    return tuple(value)


def one_of(*choices: str) -> Read:
    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise ValueError(f"must be {' or '.join(map(repr, choices))}")
        return value

    return read


def version(value: Any) -> int:
    if type(value) is not int or value != 1:
        raise ValueError("must be 1, the only version this donewhen reads")
    return value


def only(default: Any) -> Read:
    """A key of the format that this version does not act on: nothing but its default is taken,

    because a setting that is silently without effect is worse than one that is refused.
    """

    def read(value: Any) -> Any:
        if type(value) is not type(default) or value != default:
            raise ValueError(f"this version acts on no other value than {default!r}")
        return value

    return read


# -- the table ---------------------------------------------------------------------------------

TOP = (
    Option("version", version, "1", "the version of this file; its first line"),
    Option("exit", only("gates"), '"gates"', "what counts as done"),
    Option(
        "baseline",
        one_of("auto", "clean", "no-new"),
        '"auto"',
        "what was red before the run: auto, clean (must be fixed), no-new (excused)",
        flag="--baseline",
    ),
)
LIMITS = (
    Option(
        "max_iterations",
        number(units.iterations, int),
        "10",
        "turns of the loop, 1 to 1000",
        flag="--max-iter",
    ),
    Option("iteration", duration, '"30m"', "one turn of the agent", field="iteration_s"),
    Option("wall", duration, '"4h"', "the whole run", flag="--timeout", field="wall_s"),
    Option(
        "silence",
        duration,
        '"10m"',
        "an agent that says nothing, changes nothing and computes nothing",
        field="silence_s",
    ),
    Option(
        "usd",
        or_none(number(units.money, int, float)),
        "0",
        "dollars; 0 is no cap",
        flag="--budget-usd",
    ),
    Option(
        "tokens",
        or_none(number(units.tokens, int)),
        "0",
        "tokens; 0 is no cap",
        flag="--budget-tokens",
    ),
)
WORKSPACE = (
    Option(
        "mode",
        one_of("worktree", "in-place"),
        '"worktree"',
        "where the agent works: worktree, in-place",
    ),
    Option("setup", commands, "[]", "commands run in a fresh checkout"),
    Option("copy", all_inside, "[]", "ignored files copied into a fresh checkout"),
    Option("link", all_inside, "[]", "ignored folders linked into it (shared with yours)"),
)
GATE = (
    Option("run", command, '"pytest -q"', 'the command; "sh: ..." for a shell'),
    Option(
        "format",
        one_of("pytest", "unittest", "junit", "exit"),
        '"pytest"',
        "how the result is read; derived from a known command: pytest, unittest, junit, exit",
    ),
    Option("timeout", duration, '"15m"', "time limit"),
    Option("inputs", texts, "[]", "patterns of the files it reads; none means all"),
    Option("required", flag, "true", "whether it decides"),
    Option("hermetic", flag, "true", "whether its result depends on its inputs alone"),
    Option("writes", texts, "[]", "patterns of what it may change in the tree"),
    Option("pass_codes", codes, "[0]", "exit codes that can be a pass"),
    Option("env", names, "[]", "variables of yours that gates are normally denied"),
    Option("cwd", inside, '"."', "folder it runs in"),
    Option("empty", one_of("fail", "pass"), '"fail"', "what it means that no test ran: fail, pass"),
)
AGENT = (
    Option("use", text, '"claude"', "NAME[:MODEL]", flag="--agent"),
    Option(
        "after",
        number(units.iterations, int),
        "2",
        "failed judgements before the next agent of the list",
    ),
    Option(
        "permissions",
        one_of("edit", "full"),
        '"edit"',
        "what it may do: edit, full",
        flag="--full-access",
    ),
    Option("env", names, "[]", "variables of yours that it gets"),
    Option("context", only("fresh"), '"fresh"', "what it remembers from turn to turn"),
    Option(
        "auth",
        one_of("key", "subscription"),
        '"key"',
        "key passes API keys on, subscription removes them",
    ),
)
VERIFIER = (
    Option("use", only(""), '""', "an agent as judge"),
    Option("rounds", only(2), "2", "how often it may refuse"),
)
INTEGRITY = (
    Option("protect", only([]), "[]", "further files that may not be weakened"),
    Option("allow_test_changes", only(False), "false", "whether tests may be changed freely"),
)
HOOKS = (
    Option("auto", only(False), "false", "whether hooks judge every session"),
    Option("trust_marker", only(False), "false", "whether a marker may end a session"),
)
NOTIFY = (
    Option("command", only([]), "[]", "run at the end of a run"),
    Option("webhook", only(""), '""', "called at the end of a run"),
)
SECTIONS: dict[str, Sequence[Option]] = {
    "limits": LIMITS,
    "workspace": WORKSPACE,
    "verifier": VERIFIER,
    "integrity": INTEGRITY,
    "hooks": HOOKS,
    "notify": NOTIFY,
}
TABLES = (*SECTIONS, "gates", "agents")


def sample() -> str:
    """A donewhen.toml that shows every key with its default, and the flag that wins over it."""
    blocks = [("", TOP), *((f"[{name}]", SECTIONS[name]) for name in ("limits", "workspace"))]
    blocks += [("[gates.tests]", GATE), ("[[agents]]", AGENT)]
    blocks += [(f"[{name}]", SECTIONS[name]) for name in list(SECTIONS)[2:]]
    return "\n".join(line for head, options in blocks for line in _block(head, options))


def _block(head: str, options: Sequence[Option]) -> Iterator[str]:
    if head:
        yield f"\n{head}"
    for option in options:
        setting = f"{option.key} = {option.default}"
        won = f" ({option.flag} wins)" if option.flag else ""
        yield f"{setting:<28} # {option.help}{won}"
