"""Which tool a command line really runs, behind wrappers, interpreters and their options. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
PYTHON = re.compile(r"(python[\d.]*|pypy[\d.]*|py)(\.exe)?")
# Words that only start another program, and which of their options take a value.
UVX = "--with --from -p --python --index --env-file"
WRAPPERS: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("uv", "run"),
        "--with --with-editable --with-requirements -p --python --extra --group --only-group "
        "--no-group --package --project --directory --env-file --index --default-index -i "
        "--index-url --extra-index-url -f --find-links --refresh-package --config-file",
    ),
    (("uv", "tool", "run"), UVX),
    (("uvx",), UVX),
    (("poetry", "run"), ""),
    (("pdm", "run"), "-p --project"),
    (("hatch", "run"), "-e --env"),
    (("pipenv", "run"), ""),
    (("rye", "run"), ""),
    (("pixi", "run"), "-e --environment --manifest-path"),
    (("env",), "-u --unset -C --chdir -S"),
    (("nice",), "-n"),
    (("nohup",), ""),
    (("time",), "-f -o"),
    (("stdbuf",), "-i -o -e"),
    (("xvfb-run",), "-n -s -e -f -p -w"),
    (("timeout",), "-k -s --signal --kill-after"),
)
OWN_WORDS = {"timeout": 1}  # words of the wrapper's own before the program
PYTHON_VALUES = frozenset({"-X", "-W", "--check-hash-based-pycs"})
COVERAGE_VALUES = frozenset(
    {"--source", "--omit", "--include", "--rcfile", "--data-file", "--context", "--concurrency"}
)
# Programs that end well whatever is piped into them: what stands before them cannot fail the gate.
SWALLOW = frozenset({"tee", "cat", "head", "tail", "less", "more", "nl", "ts"})
ENDS = re.compile(r"(\|\||&&|\|&|[|;&\n])")
QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"")


def program_at(argv: Sequence[str]) -> int:
    """Where the word stands that names the tool: after `python -m`, behind wrappers; -1 for none."""
    argv = tuple(argv)
    at = _program(argv)
    if at >= 0 and PYTHON.fullmatch(_name(argv[at])):
        module = _module(argv, at + 1, PYTHON_VALUES)
        at = module if module > 0 else at
    if at >= 0 and _name(argv[at]) == "coverage" and argv[at + 1 : at + 2] == ("run",):
        module = _module(argv, at + 2, COVERAGE_VALUES)
        at = module if module > 0 else at
    return at


def program_of(argv: Sequence[str]) -> str:
    """The name of the tool: `pytest` for `uv run python -m pytest`."""
    at = program_at(argv)
    return _name(argv[at]) if at >= 0 else ""


def unwrapped(argv: Sequence[str]) -> tuple[str, ...]:
    """The command without what only starts it: an interpreter stays."""
    at = _program(argv)
    return tuple(argv[at:]) if at >= 0 else ()


def _program(argv: Sequence[str]) -> int:
    at = 0
    while at < len(argv):
        after = _behind_wrapper(argv, at)
        if after == at:
            return at
        at = after
    return -1


def _behind_wrapper(argv: Sequence[str], at: int) -> int:
    """Where the command of the wrapper at `at` begins; `at` itself if there is none."""
    for words, valued in WRAPPERS:
        here = (_name(argv[at]), *argv[at + 1 : at + len(words)])
        if here == words:
            after = _behind_options(argv, at + len(words), frozenset(valued.split()))
            return after + OWN_WORDS.get(words[0], 0)
    return at


def _behind_options(argv: Sequence[str], at: int, valued: frozenset[str]) -> int:
    while at < len(argv):
        word = argv[at]
        if word == "--":
            return at + 1
        if word in valued:
            at += 2
        elif word.startswith("-") or ASSIGNMENT.match(word):
            at += 1
        else:
            break
    return at


def _module(argv: Sequence[str], at: int, valued: frozenset[str]) -> int:
    """Where the module after `-m` stands among the options of an interpreter; -1 for a script."""
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] == "-m":
            return at + 1 if at + 1 < len(argv) else -1
        at += 2 if argv[at] in valued else 1
    return -1


def swallowed(script: str) -> tuple[str, str] | None:
    """(what is piped, into what) if a script ends in a pipe that hides every failure before it."""
    if "pipefail" in script or "PIPESTATUS" in script:
        return None
    plain = QUOTED.sub("''", script)
    plain = re.sub(r"(^|\s)#.*", " ", plain)  # comments
    plain = re.sub(r"\d*[<>]&\d*-?|&>", " ", plain)  # redirections are no ends of commands
    parts = ENDS.split(plain.strip("; \n"))
    if len(parts) < 3 or parts[-2] not in {"|", "|&"} or ")" in parts[-1]:
        return None
    words = parts[-1].split()
    if not words or _name(words[0]) not in SWALLOW:
        return None
    return script.rpartition("|")[0].rstrip("| "), words[0]


def _name(word: str) -> str:
    return PurePath(word).name
