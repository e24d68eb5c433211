"""Which known tool a command line runs, and with it the format of its report. A tool is a line.

A word that stands after the program tells two tools of one program apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from donewhen.gates.command import program_at, program_of


@dataclass(frozen=True)
class Tool:
    """`form` is the adapter's name in config.formats, `kind` what it measures."""

    form: str
    kind: str


# (program, its first word that is no option) -> tool; "" stands for any word
PROGRAMS: dict[tuple[str, str], Tool] = {
    ("pytest", ""): Tool("pytest", "test"),
    ("py.test", ""): Tool("pytest", "test"),
    ("vitest", ""): Tool("vitest", "test"),
    ("jest", ""): Tool("jest", "test"),
    ("tsc", ""): Tool("tsc", "types"),
    ("tsgo", ""): Tool("tsc", "types"),
    ("vue-tsc", ""): Tool("tsc", "types"),
    ("eslint", ""): Tool("eslint", "lint"),
    ("biome", ""): Tool("biome", "lint"),
    ("oxlint", ""): Tool("oxlint", "lint"),
    ("ast-grep", "scan"): Tool("ast-grep", "lint"),
    ("sg", "scan"): Tool("ast-grep", "lint"),
    ("shellcheck", ""): Tool("shellcheck", "lint"),
    ("go", "test"): Tool("go-test", "test"),
    ("go", "vet"): Tool("go-vet", "lint"),
    ("gofmt", ""): Tool("gofmt", "format"),
    # read by their exit code, but what they measure is known
    ("flake8", ""): Tool("exit", "lint"),
    ("pylint", ""): Tool("exit", "lint"),
    ("ruff", "check"): Tool("ruff", "lint"),
    ("ruff", ""): Tool("exit", "lint"),
    ("mypy", ""): Tool("exit", "types"),
    ("pyright", ""): Tool("exit", "types"),
    ("basedpyright", ""): Tool("exit", "types"),
    ("ty", ""): Tool("exit", "types"),
}
KINDS = {"pytest": "test", "unittest": "test", "junit": "test", "tap": "test"}
NODE_TEST = Tool("node-test", "test")


def tool_of(argv: Sequence[str]) -> Tool | None:
    """The known tool of a command line, None for any other program."""
    program, at = program_of(argv), program_at(argv)
    if program == "unittest":
        return Tool("unittest", "test") if at > 0 and argv[at - 1] == "-m" else None
    if program == "node" and "--test" in takewhile(lambda w: w.startswith("-"), argv[at + 1 :]):
        return NODE_TEST
    word = next((w for w in argv[at + 1 :] if not w.startswith("-")), "") if at >= 0 else ""
    return PROGRAMS.get((program, word)) or PROGRAMS.get((program, ""))
