"""The machine's picture, drawn from its table, so that it cannot go stale. Pure."""

from __future__ import annotations

from donewhen.core.conditions import ANYWHERE, Condition
from donewhen.core.machine import TABLE
from donewhen.core.state import Phase

FINAL = (Phase.DONE, Phase.STOPPED)
MOVES = {
    Condition.FINISHED: Phase.DONE,
    Condition.RESUMED: Phase.ANCHOR,
}  # rows that set it themselves


def mermaid() -> str:
    """A stateDiagram of the table; what may happen in every phase is one note."""
    lines = ["stateDiagram-v2", "    [*] --> anchor"]
    for (phase, condition), (following, _make) in TABLE.items():
        if condition in ANYWHERE or condition is Condition.RESUMED_FINAL:
            continue
        target = following or MOVES.get(condition, phase)
        lines.append(f"    {phase.value} --> {target.value}: {condition.value}")
    lines += [f"    {phase.value} --> [*]" for phase in FINAL]
    always = ", ".join(c.value for c in ANYWHERE)
    lines += ["    note right of anchor", f"        in every phase: {always}", "    end note"]
    return "\n".join(lines)
