"""Severities by configuration: the most exact key wins."""

from __future__ import annotations

import pytest

from donewhen.core.verdict import Severity
from donewhen.gates.severity import level, mapped, table

SAID = table(("S=error", "S101=off", "warning=info", "rule=a=b=warning"))


@pytest.mark.parametrize(
    ("rule", "own", "says"),
    [
        ("S101", Severity.WARNING, "off"),  # itself before its beginning
        ("S102", Severity.WARNING, "error"),  # its beginning before a severity
        ("E501", Severity.WARNING, "info"),
        ("E501", Severity.ERROR, None),
        ("rule=a=b", Severity.ERROR, "warning"),
    ],
)
def test_what_a_project_says_of_a_rule(rule: str, own: Severity, says: str | None) -> None:
    assert mapped(SAID, rule, own) == says


def test_words_of_tools() -> None:
    assert level("Warn") is Severity.WARNING
    assert level("hint") is Severity.INFO
    assert level("of some future version") is Severity.ERROR
