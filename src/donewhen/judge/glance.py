"""A look at texts as they are: conflict markers, and whether a file can be parsed at all."""

from __future__ import annotations

import json
import os
import re
import tomllib
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Counts, Finding, GateResult, GateState
from donewhen.system.git import Git

LARGEST = 4 << 20  # bytes of a file that is looked at
MARK = "conflict-marker"
SHOWN = 2000  # characters of a conflict
OPENS, BETWEEN, CLOSES = (re.compile(rf"^{mark}( |$)") for mark in (r"<{7}", r"={7}", r">{7}"))
LOOSE_JSON = re.compile(r"(^|/)(\.vscode/|[tj]sconfig[^/]*\.json$|\.eslintrc|\.swcrc)")  # comments


def conflicts(path: str, text: str) -> Iterator[Finding]:
    """Marks of a merge that nobody finished: the three in their order, so that prose is none."""
    start = middle = 0
    rows = text.splitlines()
    for number, line in enumerate(rows, 1):
        if OPENS.match(line):
            start, middle = number, 0
        elif start and BETWEEN.match(line):
            middle = number
        elif middle and CLOSES.match(line):
            message = f"a merge conflict that nobody resolved, up to line {number}"
            body = "\n".join(rows[start - 1 : number])[:SHOWN]
            yield Finding("conflicts", MARK, message, path=path, line=start, text=body)
            start = middle = 0


def unresolved(git: Git, base: str, tree: str) -> list[Finding]:
    """The conflicts that a tree has and the base has not; binary and large files are left out."""
    pairs = [
        (os.fsdecode(path), old, new) for path, old, new in git.changed_pairs(base, tree) if new
    ]
    blobs = git.blobs((i for row in pairs for i in row[1:] if i), LARGEST)
    found: list[Finding] = []
    for path, old, new in pairs:
        now = blobs.get(new, b"")
        if b"<<<<<<<" in now and b"\0" not in now:
            was = Counter(one.text for one in _in(path, blobs.get(old, b"")))
            for one in _in(path, now):
                if not was[one.text]:
                    found.append(one)
                was[one.text] -= 1
    return marked(found)


def _in(path: str, data: bytes) -> Iterator[Finding]:
    return conflicts(path, data.decode("utf-8", "replace"))


def marked(found: Iterable[Finding]) -> list[Finding]:
    """The same with what makes each the same finding next time."""
    return [
        replace(f, fingerprint=digest(f.tool, f.rule, f.path, f.text or f.message)) for f in found
    ]


def result(name: str, found: tuple[Finding, ...], clean: str) -> GateResult:
    """What was found as a gate of our own; `clean` is what a pass says."""
    state = GateState.FAIL if found else GateState.PASS
    why = f"{len(found)} error{'s' * (len(found) != 1)}" if found else clean
    return GateResult(
        name, state, why, "(in process)", counts=Counts(errors=len(found)), findings=found,
        origin="built in",
    )  # fmt: skip


def syntax(path: str, text: str) -> Iterator[Finding]:
    """Python, JSON and TOML that their own parser refuses."""
    suffix = PurePosixPath(path).suffix
    try:
        if suffix in {".py", ".pyi"}:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(text, path, "exec", dont_inherit=True)
        elif suffix == ".json" and not LOOSE_JSON.search(path):
            json.loads(text)
        elif suffix == ".toml":
            tomllib.loads(text)
    except SyntaxError as error:
        yield _bad(path, error.msg, error.lineno or 0, error.offset or 0)
    except json.JSONDecodeError as error:
        yield _bad(path, error.msg, error.lineno, error.colno)
    except tomllib.TOMLDecodeError as error:
        said = re.search(r"at line (\d+), column (\d+)", str(error))
        yield _bad(path, str(error), *((int(said[1]), int(said[2])) if said else (0, 0)))
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        yield _bad(path, f"{type(error).__name__}: {error}", 0, 0)


def _bad(path: str, message: str, line: int, col: int) -> Finding:
    return Finding("syntax", "syntax-error", message, path=path, line=line, col=max(col, 0))
