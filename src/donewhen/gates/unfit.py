"""A known tool that cannot work at all: it is not there, or it refuses its arguments.

Every later verdict would be the same, so a baseline ends the run at once. A path that is not there
is no such case, since the agent may still write it; nor is a program of the project's, which may
still learn an option.
"""

from __future__ import annotations

import re

from donewhen.gates.base import Completed, GateDef
from donewhen.gates.env import program_exists

TOOLS = frozenset({"test", "lint", "types"})
USAGE = {"pytest": (4,)}  # its exit code 2 is something else
REFUSED = re.compile(
    r"(unrecognized|unexpected|unknown|invalid|no such) (arguments?|option)|invalid choice", re.I
)


def start_failed(gate: GateDef, done: Completed) -> bool:
    """Is the tool itself at fault? Not if it is a program of the project, which may still be written."""
    if done.spawn_error:
        return "/" not in gate.argv[0] or gate.argv[0].startswith("/")
    return bool(_missing(gate, done) or _refusal(gate, done))


def explanation(gate: GateDef, done: Completed, path: str) -> str:
    """What is at fault and how to mend it, "" where the tool works; `path` is the gate's PATH."""
    if module := _missing(gate, done):
        python = program_exists(gate.argv[0], path) or gate.argv[0]
        return (
            f"No module named {module} in {python}. Type: {python} -m pip install {module}, or "
            f"name another python: --gate '/path/to/python -m {module}' (the one used is that of "
            "the checkout's .venv, else of VIRTUAL_ENV, else of PATH)"
        )
    refusal = _refusal(gate, done)
    return f"exit {done.code}, it refuses its arguments: {refusal}" if refusal else ""


def _missing(gate: GateDef, done: Completed) -> str:
    """The tool of `python -m TOOL` that this Python does not have, "" where it has it.

    The interpreter says so in words of its own; a failing import of the project's quotes the name.
    """
    if gate.kind not in TOOLS or done.code != 1 or done.stdout.strip():
        return ""
    said = done.stderr.rstrip()
    words = zip(gate.argv, gate.argv[1:], strict=False)
    return next((w for f, w in words if f == "-m" and said.endswith(f"No module named {w}")), "")


def _refusal(gate: GateDef, done: Completed) -> str:
    """The line in which an argument parser refuses an option, "" for none."""
    codes = USAGE.get(gate.format, (2, 64))
    if gate.kind not in TOOLS or done.timed_out or done.code not in codes:
        return ""
    return next((row.strip()[:300] for row in done.stderr.splitlines() if REFUSED.search(row)), "")
