"""What a run promised at its start: frozen into contract.json, never read from the worktree again."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Limits:
    """Caps of a run. Seconds for times, 0 for "none" in money and tokens."""

    max_iterations: int = 10
    iteration_s: float = 1800.0
    wall_s: float = 14400.0
    silence_s: float = 600.0
    usd: float = 0.0
    tokens: int = 0
    agent_retries: int = 3
    limit_wait_s: float = 21600.0


@dataclass(frozen=True)
class Thresholds:
    """When a pattern counts as stuck; the nudge comes one iteration earlier."""

    repeat: int = 3
    nudge: int = 2
    cycle_min: int = 2
    cycle_max: int = 4
    stagnation: int = 3
    idle: int = 3
    thrash: int = 3


@dataclass(frozen=True)
class Rung:
    """One step of the ladder: an agent and how many failed judgements before climbing on."""

    agent: str
    after: int = 2


@dataclass(frozen=True)
class Contract:
    """All that `decide` needs to know about a run besides its state."""

    rungs: tuple[Rung, ...]
    limits: Limits = field(default_factory=Limits)
    thresholds: Thresholds = field(default_factory=Thresholds)
    gates: tuple[str, ...] = ()  # names of the gates; empty ends `needs-human:no-gate`
    accept_no_regression: bool = False
    no_wait: bool = False
