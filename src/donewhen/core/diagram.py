"""The machine's picture, drawn from its table, so that it cannot go stale. Pure."""

from __future__ import annotations

from donewhen.core.conditions import ANYWHERE, ENDED, Condition
from donewhen.core.machine import QUIET, TABLE
from donewhen.core.state import Phase

# Rows that set the phase themselves, and to what.
MOVES = {
    Condition.FINISHED: (Phase.DONE, Phase.STOPPED),
    Condition.RESUMED: (Phase.ANCHOR, Phase.JUDGE),
}


def mermaid() -> str:
    """A stateDiagram of the table; what may happen in every phase on the way is one note."""
    lines = ["stateDiagram-v2", "    [*] --> anchor"]
    for (phase, condition), (following, _make) in TABLE.items():
        if condition in QUIET or (condition in ANYWHERE and phase not in ENDED):
            continue
        targets = (following,) if following else MOVES.get(condition, (phase,))
        for target in targets:
            lines.append(f"    {phase.value} --> {target.value}: {condition.value}")
    lines += [f"    {phase.value} --> [*]" for phase in (Phase.DONE, Phase.STOPPED)]
    always = ", ".join(c.value for c in ANYWHERE)
    lines += ["    note right of anchor", f"        before the end, anywhere: {always}"]
    return "\n".join([*lines, "    end note"])
