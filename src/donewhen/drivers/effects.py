"""The only translation of commands into effects: each command performed yields exactly one fact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from donewhen.agents.base import AgentEvent
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
from donewhen.core.conditions import seconds_left
from donewhen.core.events import (
    AgentEnded,
    Anchored,
    Cancelled,
    Fact,
    Failed,
    Finished,
    HumanAsked,
    Interrupted,
    Judged,
    Recorded,
    Tampered,
    Waited,
)
from donewhen.core.state import LoopState
from donewhen.core.verdict import Purpose
from donewhen.drivers import anchoring, ending
from donewhen.drivers.act import act
from donewhen.drivers.guarding import Guard
from donewhen.drivers.judging import Bench, kept_verdict
from donewhen.drivers.progress import Progress
from donewhen.drivers.run import Run
from donewhen.errors import Corrupt
from donewhen.system import clock
from donewhen.system.signals import Interrupts

POLL_S = 0.2


class Effects:
    """Performs commands for one run, in one process."""

    def __init__(self, run: Run, interrupts: Interrupts, watch: Callable[[Progress], None]) -> None:
        self.run = run
        self.interrupts = interrupts
        self.watch = watch
        self.guard = Guard(run, lambda text: watch(Progress("note", text)))
        self._keyed = ""  # the tree after ACT, until another command is performed
        self.bench = Bench(run, watch, self.stopping)
        self._perform: dict[type[Command], Callable[..., Fact]] = {
            Anchor: self._anchor,
            RunAgent: self._run_agent,
            RunGates: self._run_gates,
            Record: self._record,
            WaitUntil: self._wait,
            AskHuman: self._ask,
            Finish: self._finish,
        }

    # -- the door -------------------------------------------------------------------------------

    def perform(self, command: Command, state: LoopState) -> Fact:
        """Do it. Never raises for what can be said as a fact; a broken journal ends `tampered`."""
        if not isinstance(command, RunGates):
            self._keyed = ""
        ends = isinstance(command, Finish | AskHuman)
        if not ends and (stop := self._stop()):
            return stop
        try:
            fact = self._perform[type(command)](command, state)
        except Corrupt as error:
            return Tampered(clock.now(), error.message)
        except Exception as error:
            if ends:
                raise
            return self._stop() or Failed(clock.now(), f"{type(error).__name__}: {error}"[:2000])
        return fact if ends else self._stop() or fact

    def show(self, state: LoopState, fact: Fact) -> None:
        """Tell the watcher what the fact meant."""
        for text in ending.lines(state, fact):
            self.watch(Progress("phase", text, ending.belongs_to(state, fact)))

    def stopping(self) -> bool:
        """Has a signal or a person's cancel asked to end?"""
        return bool(self.interrupts.signal) or self.run.repo.runs.cancel_requested(self.run.id)

    def _stop(self) -> Fact | None:
        if self.run.repo.runs.cancel_requested(self.run.id):
            return Cancelled(clock.now())
        if self.interrupts.signal:
            return Interrupted(clock.now(), self.interrupts.signal)
        return None

    # -- one method a command -------------------------------------------------------------------

    def _anchor(self, command: Anchor, state: LoopState) -> Fact:
        self.bench.ready()
        prompt = anchoring.prompt(
            self.run, command, state, self.bench.last, kept_verdict(self.run, command.iteration - 1)
        )
        return Anchored(
            clock.now(), self.run.evidence.put(command.iteration, "prompt.md", prompt.encode())
        )

    def _run_agent(self, command: RunAgent, state: LoopState) -> Fact:
        run = self.run
        folder = run.evidence.folder(command.iteration)
        self.guard.turn_begins(folder / f"outside-{command.attempt}.json")
        links = self.bench.links.signature()
        acted = act(run, command, state, self.bench.sight_env(), self._heard, self.stopping)
        self.bench.links.compare(links)
        self.bench.ready()  # an agent may have removed it
        charged = self.guard.turn_ended(acted)
        if isinstance(charged, Tampered):
            return charged
        outcome = acted.outcome
        self._keyed = run.workspace.keeper.key()
        ended = AgentEnded(
            at=clock.now(),
            end=outcome.end,
            tree=self._keyed,
            usage=outcome.usage,
            until=outcome.until,
            detail=outcome.detail[:2000],
        )
        if charged is None:
            return ended
        return replace(charged, end=ended.end, tree=ended.tree, usage=ended.usage)

    def _run_gates(self, command: RunGates, state: LoopState) -> Fact:
        keyed, self._keyed = self._keyed, ""
        left = seconds_left(self.run.contract, state, clock.now())
        if self.bench.ready(left):
            keyed = ""
        summary = self.bench.judge(command.iteration, command.purpose, keyed, left)
        if charged := self.guard.gates_ran(last=command.purpose is Purpose.DECIDING):
            return charged
        return Judged(clock.now(), command.purpose, summary)

    def _record(self, command: Record, state: LoopState) -> Fact:
        commit = self.run.workspace.commit(
            command.iteration, state.tree, ending.title(self.run, command.iteration)
        )
        ending.keep_evidence(self.run, command.iteration, commit)
        self.guard.pinned(command.iteration, commit)
        return Recorded(clock.now(), commit)

    def _wait(self, command: WaitUntil, _state: LoopState) -> Fact:
        self.watch(Progress("note", f"waiting until {clock.stamp(command.at)}: {command.why}"))
        while (left := command.at - clock.now()) > 0 and not self.stopping():
            clock.sleep(min(left, POLL_S))
        self.guard.waited()
        return Waited(clock.now())

    def _ask(self, command: AskHuman, state: LoopState) -> Fact:
        return HumanAsked(clock.now(), ending.ask(self.run, command, state))

    def _finish(self, command: Finish, state: LoopState) -> Fact:
        ending.finish(self.run, command, replace(state, reason=command.reason), self.bench.last)
        return Finished(clock.now())

    def _heard(self, event: AgentEvent) -> None:
        self.watch(Progress("agent", event.text if event.kind == "say" else f"[{event.text}]"))
