"""A verdict as lines: gates, their first findings, what integrity found. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from donewhen.ui.text import many, short

MARK = {"pass": "✓", "fail": "✗", "error": "!"}


def counts_text(counts: Mapping[str, int]) -> str:
    """`3 failed of 40 tests, 2 warnings`, or "" where nothing was counted."""
    parts = []
    if counts["failed"]:
        parts.append(f"{counts['failed']} failed of {many(counts['tests'], 'test')}")
    if counts["skipped"]:
        parts.append(f"{counts['skipped']} skipped")
    parts += [many(counts[k], k[:-1]) for k in ("errors", "warnings") if counts[k]]
    parts += [f"{counts['security']} security"] if counts["security"] else []
    return ", ".join(parts)


def gate_line(gate: Mapping[str, Any]) -> str:
    counted = counts_text(gate["counts"])
    weak = "  weak" if gate["weak"] else ""
    kept = f"  (kept from {gate['cached_from']})" if gate["cached_from"] else ""
    said = f"{gate['why']}{f' ({counted})' if counted and counted not in gate['why'] else ''}"
    return f"{MARK[gate['state']]} {gate['name']:<12} {gate['state']:<5} {said}{weak}{kept}"


def finding_line(finding: Mapping[str, Any]) -> str:
    where = finding["path"] + (f":{finding['line']}" if finding["line"] else "")
    old = " (pre-existing)" if finding["novelty"] == "pre-existing" else ""
    return short(f"{finding['test'] or where} {finding['rule']} {finding['message']}{old}", 140)


MOST_ROWS = 12  # of before and after


def verdict_lines(verdict: Mapping[str, Any], most: int = 5, numbered: bool = False) -> list[str]:
    """Gates, a line each, with the first findings below; `numbered` those of integrity."""
    lines = []
    for gate in verdict["gates"]:
        lines.append(gate_line(gate))
        found = gate["findings"] if gate["state"] != "pass" else []
        found = [f for f in found if f["message"] != gate["why"]]  # it is on the line above
        lines += [f"    {finding_line(f)}" for f in found[:most]]
        if len(found) > most:
            lines.append(f"    ... and {len(found) - most} more")
    for number, found in enumerate(verdict["integrity"], 1):
        name = f"integrity {number}" if numbered else "integrity"
        lines.append(f"! {name:<12} {finding_line(found)}")
        lines += [f"    {short(row, 140)}" for row in found["text"].splitlines()[:MOST_ROWS]]
    return lines + [f"  {note}" for note in verdict.get("notes", [])]


def verdict_summary(verdict: Mapping[str, Any]) -> str:
    """The last line of `judge`."""
    word = verdict["verdict"]
    weak = [g["name"] for g in verdict["gates"] if g["weak"]]
    tree = f"  tree {verdict['tree'][:12]}" if verdict["tree"] else ""
    return f"{word} (exit {verdict['exit']}){tree}{_weak(weak)}"


def _weak(names: list[str]) -> str:
    return f"  weak (exit code only): {', '.join(names)}" if names else ""
