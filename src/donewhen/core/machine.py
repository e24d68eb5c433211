"""The machine. Everything that affects a transition lives in TABLE and in the functions it names.

A driver performs the one command of a decision and feeds back the one fact that answers it.
`decide` first refuses a fact that answers no pending command (`expected`), then notes what it
measured (`note`), asks what it means (`meaning`), and looks up (phase, condition): the row says the
next phase and how the next command is made. An illegal pair is a missing row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from donewhen.core import stuck
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
from donewhen.core.conditions import ANYWHERE, Condition, expected, meaning, over_budget, wait_until
from donewhen.core.contract import Contract
from donewhen.core.events import AgentEnded, Fact, Interrupted, Outside, Resumed
from donewhen.core.noting import is_best, note
from donewhen.core.state import LoopState, Phase
from donewhen.core.verdict import Purpose
from donewhen.errors import DonewhenError


class IllegalEvent(DonewhenError):
    """This fact cannot happen here: a fault of the driver, or of what replays a journal."""

    exit_code = 3


class Decision(NamedTuple):
    """The next state and the command to perform (none at the end)."""

    state: LoopState
    commands: tuple[Command, ...]


QUIET = frozenset({Condition.INTERRUPTED, Condition.AFTER_FINAL})  # pending stays, nothing is done

Make = Callable[[Contract, LoopState, Fact], tuple[LoopState, Command | None]]


def decide(contract: Contract, state: LoopState, fact: Fact) -> Decision:
    """One step. Raises IllegalEvent for a fact that has no row in this phase."""
    if not expected(state, fact):
        raise _illegal(state, fact)
    noted = note(state, fact)
    condition = meaning(contract, noted, fact)
    row = TABLE.get((state.phase, condition))
    if row is None:
        raise _illegal(state, fact)
    phase, make = row
    after, command = make(contract, noted, fact)
    after = after.but(phase=phase or after.phase, pending=command, last_at=fact.at)
    if command is None or condition in QUIET:
        return Decision(after, ())
    return Decision(after, (command,))


def _illegal(state: LoopState, fact: Fact) -> IllegalEvent:
    awaited = type(state.pending).__name__ if state.pending else "nothing"
    ended = f", ended {state.reason}" if state.reason else ""
    return IllegalEvent(
        f"{type(fact).__name__} cannot happen in phase {state.phase.value}{ended}: "
        f"pending is {awaited}",
        hint="This is a fault of donewhen. Check the run's files: donewhen doctor",
    )


def initial() -> LoopState:
    """Before the first fact."""
    return LoopState()


def replay(contract: Contract, facts: Iterable[Fact]) -> LoopState:
    """The state that a journal's facts add up to."""
    state = initial()
    for fact in facts:
        state = decide(contract, state, fact).state
    return state


# -- how the next command is made ----------------------------------------------------------------


