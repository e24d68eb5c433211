"""What a scripted model does: steps, and routes that choose among scripts by the prompt. Pure.

The JSON form (`read`) is for shells and other languages; its keys are the fields of Step and Route.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Any


@dataclass(frozen=True)
class Step:
    """One answer of the model: `text`, `tool` with `input`, or several `tools`; or a failure.

    A failure is a `status` with `message` in the API's own shape (or `raw` as the whole body), a
    connection dropped before the answer (`drop`) or in the middle of it (`cut`). `delay` seconds
    come before either, `headers` go with it. `tokens` are (input, output), `cached` those read from
    the cache. `stop` overrides why the model stopped (`refusal`, `max_tokens`). `when` is a regular
    expression that the request's messages must match for this step to be taken.
    """

    text: str = ""
    tool: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    tools: tuple[tuple[str, dict[str, Any]], ...] = ()
    status: int = 200
    message: str = ""
    raw: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    drop: bool = False
    cut: bool = False
    delay: float = 0.0
    tokens: tuple[int, int] = (100, 20)
    cached: int = 0
    stop: str = ""
    when: str = ""

    @property
    def calls(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Every tool the model asks for in this answer."""
        return ((self.tool, self.input), *self.tools) if self.tool else self.tools


@dataclass(frozen=True)
class Route:
    """The script for requests whose prompt (the first thing a user said) matches `when`."""

    when: str
    steps: tuple[Step, ...] = ()
    after: Step | None = None


def text(said: str, **more: Any) -> Step:
    """The model says something and ends its turn."""
    return Step(text=said, **more)


def write(path: str, content: str, **more: Any) -> Step:
    """The model writes a file; a relative path is in the folder it was started in."""
    return Step(tool="Write", input={"file_path": path, "content": content}, **more)


def edit(path: str, old: str, new: str, **more: Any) -> Step:
    """The model replaces text in a file that it has read or written before."""
    given = {"file_path": path, "old_string": old, "new_string": new}
    return Step(tool="Edit", input=given, **more)


def read_file(path: str, **more: Any) -> Step:
    """The model reads a file."""
    return Step(tool="Read", input={"file_path": path}, **more)


def bash(command: str, **more: Any) -> Step:
    """The model runs a command."""
    return Step(tool="Bash", input={"command": command, "description": "run"}, **more)


def fail(status: int, message: str = "refused by the script", **more: Any) -> Step:
    """The API answers with an error, in its own shape."""
    return Step(status=status, message=message, **more)


DONE = text("Done.")


class Script:
    """Hands out steps: of the first route that fits the prompt, else of the steps without one.

    A step is taken once, the first whose `when` fits; `after` stands in when none is left.
    """

    def __init__(
        self, steps: Sequence[Step] = (), after: Step | None = None, routes: Sequence[Route] = ()
    ) -> None:
        self.left = list(steps)
        self.after = after or DONE
        self.routes = [(re.compile(r.when), list(r.steps), r.after or self.after) for r in routes]

    def take(self, prompt: str, messages: str) -> Step:
        for pattern, left, after in self.routes:
            if pattern.search(prompt):
                return _next(left, messages) or after
        return _next(self.left, messages) or self.after


def _next(left: list[Step], messages: str) -> Step | None:
    for index, step in enumerate(left):
        if not step.when or re.search(step.when, messages):
            return left.pop(index)
    return None


def read(value: Any) -> Script:
    """A script from JSON: a list of steps, or {"steps": [], "after": {}, "routes": []}.

    Raises ValueError with the place and the key that is wrong.
    """
    if isinstance(value, list):
        value = {"steps": value}
    if not isinstance(value, dict):
        raise ValueError('a script is a list of steps or {"steps": [...], "routes": [...]}')
    _known(value, ("steps", "after", "routes"), "script")
    after = _step(value["after"], "after") if "after" in value else None
    routes = [_route(row, f"route {n}") for n, row in enumerate(value.get("routes", ()), 1)]
    return Script(_steps(value.get("steps", ()), ""), after, routes)


def _route(row: Any, where: str) -> Route:
    _known(row, ("when", "steps", "after"), where)
    if not isinstance(row.get("when"), str):
        raise ValueError(f"{where}: when must be a regular expression")
    after = _step(row["after"], f"{where} after") if "after" in row else None
    return Route(row["when"], _steps(row.get("steps", ()), f"{where} "), after)


def _steps(rows: Any, where: str) -> tuple[Step, ...]:
    return tuple(_step(row, f"{where}step {number}") for number, row in enumerate(rows, 1))


def _step(row: Any, where: str) -> Step:
    _known(row, [f.name for f in fields(Step)], where)
    row = {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()}
    if "tools" in row:
        row["tools"] = tuple((name, given) for name, given in row["tools"])
    return Step(**row)


def _known(row: Any, names: Sequence[str], where: str) -> None:
    if not isinstance(row, dict):
        raise ValueError(f"{where} must be an object")
    for key in row:
        if key not in names:
            near = get_close_matches(key, names, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise ValueError(f"{where}: unknown key {key!r}{meant}; known: {', '.join(names)}")
