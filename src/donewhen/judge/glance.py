"""A look at a file as it is, in process: conflict markers, and whether it can be parsed at all. Pure."""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath

from donewhen.core.verdict import Finding

LARGEST = 4 << 20  # bytes of a file that is looked at
OPENS, BETWEEN, CLOSES = (re.compile(rf"^{mark}( |$)") for mark in (r"<{7}", r"={7}", r">{7}"))
LOOSE_JSON = re.compile(r"(^|/)(\.vscode/|[tj]sconfig[^/]*\.json$|\.eslintrc|\.swcrc)")  # comments


def conflicts(path: str, text: str) -> Iterator[Finding]:
    """Marks of a merge that nobody finished: the three in their order, so that prose is none."""
    start = middle = 0
    for number, line in enumerate(text.splitlines(), 1):
        if OPENS.match(line):
            start, middle = number, 0
        elif start and BETWEEN.match(line):
            middle = number
        elif middle and CLOSES.match(line):
            message = f"a merge conflict that nobody resolved, up to line {number}"
            yield Finding("conflicts", "conflict-marker", message, path=path, line=start)
            start = middle = 0


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