def _judge_baseline(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    return s, RunGates(0, Purpose.BASELINE)


def _anchor(c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    """The next iteration, or again the one that was never recorded: its attempts count on."""
    following = s.completed + 1
    attempt = s.attempt if s.iteration == following else 0
    nudge = stuck.near(s, c.thresholds)
    s = s.but(iteration=following, attempt=attempt, failures=0, nudge=nudge)
    return s, Anchor(s.iteration, s.rung, nudge)


FRESH: dict[str, Any] = {"history": (), "stale": 0, "flips": {}, "gone": ()}


def _climb(c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    """The stronger agent starts with a clean slate, told what did not help before it."""
    nudge = stuck.find(s, c.thresholds) or stuck.near(s, c.thresholds)
    s, _command = _anchor(c, s, f)
    s = s.but(rung=s.rung + 1, rung_failures=0, nudge=nudge, **FRESH)
    return s, Anchor(s.iteration, s.rung, nudge)


def _run_agent(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    s = s.but(attempt=s.attempt + 1)
    return s, RunAgent(s.iteration, s.rung, s.attempt)


def _retry(c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    assert isinstance(f, AgentEnded)
    odd = f.end in {"timeout", "crashed"}
    s = s.but(failures=s.failures + (not odd), odd_ends=s.odd_ends + odd)
    return _run_agent(c, s, f)


def _wait(_c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    assert isinstance(f, AgentEnded)
    until = wait_until(s, f)
    overloaded = f.end == "overloaded"
    return s.but(failures=s.failures + overloaded), WaitUntil(until, f.end)


def _judge(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    s = s.but(failures=0, odd_ends=0, waiting_s=0.0)
    return s, RunGates(s.iteration, Purpose.ITERATION)


def _decide_finally(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    return s, RunGates(s.iteration, Purpose.DECIDING)


def _record(planned: str) -> Make:
    def make(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
        s = s.but(planned=planned)
        return s, Record(s.iteration, is_best(s))

    return make


def _stop(s: LoopState, reason: str, detail: str = "") -> tuple[LoopState, Command]:
    return s.but(reason=reason, detail=detail or s.detail), Finish(reason)


OFFERS = ("guide TEXT", "defer", "abort")
QUESTIONS = {
    "needs-human:unproven": "All gates are green, but they were before: nothing measured shows that "
    "the goal was reached. Accept the diff, or name a gate that fails now.",
    "needs-human:no-gate": "No gate measured this change. Accept or reject the diff.",
    "needs-human:test-change": "The gates are green, but what judges them was changed. Is that right?",
}


def _ask(s: LoopState, reason: str) -> tuple[LoopState, Command]:
    if reason.startswith("stuck:"):
        question = f"Stuck ({reason[6:]}) after {_times(s.completed)}. How shall it go on?"
        return s.but(planned=reason), AskHuman(reason, question, OFFERS)
    return s.but(planned=reason), AskHuman(reason, QUESTIONS[reason], ("accept", "reject"))


def _times(iterations: int) -> str:
    return f"{iterations} iteration{'' if iterations == 1 else 's'}"


def _planned_end(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    if s.planned.startswith("needs-human:"):
        return _ask(s, s.planned)
    return _stop(s, s.planned)


def _what_is_left(s: LoopState, otherwise: str) -> str:
    """At the cap or when stuck: only integrity, or only gates that cannot measure, say so."""
    if s.integrity:
        return "integrity"
    return f"gate-error:{s.error_gate}" if s.error_gate else otherwise


def _stuck(c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    reason = _what_is_left(s, f"stuck:{stuck.find(s, c.thresholds)}")
    return _ask(s, reason) if reason.startswith("stuck:") else _stop(s, reason)


def _cap(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    return _stop(s, _what_is_left(s, "max-iterations"))


def _cap_again(c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    """Resumed, but no iteration is left: what waits for a person goes on waiting for one."""
    return _stop(s, s.reason) if s.reason.startswith(("needs-human:", "stuck:")) else _cap(c, s, f)


def _budget(c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    return _stop(s, f"budget:{over_budget(c, s, f.at)}", getattr(f, "what", ""))


def _unusable(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    return _stop(s, f"gate-error:{s.error_gate}")


def _lost(_c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    assert isinstance(f, AgentEnded)
    end = "protocol" if f.end in {"timeout", "crashed"} else f.end
    return _stop(s, f"agent-unavailable:{end}", f.detail)


def _asked(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command]:
    return _stop(s, s.planned)


def _finished(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, None]:
    return s.but(phase=Phase.DONE if s.reason == "gates-passed" else Phase.STOPPED), None


def _ended(reason: str) -> Make:
    def make(_c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
        return _stop(s, reason, getattr(f, "what", ""))

    return make


def _outside(_c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    """Only a person can say whose change it was; `planned` marks this end from the other one."""
    assert isinstance(f, Outside)
    s = s.but(planned="integrity", detail=f.what)
    question = f"Changed outside the worktree: {f.what}. If that was you, the run can go on."
    return s, AskHuman("integrity", question, ("mine",))


def _interrupted(_c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command | None]:
    """Keeps what was pending, so that resume does it again; nothing more is performed now."""
    assert isinstance(f, Interrupted)
    return s.but(reason="interrupted", signal=f.signal), s.pending


def _reissue(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command | None]:
    """The same command again; an end that was not finished keeps its reason."""
    interrupted = s.reason == "interrupted"
    return (s.but(reason="", signal=0) if interrupted else s), s.pending


def _restart(c: Contract, s: LoopState, f: Fact) -> tuple[LoopState, Command]:
    """After a stop: the next iteration, or again the one that was not recorded.

    Work that was done and never judged, since something outside had changed, is judged; what a
    person allowed meanwhile is judged once more, as an iteration without an agent.
    """
    assert isinstance(f, Resumed)
    unjudged = s.planned == "integrity" and "mine" in f.allow and bool(s.act_end)
    waived = f.waived and s.completed > 0
    s = s.but(reason="", detail="", planned="", failures=0, odd_ends=0, waiting_s=0.0, **FRESH)
    if c.gates and not s.base_measured:
        return s.but(phase=Phase.JUDGE), RunGates(0, Purpose.BASELINE)
    if unjudged and c.gates:
        return _judge(c, s.but(phase=Phase.JUDGE), f)
    if waived and c.gates:
        s = s.but(iteration=s.completed + 1, attempt=0, before=s.tree)
        return _decide_finally(c, s.but(phase=Phase.JUDGE), f)
    return _anchor(c, s.but(phase=Phase.ANCHOR), f)


def _nothing(_c: Contract, s: LoopState, _f: Fact) -> tuple[LoopState, Command | None]:
    return s, s.pending


P, C = Phase, Condition

# (phase, what the fact means) -> (next phase, how the next command is made). None: the function
# sets the phase itself.
TABLE: dict[tuple[Phase, Condition], tuple[Phase | None, Make]] = {
    (P.ANCHOR, C.STARTED): (P.JUDGE, _judge_baseline),
    (P.ANCHOR, C.STARTED_WITHOUT_GATES): (P.ANCHOR, _anchor),
    (P.ANCHOR, C.PROMPT_READY): (P.ACT, _run_agent),
    (P.ANCHOR, C.BUDGET): (P.STOPPED, _budget),
    (P.JUDGE, C.BASELINE_MEASURED): (P.ANCHOR, _anchor),
    (P.JUDGE, C.BUDGET): (P.STOPPED, _budget),
    (P.JUDGE, C.GATE_UNUSABLE): (P.STOPPED, _unusable),
    (P.ACT, C.AGENT_WORKED): (P.JUDGE, _judge),
    (P.ACT, C.AGENT_WORKED_WITHOUT_GATES): (P.RECORD, _record("needs-human:no-gate")),
    (P.ACT, C.AGENT_RETRY): (P.ACT, _retry),
    (P.ACT, C.AGENT_LIMITED): (P.WAITING, _wait),
    (P.ACT, C.AGENT_LOST): (P.STOPPED, _lost),
    (P.ACT, C.BUDGET): (P.STOPPED, _budget),
    (P.WAITING, C.WAITED): (P.ACT, _run_agent),
    (P.WAITING, C.BUDGET): (P.STOPPED, _budget),
    (P.JUDGE, C.RED): (P.RECORD, _record("")),
    (P.JUDGE, C.UNPROVEN): (P.RECORD, _record("needs-human:unproven")),
    (P.JUDGE, C.PROVEN): (P.JUDGE, _decide_finally),
    (P.JUDGE, C.CONFIRMED): (P.RECORD, _record("gates-passed")),
    (P.JUDGE, C.TESTS_UNCLEAR): (P.RECORD, _record("needs-human:test-change")),
    (P.RECORD, C.GO_ON): (P.ANCHOR, _anchor),
    (P.RECORD, C.CLIMB): (P.ANCHOR, _climb),
    (P.RECORD, C.PLANNED_END): (P.STOPPED, _planned_end),
    (P.RECORD, C.STUCK): (P.STOPPED, _stuck),
    (P.RECORD, C.CAP): (P.STOPPED, _cap),
    (P.RECORD, C.BUDGET): (P.STOPPED, _budget),
    (P.STOPPED, C.ASKED): (P.STOPPED, _asked),
    (P.STOPPED, C.FINISHED): (None, _finished),
    (P.STOPPED, C.RESUMED): (None, _restart),
    (P.STOPPED, C.CAP): (P.STOPPED, _cap_again),
    (P.STOPPED, C.RESUMED_PENDING): (None, _reissue),
    (P.STOPPED, C.AFTER_FINAL): (P.STOPPED, _nothing),
    (P.STOPPED, C.TAMPERED): (P.STOPPED, _ended("tampered")),
    (P.STOPPED, C.CANCELLED): (P.STOPPED, _ended("cancelled")),
    (P.DONE, C.AFTER_FINAL): (P.DONE, _nothing),
    **{
        (phase, condition): row
        for phase in (P.ANCHOR, P.ACT, P.JUDGE, P.RECORD, P.WAITING)
        for condition, row in {
            C.CANCELLED: (P.STOPPED, _ended("cancelled")),
            C.INTERRUPTED: (None, _interrupted),
            C.TAMPERED: (P.STOPPED, _ended("tampered")),
            C.OUTSIDE: (P.STOPPED, _outside),
            C.FAILED: (P.STOPPED, _ended("internal")),
            C.RESUMED_PENDING: (None, _reissue),
        }.items()
    },
}
assert all((P.ACT, condition) in TABLE for condition in ANYWHERE)
