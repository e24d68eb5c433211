"""How bad a finding is: what the tool says, unless `[gates.X.severity]` says otherwise. Pure.

A key is a rule, the beginning of rules, or a severity of the tool's; the most exact one wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from donewhen.core.verdict import Severity

OFF = "off"
LEVELS = {
    "error": Severity.ERROR,
    "fatal": Severity.ERROR,
    "warning": Severity.WARNING,
    "warn": Severity.WARNING,
    "note": Severity.INFO,
    "info": Severity.INFO,
    "information": Severity.INFO,
    "hint": Severity.INFO,
}


def level(word: object, default: Severity = Severity.ERROR) -> Severity:
    """A tool's word for a severity; `default` for one that is not known."""
    return LEVELS.get(word.lower(), default) if isinstance(word, str) else default


def table(pairs: Sequence[str]) -> dict[str, str]:
    """`RULE=level` pairs, as a gate keeps them."""
    cells = (pair.rpartition("=") for pair in pairs)
    return {key: value for key, _equals, value in cells}


def mapped(said: Mapping[str, str], rule: str, own: Severity) -> str | None:
    """What the project says of a finding: a severity, "off", or None where it says nothing."""
    starts = [key for key in said if key not in set(Severity) and rule.startswith(key)]
    if starts:
        return said[max(starts, key=len)]
    return said.get(own.value)
