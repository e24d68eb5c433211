"""Why a `resume` would not go on: said instead of printing the old result without a word."""

from __future__ import annotations

from collections.abc import Mapping

from donewhen.core.reasons import FINAL
from donewhen.core.state import LoopState
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import Run
from donewhen.errors import UsageError

FLAGS = {
    "max_iterations": "--max-iter",
    "usd": "--budget-usd",
    "tokens": "--budget-tokens",
}


def staying(repo: Repo, run: Run, state: LoopState) -> str:
    """Why the run stays where it is, "" while it can go on."""
    said = next(
        (i for i in repo.inbox.of_run(run.id) if i["state"] in ("accepted", "rejected")), None
    )
    if said is not None:
        return f"{run.id} was {said['state']}, which is final; this is its result"
    if state.reason in FINAL:
        return f"{run.id} has ended for good; this is its result"
    if state.planned == "integrity":
        return (
            f"{run.id} ended integrity, for what changed outside the worktree; its work is "
            f"kept. To see both, type: donewhen inbox show {run.id}"
        )
    return (
        f"{run.id} ended {state.reason}, and nothing has changed since; this is its result. "
        "With a higher cap (--max-iter, --budget-usd, --budget-tokens, --timeout) it goes on"
    )


def check_caps(state: LoopState, limits: Mapping[str, float | int]) -> None:
    """A new cap below what is used could not let the run go on. Raises UsageError naming both."""
    used = {
        "max_iterations": state.completed,
        "usd": state.spent.usd,
        "tokens": state.spent.tokens,
    }
    for name, spent in used.items():
        if name in limits and 0 < limits[name] <= spent:
            more = spent * 2 if name != "max_iterations" else spent + 10
            raise UsageError(
                f"{FLAGS[name]} {limits[name]:g}: the run has used {spent:g} already, so it could "
                "not go on",
                hint=f"Type: {FLAGS[name]} {more:g}",
            )
