"""donewhen as a library: what the command line does, as calls. Raises only for misuse."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.contract import Limits
from donewhen.core.reasons import exit_code
from donewhen.core.verdict import Proof, Verdict
from donewhen.drivers.progress import Progress, silent
from donewhen.errors import UsageError

NONE_IS_0 = ("usd", "tokens", "agent_retries", "limit_wait_s")
EPSILON_S = 0.001

__all__ = ["Gate", "Limits", "Loop", "Result", "judge"]


@dataclass(frozen=True)
class Gate:
    """A command that must pass, as `--gate [NAME=]CMD` would name it."""

    command: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.command}" if self.name else self.command


@dataclass(frozen=True)
class Result:
    """How a run ended. `verdict` is verdict.json of the best state, {} where nothing was judged."""

    run: str
    reason: str
    exit: int
    iterations: int
    proof: Proof
    tree: str
    branch: str
    verdict: dict[str, Any]
    usd: float
    tokens: int
    wall_s: float

    @property
    def done(self) -> bool:
        """True only for a proven `gates-passed`."""
        return self.reason == "gates-passed" and self.proof is Proof.GOAL


@dataclass(frozen=True)
class Loop:
    """A goal, a repository, gates and an agent; `run()` drives it to its end."""

    goal: str
    repo: str | Path = "."
    gates: Sequence[Gate | str] = ()
    agent: str | Sequence[str] = ()
    limits: Limits | None = None
    baseline: str | None = None
    accept_no_regression: bool = False

    def run(self, on_event: Callable[[Progress], None] = silent) -> Result:
        """Run to the end. Raises UsageError for a bad goal, gate, agent or configuration."""
        from donewhen.drivers.headless import start_run
        from donewhen.drivers.prepare import Options, prepare
        from donewhen.drivers.repo import open_repo
        from donewhen.drivers.run import start

        repo = open_repo(Path(self.repo))
        agents = (self.agent,) if isinstance(self.agent, str) and self.agent else self.agent
        options = Options(
            goal=self.goal,
            gates=tuple(map(str, self.gates)),
            agents=tuple(agents),
            limits=_checked(self.limits),
            baseline=self.baseline,
            accept_no_regression=self.accept_no_regression,
        )
        run = start(repo, prepare(repo, options))
        return _result(run, start_run(run, on_event))


def _checked(limits: Limits | None) -> dict[str, float | int]:
    from dataclasses import asdict

    if limits is None:
        return {}
    if limits.max_iterations not in range(1, 1001):
        raise UsageError(f"max_iterations must be 1 to 1000, not {limits.max_iterations}")
    for name, value in asdict(limits).items():
        least = 0 if name in NONE_IS_0 else EPSILON_S
        if isinstance(value, bool) or not least <= value < math.inf:
            raise UsageError(f"{name} must be a number above 0, not {value!r}")
    return asdict(limits)


def _result(run: Any, state: Any) -> Result:
    from donewhen.drivers.reading import kept_verdict

    ended = kept_verdict(run.repo, run.id, state.best_iteration or state.iteration) or {}
    from donewhen.drivers.workspace import branch_of

    return Result(
        run=run.id,
        reason=state.reason,
        exit=exit_code(state.reason, state.signal),
        iterations=state.completed,
        proof=state.proof,
        tree=state.best_tree or state.tree,
        branch=branch_of(run.id),
        verdict=ended,
        usd=state.spent.usd,
        tokens=state.spent.tokens,
        wall_s=max(0.0, state.last_at - state.started_at - state.waited_s),
    )


def judge(
    repo: str | Path = ".", gates: Sequence[Gate | str] = (), since: str | None = None
) -> Verdict:
    """Run the gates on a checkout once, as `donewhen judge` does."""
    from donewhen.drivers.oneshot import judge_here

    return judge_here(tuple(map(str, gates)), since, None, cwd=Path(repo))
