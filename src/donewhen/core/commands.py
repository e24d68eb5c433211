"""What a driver must do next. Each command, performed, is answered by exactly one event."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.verdict import Purpose


@dataclass(frozen=True)
class Anchor:
    """Render and keep the prompt of the iteration -> Anchored."""

    iteration: int
    rung: int
    nudge: str = ""  # "", or the stuck pattern that is one step away: ask for another approach


@dataclass(frozen=True)
class RunAgent:
    """Start the agent of the rung -> AgentEnded. `attempt` counts starts within the iteration."""

    iteration: int
    rung: int
    attempt: int


@dataclass(frozen=True)
class RunGates:
    """Judge the tree -> Judged. The deciding purpose is measured uncached in a clean room."""

    iteration: int
    purpose: Purpose


@dataclass(frozen=True)
class Record:
    """Commit, pin and write the evidence of the iteration -> Recorded."""

    iteration: int
    best: bool  # the branch moves here: no better state has been judged


@dataclass(frozen=True)
class WaitUntil:
    """Sleep until `at` (seconds since the epoch) -> Waited."""

    at: float
    why: str


@dataclass(frozen=True)
class AskHuman:
    """Put one idempotent item in the inbox -> HumanAsked."""

    reason: str
    question: str
    offers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finish:
    """The run ends with this reason -> Finished."""

    reason: str


Command = Anchor | RunAgent | RunGates | Record | WaitUntil | AskHuman | Finish
