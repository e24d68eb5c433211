"""What `npm test` really runs: the script of package.json, where that is one known tool.

The tool is then started itself, so that its report can be read; a script with a shell in it, or one
with `pretest` or `posttest` beside it, stays a command of which only the exit code is known.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from donewhen.config import shell
from donewhen.gates.base import GateDef
from donewhen.gates.command import program_at, program_of
from donewhen.gates.programs import PROGRAMS, tool_of

MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
TEST = frozenset({"test", "t", "tst"})
RUN = frozenset({"run", "run-script"})
LOCKS = {
    "pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun", "bun.lockb": "bun",
    "package-lock.json": "npm",
}  # fmt: skip
PLACEHOLDER = "no test specified"
DEEPEST = 5


def named(argv: Sequence[str]) -> tuple[str, tuple[str, ...]] | None:
    """(script, words for it) of `npm test -- words`, None for another command."""
    at, manager = program_at(argv), program_of(argv)
    if manager not in MANAGERS:
        return None
    words = list(argv[at + 1 :])
    more: tuple[str, ...] = ()
    if "--" in words:
        cut = words.index("--")
        words, more = words[:cut], tuple(words[cut + 1 :])
    plain = [word for word in words if not word.startswith("-")]
    if plain[:1] and plain[0] in TEST and (manager != "bun"):  # `bun test` is a runner of its own
        return "test", more
    if len(plain) > 1 and plain[0] in RUN:
        return plain[1], more
    return None


def through(gate: GateDef, package: Mapping[str, Any]) -> GateDef:
    """The gate of the tool that its script runs; the gate itself where that is not known."""
    scripts = package.get("scripts")
    scripts = scripts if isinstance(scripts, Mapping) else {}
    argv, said = direct(gate.argv), ""
    for _ in range(DEEPEST):
        found = named(argv)
        if found is None:
            break
        step = _step(*found, scripts)
        if step is None:
            return gate
        said, argv = found[0], direct(step)
    tool = tool_of(argv)
    if not said or tool is None or tool.form == "exit":
        return gate
    why = gate.why if gate.source == "detected" else f"{gate.why}: {gate.command} runs it"
    return replace(
        gate, argv=argv, format=tool.form, kind=tool.kind, weak=False, why=why,
        script=gate.script or _short(gate.argv),
    )  # fmt: skip


def direct(argv: Sequence[str]) -> tuple[str, ...]:
    """`pnpm vitest run` starts vitest itself: a program that is no command of the manager."""
    at, argv = program_at(argv), tuple(argv)
    starts = at >= 0 and program_of(argv) in {"pnpm", "yarn"} and at + 1 < len(argv)
    return argv[at + 1 :] if starts and (argv[at + 1], "") in PROGRAMS else argv


def _short(argv: Sequence[str]) -> str:
    """`npm test`, as a person would type it."""
    at = program_at(argv)
    return " ".join([program_of(argv), *(w for w in argv[at + 1 :] if not w.startswith("-"))])


def _step(name: str, more: Sequence[str], scripts: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The words of one script, None where it takes more than starting one program."""
    text = scripts.get(name)
    if not isinstance(text, str) or f"pre{name}" in scripts or f"post{name}" in scripts:
        return None
    assigned = shell.assigns(text)
    if shell.shell_only(text.partition(" ")[2] if assigned else text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return (*(("env",) if assigned else ()), *words, *more) if words else None
