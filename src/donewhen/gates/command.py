"""Which tool a command line really runs, behind wrappers, interpreters and their options. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
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
    (("npx",), "-p --package"),
    (("npm", "exec"), "-p --package"),
    (("pnpm", "exec"), ""),
    (("yarn", "exec"), ""),
    (("yarn", "run"), ""),
    (("bunx",), ""),
    (("cross-env",), ""),
    (("c8",), "-r --reporter -o --reports-dir -n --include -x --exclude --src -c --config"),
    (("nyc",), "-r --reporter -n --include -x --exclude -t --temp-dir --report-dir"),
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
COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
REDIRECTED = re.compile(r"\d*[<>]&\d*-?|&>")


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


ALWAYS = frozenset({"true", ":", "echo", "printf"})  # programs that do not fail
LEAVES = re.compile(r"\b(exit|exec|return|trap|errexit|set\s+-\w*e\w*)\b")  # a failure gets out


def swallowed(script: str) -> tuple[str, str] | None:
    """(what runs, what hides it) where a script ends in what lets no failure before it through.

    A pipe into a program that never fails, `|| true`, `; echo done`, or the background.
    """
    plain = script
    for filler, words in (
        ("_", QUOTED),
        (" ", COMMENT),
        (" ", REDIRECTED),
    ):  # hold no end of a command
        plain = words.sub(partial(_filled, filler), plain)
    plain = plain.rstrip("; \n")
    *_, end = (None, *ENDS.finditer(plain))
    if end is None or end[0] == "&&" or ")" in plain[end.end() :]:
        return None
    before, last = script[: end.start()].strip(), script[end.end() : len(plain)].strip()
    if end[0] in {"|", "|&"}:
        hides = _named(last) in SWALLOW and not re.search("pipefail|PIPESTATUS", script)
        return (before, last.split()[0]) if hides else None
    begun = {_named(part) for part in ENDS.split(plain[: end.start()])[::2]}
    if LEAVES.search(plain[: end.start()]) or begun <= ALWAYS:
        return None
    if end[0] == "&" and not last:
        return before, "&"
    if (_named(last) in ALWAYS and ">" not in last) or last.split() == ["exit", "0"]:
        return before, last
    return None


def _filled(filler: str, found: re.Match[str]) -> str:
    return filler * len(found[0])


def _named(part: str) -> str:
    """The program of one command of a script, "" where there is none."""
    words = part.split()
    return _name(words[0]) if words else ""


def _name(word: str) -> str:
    return PurePath(word).name
