"""The scripted agent's file: what may stand in it. Strict, so that a typing error is no idle turn.

{"version": 1, "turns": [{"say", "say_prompt", "write", "delete", "patch", "run", "sleep", "usage",
"end", "until"}], "after": "idle" | "repeat"}. Read again by player.py, which trusts this check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from donewhen.agents.base import End
from donewhen.agents.stream import number
from donewhen.errors import UsageError

HINT = 'A script is {"version": 1, "turns": [{"say": "...", "write": {"path": "text"}}]}'
TOP = ("version", "turns", "after")
RELATIVE = re.compile(r"\+\d+(\.\d+)?s")


def check(file: Path) -> None:
    """Raises UsageError naming file, turn and key of the first thing that is wrong."""
    if what := _read(file):
        raise UsageError(f"script {file}: {what}", hint=HINT)


def _read(file: Path) -> str:
    try:
        script = json.loads(file.read_bytes())
    except OSError as error:
        return error.strerror or str(error)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {error}"
    if not isinstance(script, dict):
        return "must be a JSON object"
    return _unknown(script, TOP) or _script(script)


def _script(script: dict[str, Any]) -> str:
    if isinstance(script.get("version"), bool) or script.get("version") != 1:
        return "version must be 1"
    if script.get("after", "idle") not in ("idle", "repeat"):
        return f"after must be idle or repeat, not {script['after']!r}"
    turns = script.get("turns")
    if not isinstance(turns, list):
        return "turns must be a list"
    wrong = (f"turn {n}: {what}" for n, turn in enumerate(turns, 1) if (what := _turn(turn)))
    return next(wrong, "")


def _turn(turn: Any) -> str:
    if not isinstance(turn, dict):
        return "must be an object"
    if unknown := _unknown(turn, KEYS):
        return unknown
    return next((f"{key} {what}" for key, v in turn.items() if (what := KEYS[key](v))), "")


def _unknown(given: dict[str, Any], names: Iterable[str]) -> str:
    names = tuple(names)
    for key in given:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            return f"unknown key {key!r}{f' (did you mean {near[0]}?)' if near else ''}"
    return ""


# -- one checker a key: what is wrong with its value, or "" -------------------------------------------


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "must be text"


def _flag(value: Any) -> str:
    return "" if isinstance(value, bool) else "must be true or false"


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value:
        return f"needs paths, not {value!r}"
    return ""


def _files(value: Any) -> str:
    if not isinstance(value, dict):
        return 'must be {"path": "text"}'
    for path, text in value.items():
        if what := _path(path):
            return what
        if not isinstance(text, str):
            return f"{path!r} must have text"
    return ""


def _paths(value: Any) -> str:
    if not isinstance(value, list):
        return "must be a list of paths"
    return next((what for path in value if (what := _path(path))), "")


def _shell(value: Any) -> str:
    return _text(value) or ("holds a NUL byte" if "\0" in value else "")


def _amount(value: Any) -> str:
    zero = value == 0 and not isinstance(value, bool)
    return "" if zero or number(value) else "must be a number, 0 or more"


def _usage(value: Any) -> str:
    if not isinstance(value, dict):
        return 'must be {"usd": 0.01, "tokens": 1000}'
    if unknown := _unknown(value, ("usd", "tokens")):
        return unknown
    if "tokens" in value and not isinstance(value["tokens"], int):
        return "tokens must be a whole number"
    return next((f"{k} {what}" for k, v in value.items() if (what := _amount(v))), "")


def _end(value: Any) -> str:
    ends = get_args(End)
    return "" if value in ends else f"{value!r} is none of {', '.join(ends)}"


def _until(value: Any) -> str:
    if isinstance(value, str):
        if RELATIVE.fullmatch(value):
            return ""
        try:
            datetime.fromisoformat(value.replace("Z", "+00:00"))
        except ValueError:
            pass
        else:
            return ""
    return f"{value!r} is neither like +5s nor like 2026-01-31T12:00:00Z"


KEYS: dict[str, Callable[[Any], str]] = {
    "say": _text,
    "say_prompt": _flag,
    "write": _files,
    "delete": _paths,
    "patch": _text,
    "run": _shell,
    "sleep": _amount,
    "usage": _usage,
    "end": _end,
    "until": _until,
}
