"""One finding a line, as compilers and most linters print it: a small table of patterns.

There is no report that could be complete, so a pass rests on the exit code and is shown as weak; a
failure needs a line that says where.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from donewhen.core.fingerprint import COLOUR
from donewhen.core.verdict import GateState, Severity
from donewhen.gates import reports
from donewhen.gates.base import Completed, GateDef, Invocation, Reading
from donewhen.gates.diagnostics import Found, broken, judged
from donewhen.gates.severity import level

PATH = r"(?P<path>[^\s:()\[\]\"'][^:()\[\]\"'\n]*?)"
LEVEL = r"(?P<level>fatal error|error|warning|warn|note|info|information|hint)"
LONGEST = 2000  # characters of a line that are looked at
# Name -> pattern with path and message, and line, col, level, rule where the tool has them.
PATTERNS: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.I)
    for name, pattern in {
        # tsc, tsgo: src/a.ts(3,5): error TS2322: message
        "tsc": rf"{PATH}\((?P<line>\d+),(?P<col>\d+)\): {LEVEL} (?P<rule>TS\d+): (?P<message>.*)",
        # gcc, clang, mypy, javac, shellcheck -f gcc: a.c:1:2: error: message [-Wx]
        "gcc": rf"{PATH}:(?P<line>\d+):(?:(?P<col>\d+):)?(?:\d+:\d+:)? ?{LEVEL}: (?P<message>.*?)"
        r"(?:\s+\[(?P<rule>[\w.=+,-]+)\])?",
        # flake8, pycodestyle, pylint: a.py:1:2: E501 message
        "coded": rf"{PATH}:(?P<line>\d+):(?:(?P<col>\d+):)? (?P<rule>[A-Z]{{1,5}}\d{{2,5}}):? "
        r"(?P<message>.*)",
        # go build, go vet: ./a.go:3:4: message
        "go": rf"(?:vet: )?{PATH}:(?P<line>\d+):(?P<col>\d+): (?P<message>\S.*)",
        # ruby -wc, php, awk: a.rb:3: message
        "plain": rf"{PATH}:(?P<line>\d+): (?:{LEVEL}: )?(?P<message>\S.*)",
        "php": rf"(?:PHP )?(?P<message>.*?) in {PATH} on line (?P<line>\d+)",
    }.items()
}


def found(text: str, names: Sequence[str] = tuple(PATTERNS)) -> Iterator[Found]:
    """The lines that name a finding; the first of the named patterns that fits a line reads it."""
    patterns = [PATTERNS[name] for name in names]
    for line in text.splitlines():
        row = COLOUR.sub("", line).strip()[:LONGEST]
        match = next((m for p in patterns if (m := p.fullmatch(row))), None)
        if match:
            yield _found(match.groupdict())


def _found(cells: dict[str, str | None]) -> Found:
    word = (cells.get("level") or "error").rpartition(" ")[2]
    return Found(
        rule=cells.get("rule") or word,
        message=cells["message"] or "",
        path=cells["path"] or "",
        line=int(cells["line"] or 0),
        col=int(cells.get("col") or 0),
        severity=level(word, Severity.ERROR),
    )


def prepare(gate: GateDef, _reports: Path) -> Invocation:
    return Invocation(gate.argv)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        text = reports.text(done)
    except reports.BadReport as error:
        return broken(gate, done, Reading(GateState.ERROR, str(error)))
    rows = list(found(f"{text}\n{done.stderr}"))
    codes = range(1, 126) if rows else ()
    return judged(gate, done, rows, codes=codes, weak=not rows)
