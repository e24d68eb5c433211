"""RECORD and the end of a run: evidence, the ledger, the inbox item, the branch at its best state."""

from __future__ import annotations

from typing import Any

from donewhen.core.commands import AskHuman, Command, RunGates
from donewhen.core.events import (
    AgentEnded,
    Anchored,
    Fact,
    Failed,
    Judged,
    Outside,
    RunStarted,
    Tampered,
)
from donewhen.core.reasons import exit_code
from donewhen.core.state import LoopState
from donewhen.core.verdict import Purpose, Verdict
from donewhen.drivers.run import Run
from donewhen.drivers.workspace import branch_of
from donewhen.store import history
from donewhen.system import clock

PATCH = 8 << 20  # bytes of diff.patch; the commits themselves are kept
SILENT_ENDS = frozenset({"cancelled", "interrupted"})


def lines(state: LoopState, fact: Fact) -> list[str]:
    """What a watcher is told about a fact: nothing, or one line."""
    match fact:
        case RunStarted() if isinstance(state.pending, RunGates):
            return ["measuring the baseline"]
        case Anchored():
            return ["the agent works"]
        case AgentEnded() if fact.end != "worked" or fact.detail:
            return [f"agent: {fact.end}{f' ({fact.detail})' if fact.detail else ''}"]
        case Judged():
            return [_judged(fact)]
        case Tampered() | Outside() | Failed():
            return [f"{type(fact).__name__.lower()}: {fact.what}"]
    return []


def belongs_to(state: LoopState, fact: Fact) -> int:
    """The iteration that a fact is part of; the baseline is none (0)."""
    baseline = isinstance(fact, Judged) and fact.purpose is Purpose.BASELINE
    return 0 if baseline else state.iteration


WHAT = {
    Purpose.BASELINE: "baseline",
    Purpose.ITERATION: "verdict",
    Purpose.DECIDING: "deciding verdict (clean room)",
}


def _judged(fact: Judged) -> str:
    score = fact.summary.score
    rows = ((score.failing, "failing test"), (score.errors, "error"), (score.warnings, "warning"))
    red = ", ".join(f"{n} {what}{'s' * (n != 1)}" for n, what in rows if n)
    return f"{WHAT[fact.purpose]}: {fact.summary.state.value}{f' ({red})' if red else ''}"


def title(run: Run, iteration: int) -> str:
    """The commit message of an iteration: the goal's first line, then where it comes from."""
    first = run.plan.goal.removeprefix("\ufeff").strip().splitlines()[0][:72]
    text = first.encode("utf-8", "backslashreplace").decode("utf-8")  # a goal may be any bytes
    return f"{text}\n\ndonewhen run {run.id}, iteration {iteration}\n"


def keep_evidence(run: Run, iteration: int, commit: str) -> None:
    """diff.patch of the iteration against the base."""
    base = run.base.commit
    run.evidence.put(
        iteration,
        "diff.patch",
        run.repo.git.diff_head(base, commit, PATCH) if commit != base else b"",
    )


def write_ledger(run: Run) -> None:
    """ledger.json: a view of the journal that nothing reads back."""
    run.told.page.write(run.repo.layout.ledger(run.id), run.id, run.plan.goal)


def ask(run: Run, command: AskHuman, state: LoopState) -> str:
    """One question in the inbox; asking again for the same reason finds the same item."""
    return run.repo.inbox.put(
        run=run.id,
        kind="question",
        reason=command.reason,
        goal=run.plan.goal,
        question=command.question,
        offers=command.offers,
        evidence=evidence(run, state),
        at=clock.now(),
    )


def finish(run: Run, command: Command, state: LoopState, verdict: Verdict | None) -> None:
    """The last effects of a run; doing them again changes nothing."""
    reason = getattr(command, "reason", state.reason)
    best = best_commit(run, state)
    if best:
        run.workspace.settle(best)
    write_ledger(run)
    if reason not in SILENT_ENDS:
        run.repo.inbox.put(
            run=run.id,
            kind="result",
            reason=reason,
            goal=run.plan.goal,
            question="",
            offers=("accept", "reject"),
            evidence=evidence(run, state),
            at=clock.now(),
        )
    history.append(
        run.repo.layout.history,
        {
            "run": run.id,
            "goal": run.plan.goal[:200],
            "reason": reason,
            "iterations": state.completed,
            "at": clock.stamp(clock.now()),
            "seconds": round(clock.now() - state.started_at, 3) if state.started_at else 0.0,
            "exit": exit_code(reason, state.signal),
            "usd": state.spent.usd,
            "tokens": state.spent.tokens,
        },
    )


def best_commit(run: Run, state: LoopState) -> str:
    """The commit of the best judged iteration, "" before the first."""
    return run.recorded(state.best_iteration) if state.best_iteration else ""


def evidence(run: Run, state: LoopState) -> dict[str, Any]:
    """What a person needs to decide: where the work is and how large the change."""
    commit = best_commit(run, state)
    stat = run.repo.git.diffstat(run.base.commit, commit) if commit else ""
    return {
        "branch": branch_of(run.id) if not run.workspace.in_place else "",
        "commit": commit,
        "iteration": state.best_iteration,
        "diffstat": stat,
        "proof": state.proof.value,
        "verdict": str(run.repo.layout.iteration(run.id, state.best_iteration) / "verdict.json"),
    }
