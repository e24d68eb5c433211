"""What happened. Time (`at`, seconds since the epoch) and ids come in here, never from a clock.

The first group are facts that a driver reports and the journal records. The second group are
conditions: derived by pure functions from state and fact, before the table is asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from donewhen.core.contract import Limits
from donewhen.core.verdict import Purpose, Summary

ENDS = (
    "worked", "limited", "overloaded", "auth", "credit", "spawn", "protocol", "hang", "timeout",
    "crashed", "refused",
)  # fmt: skip


@dataclass(frozen=True)
class Usage:
    """What an invocation used. `usd` 0 and `known` False where the agent does not report."""

    usd: float = 0.0
    tokens: int = 0
    known: bool = False


# -- facts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunStarted:
    at: float
    run: str
    base: str  # tree id of the base


@dataclass(frozen=True)
class Anchored:
    at: float
    prompt: str  # content hash of the kept prompt


@dataclass(frozen=True)
class AgentEnded:
    """`end` is one of ENDS; `tree` the tree after it; `until` epoch seconds for `limited`."""

    at: float
    end: str
    tree: str
    usage: Usage = field(default_factory=Usage)
    until: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Judged:
    at: float
    purpose: Purpose
    summary: Summary


@dataclass(frozen=True)
class Recorded:
    at: float
    commit: str


@dataclass(frozen=True)
class Waited:
    at: float


@dataclass(frozen=True)
class HumanAsked:
    at: float
    item: str


@dataclass(frozen=True)
class Finished:
    at: float


@dataclass(frozen=True)
class Cancelled:
    """A person said cancel; final."""

    at: float


@dataclass(frozen=True)
class Interrupted:
    """A signal ended the runner; resumable."""

    at: float
    signal: int


@dataclass(frozen=True)
class Tampered:
    at: float
    what: str


@dataclass(frozen=True)
class Outside:
    """A change outside the worktree that the agent made or may have made.

    `end`, `tree` and `usage` are those of the ACT in which it was found; "" while gates ran.
    """

    at: float
    what: str
    end: str = ""
    tree: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Failed:
    """Our own fault or the machine's: the run ends `internal`."""

    at: float
    what: str


@dataclass(frozen=True)
class Resumed:
    """A person resumed a stopped run, perhaps with other limits or a word of guidance."""

    at: float
    limits: Limits | None = None
    guidance: str = ""
    allow: tuple[str, ...] = ()  # answers that change what a reason means ("mine", "waived ...")

    @property
    def waived(self) -> bool:
        """Did a person allow something of what integrity found?"""
        return any(answer.startswith("waived") for answer in self.allow)


Fact = (
    RunStarted | Anchored | AgentEnded | Judged | Recorded | Waited | HumanAsked | Finished
    | Cancelled | Interrupted | Tampered | Outside | Failed | Resumed
)  # fmt: skip
