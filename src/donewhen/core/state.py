"""Where a run stands: one frozen value, bounded in size, saved and read back as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from donewhen.core import codec
from donewhen.core.commands import Command
from donewhen.core.contract import Limits
from donewhen.core.events import Usage
from donewhen.core.verdict import Proof, Score
from donewhen.errors import Corrupt

VERSION = 1
KEPT = 8  # iterations remembered; the longest pattern looks back 5
TRIED = 20  # lines of "what was tried" kept for the prompt
FLIPS = 500  # findings whose comings and goings are counted


class Phase(StrEnum):
    ANCHOR = "anchor"
    ACT = "act"
    JUDGE = "judge"
    RECORD = "record"
    WAITING = "waiting"
    DONE = "done"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Past:
    """One judged iteration whose ACT completed. `red` is the set of fingerprints, sorted.

    `before` is the tree that its ACT began with, so that "changed nothing" needs no neighbour.
    """

    iteration: int
    before: str
    tree: str
    red: tuple[str, ...]
    score: Score
    rung: int


@dataclass(frozen=True)
class LoopState:
    """All that `decide` knows about a run; `pending` is the command whose outcome is awaited.

    `iteration` is the one at work, `completed` how many were recorded after a completed ACT;
    `attempt` counts the starts of an iteration's agent and goes on where a resume repeats one,
    because a recorded attempt is never run again. `before` is the tree that the ACT began with.
    `planned` is the end that RECORD leads to ("" for none); `failures` counts agent starts in a
    row, within one iteration, that were not the agent's work; `flips` how often a finding was
    fixed and came back. `waiting_s` is how long
    the agent at work has been waited for in all. Times are seconds since the epoch.
    """

    phase: Phase = Phase.ANCHOR
    iteration: int = 0
    completed: int = 0
    base_measured: bool = False
    attempt: int = 0
    invocations: int = 0
    rung: int = 0
    rung_failures: int = 0
    failures: int = 0
    odd_ends: int = 0
    pending: Command | None = None
    planned: str = ""
    reason: str = ""
    detail: str = ""
    signal: int = 0
    proof: Proof = Proof.NONE
    base: str = ""
    before: str = ""
    tree: str = ""
    act_end: str = ""
    red: tuple[str, ...] = ()
    score: Score = field(default_factory=Score)
    integrity: bool = False
    error_gate: str = ""
    best_iteration: int = 0
    best_tree: str = ""
    best_score: Score | None = None
    history: tuple[Past, ...] = ()
    flips: dict[str, int] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    stale: int = 0
    nudge: str = ""
    tried: tuple[str, ...] = ()
    guidance: str = ""
    spent: Usage = field(default_factory=Usage)
    limits: Limits | None = None
    started_at: float = 0.0
    last_at: float = 0.0
    waited_s: float = 0.0
    waiting_s: float = 0.0
    paused_s: float = 0.0
    version: int = VERSION

    def but(self, **changes: Any) -> LoopState:
        """A copy with some fields changed; what `replace` does, at a tenth of its cost."""
        if unknown := changes.keys() - self.__dict__.keys():
            raise TypeError(f"no field of the state: {sorted(unknown)[0]}")
        copy = object.__new__(LoopState)
        copy.__dict__.update(self.__dict__, **changes)
        return copy

    def to_dict(self) -> dict[str, Any]:
        """JSON values; `from_dict` reads them back to an equal state."""
        data: dict[str, Any] = codec.plain(self)
        data["pending"] = codec.encode(self.pending) if self.pending else None
        return data

    @staticmethod
    def from_dict(data: dict[str, Any]) -> LoopState:
        """Raises Corrupt for another version or a value that does not fit."""
        if not isinstance(data, dict):
            raise Corrupt(f"expected a state, not {data!r:.80}")
        if data.get("version") != VERSION:
            raise Corrupt(f"state has version {data.get('version')!r}, not {VERSION}")
        state: LoopState = codec.build(LoopState, data)
        return state
