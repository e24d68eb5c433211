"""Where a report goes: the user's own choice of one gives way, `{report}` becomes our path. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from donewhen.gates.base import GateDef, Invocation

PLACEHOLDER = "{report}"


def placed(gate: GateDef, report: Path) -> Invocation:
    """The command with `report` for every `{report}`; without one it writes no report file."""
    if not any(PLACEHOLDER in word for word in gate.argv):
        return Invocation(gate.argv)
    # In a script the path is one word, whatever it holds.
    path = shlex.quote(str(report)) if gate.argv[:2] == ("sh", "-c") else str(report)
    return Invocation(tuple(a.replace(PLACEHOLDER, path) for a in gate.argv), report=report)


def without(words: Sequence[str], valued: Collection[str]) -> Iterator[str]:
    """The words without these options, each with its value (`-f json`, `-f=json`)."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif word.partition("=")[0] not in valued:
            yield word
