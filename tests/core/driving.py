"""A pretend driver for the core: answers each command by a fact, as a script or at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from donewhen.core.commands import (
    Anchor,
    AskHuman,
    Command,
    Finish,
    Record,
    RunAgent,
    RunGates,
    WaitUntil,
)
from donewhen.core.contract import Contract, Limits, Rung
from donewhen.core.events import (
    AgentEnded,
    Anchored,
    Fact,
    Finished,
    HumanAsked,
    Judged,
    Recorded,
    RunStarted,
    Usage,
    Waited,
)
from donewhen.core.machine import decide, initial
from donewhen.core.state import LoopState
from donewhen.core.verdict import GateState, Proof, Purpose, Score, Summary

BASE = "base-tree"


@dataclass(frozen=True)
class Turn:
    """One iteration: how the agent ends, which tree it leaves, what the gates then say."""

    red: tuple[str, ...] = ("x",)
    tree: str = ""
    end: str = "worked"
    proof: Proof = Proof.NONE
    deciding: GateState = GateState.PASS
    unclear: bool = False
    integrity: bool = False
    errors_only: bool = False
    usd: float = 0.0
    seconds: float = 1.0
    until: float = 0.0


GREEN = Turn(red=(), proof=Proof.GOAL)


def summary(red: tuple[str, ...], tree: str, proof: Proof = Proof.NONE, **more: object) -> Summary:
    state = GateState.FAIL if red else GateState.PASS
    errors = ("tests",) if more.get("errors_only") else ()
    return Summary(
        state=state,
        proof=proof if not red else Proof.NONE,
        tree=tree,
        fingerprints=tuple(sorted(red)),
        score=Score(failing=len(red)),
        gates=1,
        error_gates=errors,
        **more,  # type: ignore[arg-type]  # booleans of Summary
    )


def contract(**limits: float) -> Contract:
    return Contract(rungs=(Rung("a"),), limits=Limits(**limits), gates=("tests",))  # type: ignore[arg-type]


@dataclass
class Driven:
    """A run: its state, every fact and every command, in order."""

    contract: Contract = field(default_factory=contract)
    baseline: tuple[str, ...] = ("x",)
    state: LoopState = field(default_factory=initial)
    facts: list[Fact] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    now: float = 1000.0

    def tell(self, fact: Fact) -> Command | None:
        decision = decide(self.contract, self.state, fact)
        self.state = decision.state
        self.facts.append(fact)
        self.commands.extend(decision.commands)
        return decision.commands[0] if decision.commands else None

    def start(self) -> Command | None:
        return self.tell(RunStarted(self.now, "r", BASE))

    def play(self, *turns: Turn, most: int = 10_000) -> Driven:
        """Answer every command until the end; after the last turn it repeats."""
        self.follow(self.start(), lambda number: turns[min(number, len(turns) - 1)], most)
        return self

    def follow(
        self, command: Command | None, turn: Callable[[int], Turn], most: int = 10_000
    ) -> None:
        number = 0
        for _ in range(most):
            if command is None:
                return
            now = turn(number)
            command = self.tell(self.answer(command, now, number))
            number += isinstance(self.facts[-1], AgentEnded)
            if isinstance(self.facts[-1], Judged):
                number = max(0, number)
        raise AssertionError("the run does not end")

    def answer(self, command: Command, turn: Turn, number: int) -> Fact:
        self.now += 0.01
        played = self._last if number and not isinstance(command, RunAgent) else turn
        match command:
            case Anchor():
                return Anchored(self.now, "prompt")
            case RunAgent():
                self._last = turn
                self.now += turn.seconds
                tree = turn.tree or f"tree-{number}"
                until = self.now + turn.until if turn.until else 0.0
                return AgentEnded(self.now, turn.end, tree, Usage(turn.usd, 10, True), until)
            case RunGates(purpose=Purpose.BASELINE):
                return Judged(self.now, Purpose.BASELINE, summary(self.baseline, BASE))
            case RunGates(purpose=Purpose.DECIDING):
                red = () if played.deciding is GateState.PASS else ("clean-room",)
                found = summary(red, self.state.tree, Proof.GOAL, unclear_tests=played.unclear)
                return Judged(self.now, Purpose.DECIDING, found)
            case RunGates():
                found = summary(
                    played.red,
                    self.state.tree,
                    played.proof,
                    integrity=played.integrity,
                    errors_only=played.errors_only,
                )
                return Judged(self.now, Purpose.ITERATION, found)
            case Record():
                return Recorded(self.now, "commit")
            case WaitUntil():
                self.now = max(self.now, command.at)
                return Waited(self.now)
            case AskHuman():
                return HumanAsked(self.now, "item")
            case Finish():
                return Finished(self.now)

    _last: Turn = field(default_factory=Turn)
