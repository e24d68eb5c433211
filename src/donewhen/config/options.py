"""The one table of configuration: section, key, what a value must be, default, flag, help.

The sample in the documentation is rendered from it (`sample`), the checks are made by it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from donewhen.config import units
from donewhen.config.formats import FORMATS
from donewhen.config.values import (
    Read,
    all_inside,
    codes,
    commands,
    duration,
    flag,
    gate_command,
    inside,
    known,
    names,
    number,
    one_of,
    or_none,
    outside,
    severities,
    text,
    texts,
    until,
    version,
)


@dataclass(frozen=True)
class Option:
    """`read` turns a TOML value into ours, or raises ValueError saying what it must be.

    `default` is written as TOML ("" where there is none), `field` is its name in
    core.contract.Limits where that differs, `flag` the option of `donewhen run` that wins over it.
    `inert` keys belong to the format, but this version acts on nothing but their default.
    """

    key: str
    read: Read
    default: str
    help: str
    flag: str = ""
    field: str = ""
    inert: bool = False


def inert(key: str, default: Any, shown: str, help: str) -> Option:
    """A key of which only the default is taken, because a setting that is silently without effect

    is worse than one that is refused.
    """

    def read(value: Any) -> Any:
        if type(value) is not type(default) or value != default:
            raise ValueError(f"this version acts on no other value than {default!r}")
        return value

    return Option(key, read, shown, help, inert=True)


# -- the table ---------------------------------------------------------------------------------

TOP = (
    Option("version", version, "1", "the version of this file; its first line"),
    Option(
        "exit",
        one_of("gates", "p1"),
        '"gates"',
        "what counts as done: gates, p1 (warnings never decide)",
    ),
    Option(
        "baseline",
        one_of("auto", "clean", "no-new"),
        '"auto"',
        "what was red before: auto, clean (to be fixed), no-new (excused)",
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
        flag="--in-place",
    ),
    Option("setup", commands, "[]", "commands run in a fresh checkout"),
    Option("copy", all_inside, "[]", "ignored files copied into a fresh checkout"),
    Option("link", all_inside, "[]", "ignored folders linked into it (shared with yours)"),
)
GATE = (
    Option("run", gate_command, '"pytest -q"', 'the command; "sh: ..." for a shell'),
    Option(
        "format",
        known(FORMATS),
        '"pytest"',
        "how its report is read; a known command has its own",
    ),
    Option("timeout", duration, '"15m"', "time limit"),
    Option(
        "inputs",
        texts,
        "[]",
        "patterns of the files it reads, where not all",
    ),
    Option("required", flag, "true", "whether it decides"),
    Option(
        "hermetic", flag, "true", "whether its inputs alone decide, so that its result may be kept"
    ),
    Option("writes", texts, "[]", "patterns of what it may change in the tree"),
    Option("pass_codes", codes, "[0]", "exit codes that can be a pass"),
    Option("env", names, "[]", "variables of yours that gates are normally denied"),
    Option("cwd", inside, '"."', "folder it runs in"),
    Option("empty", one_of("fail", "pass"), '"fail"', "what it means that no test ran: fail, pass"),
    Option(
        "severity", severities, "{}", 'RULE or its beginning = "error", "warning", "info" or "off"'
    ),
    Option("quarantine", until, "{}", '"TEST ID" = day up to which its failures are not charged'),
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
    inert("env", [], "[]", "variables that are kept from it, and that it gets all the same"),
    inert("context", "fresh", '"fresh"', "what it remembers from turn to turn"),
    Option(
        "auth",
        one_of("key", "subscription"),
        '"key"',
        "key passes API keys on, subscription removes them",
    ),
)
VERIFIER = (
    inert("use", "", '""', "an agent as judge"),
    inert("rounds", 2, "2", "how often it may refuse"),
)
INTEGRITY = (
    Option("protect", all_inside, "[]", "patterns of further files that may not be weakened"),
    Option("allow_test_changes", flag, "false", "whether tests may be changed freely"),
    Option("holdout", outside, '""', "a folder of tests outside the repository that no agent sees"),
)
HOOKS = (
    inert("auto", False, "false", "whether hooks judge every session"),
    inert("trust_marker", False, "false", "whether a marker may end a session"),
)
NOTIFY = (
    inert("command", [], "[]", "run at the end of a run"),
    inert("webhook", "", '""', "called at the end of a run"),
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
        won = f"; {option.flag} wins" if option.flag else ""
        yield f"{setting:<28} # {option.help}{won}"
