"""Every way a run can stop, with its exit code. Only a proven `gates-passed` (and the good ends of
loops and sessions) exits 0."""

from __future__ import annotations

EXITS: dict[str, int] = {
    "gates-passed": 0,
    "idle": 0,
    "report": 0,
    **{f"stuck:{p}": 1 for p in ("repeat", "cycle", "stagnation", "idle", "thrash")},
    "max-iterations": 1,
    **{f"budget:{b}": 1 for b in ("usd", "tokens", "wall")},
    "integrity": 1,
    "tampered": 1,
    "verifier-fail": 1,
    "blocked": 1,
    "merge-conflict": 1,
    "marker": 1,
    **{
        f"agent-unavailable:{end}": 3
        for end in (
            "auth",
            "credit",
            "limited",
            "overloaded",
            "spawn",
            "protocol",
            "hang",
            "refused",
        )
    },
    "internal": 3,
    **{
        f"needs-human:{what}": 4
        for what in (
            "spec",
            "plan",
            "question",
            "no-gate",
            "unproven",
            "test-change",
            "verifier",
            "host-cap",
        )
    },
    "cancelled": 130,
    "interrupted": 143,
}

FINAL = frozenset({"gates-passed", "idle", "report", "cancelled", "tampered"})


def exit_code(reason: str, signal: int = 0) -> int:
    """The exit code of a reason; `interrupted` by SIGINT (2) is 130, by any other signal 143.

    Raises KeyError for a reason that is not in the table.
    """
    if reason.startswith("gate-error:"):
        return 3
    if reason == "interrupted" and signal == 2:
        return 130
    return EXITS[reason]
