"""A verdict, gate by gate, for somebody who wants to know where it comes from. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from donewhen.ui.text import many
from donewhen.ui.verdicts import finding_line

MOST = 5  # findings of a gate


def explained(verdict: Mapping[str, Any]) -> Iterator[str]:
    """What ran, what was read, what counted, why it is pass, fail or error, and what is weak."""
    for gate in verdict["gates"]:
        yield f"{gate['name']}: {gate['state']}"
        yield f"  here because  {gate['origin'] or 'it was asked for'}"
        yield f"  ran           {gate['command']}"
        if gate["program"]:
            yield f"  program       {gate['program']}"
        kept = f"kept from {gate['cached_from']}, when it was " if gate["cached_from"] else ""
        yield f"  read          {kept}{gate['read'] or 'nothing'}  ({gate['seconds']:.1f} s)"
        yield f"  counted       {_counted(gate['counts'])}"
        yield f"  so            {gate['state']}: {gate['why']}"
        if gate["rule"] == "no-new":
            yield "  rule          no-new: what was found at the baseline is excused"
        if not gate["required"]:
            yield "  required      no: it does not decide"
        if gate["weak"]:
            yield f"  weak          {_weakness(gate)}"
        found = gate["findings"]
        for finding in found[:MOST]:
            yield f"  found         {finding_line(finding)}"
        if len(found) > MOST:
            yield f"  found         ... and {len(found) - MOST} more"
        yield ""


def _counted(counts: Mapping[str, int]) -> str:
    parts = (
        [f"{many(counts['tests'], 'test')} run", f"{counts['failed']} failed"]
        if counts["tests"]
        else []
    )
    one = {"errors": "error", "warnings": "warning"}  # the other words have no plural
    rest = {k: n for k, n in counts.items() if n and k not in {"tests", "failed"}}
    parts += [many(n, one[k]) if k in one else f"{n} {k}" for k, n in rest.items()]
    return ", ".join(parts) or "nothing"


def _weakness(gate: Mapping[str, Any]) -> str:
    if "nothing else" in gate["read"]:
        return "only its exit code counts: it would pass just the same if it checked nothing"
    return "it passes without having measured anything"
