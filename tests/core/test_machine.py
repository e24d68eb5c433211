"""The machine: every pair of the table, every end, and what must hold for any run at all."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import Phase as HypothesisPhase
from hypothesis import given, settings
from hypothesis import strategies as st

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
from donewhen.core.conditions import ANYWHERE, Condition
from donewhen.core.contract import Contract, Limits, Rung
from donewhen.core.events import (
    ENDS,
    AgentEnded,
    Anchored,
    Cancelled,
    Fact,
    Failed,
    Finished,
    HumanAsked,
    Interrupted,
    Judged,
    Outside,
    Recorded,
    Resumed,
    RunStarted,
    Tampered,
    Usage,
    Waited,
)
from donewhen.core.machine import TABLE, IllegalEvent, decide, initial, replay
from donewhen.core.reasons import EXITS, FINAL, exit_code
from donewhen.core.state import LoopState, Phase
from donewhen.core.verdict import GateState, Proof, Purpose, Summary
from tests.core.driving import BASE, GREEN, Driven, Turn, contract, summary

RED = Turn()


def different(count: int = 30) -> list[Turn]:
    """Turns that are red in another way each time, and each better than the last."""
    return [Turn(red=tuple(f"f{i}" for i in range(n, count + 1))) for n in range(count)]


def far(**limits: float) -> Driven:
    """A run that began with more findings than `different` ever has: each turn is a new best."""
    return Driven(contract(**limits), baseline=tuple(f"b{n}" for n in range(50)))


def end(driven: Driven) -> tuple[str, Phase, int]:
    return driven.state.reason, driven.state.phase, driven.state.completed


# -- ends ----------------------------------------------------------------------------------------


def test_proven_and_confirmed() -> None:
    run = Driven().play(RED, GREEN)
    assert end(run) == ("gates-passed", Phase.DONE, 2)
    kinds = [type(c).__name__ for c in run.commands]
    assert kinds == [
        "RunGates", "Anchor", "RunAgent", "RunGates", "Record",
        "Anchor", "RunAgent", "RunGates", "RunGates", "Record", "Finish",
    ]  # fmt: skip
    assert run.state.best_iteration == 2


def test_red_in_the_clean_room_goes_on() -> None:
    run = Driven().play(replace(GREEN, deciding=GateState.FAIL), GREEN)
    assert end(run) == ("gates-passed", Phase.DONE, 2)
    assert run.state.history[0].red == ("clean-room",)


@pytest.mark.parametrize(
    ("tree", "proof"), [(BASE, Proof.GOAL), ("tree-0", Proof.NO_REGRESSION), ("tree-0", Proof.NONE)]
)
def test_the_clean_room_proves_for_itself(tree: str, proof: Proof) -> None:
    run = at_work()
    run.tell(AgentEnded(1003.0, "worked", "tree-0"))
    run.tell(Judged(1004.0, Purpose.ITERATION, summary((), "tree-0", Proof.GOAL)))
    run.tell(Judged(1005.0, Purpose.DECIDING, summary((), tree, proof)))
    assert run.state.planned == "needs-human:unproven"


def test_the_branch_moves_with_every_new_best() -> None:
    reds = ("abcd", "ab", "abc", "a")
    worse = Driven().play(*(Turn(red=tuple(red)) for red in reds))
    assert [c.best for c in worse.commands if isinstance(c, Record)] == [True, False, False]
    better = far(max_iterations=4).play(*(Turn(red=tuple(red)) for red in reds))
    assert [c.best for c in better.commands if isinstance(c, Record)] == [True, True, False, True]
    assert better.state.best_iteration == 4


def test_green_only_with_changed_tests() -> None:
    unclear = replace(GREEN, deciding=GateState.FAIL, unclear=True)
    assert end(Driven().play(unclear)) == ("needs-human:test-change", Phase.STOPPED, 1)


def test_green_without_proof_ends_at_once() -> None:
    run = Driven(baseline=()).play(Turn(red=(), proof=Proof.NO_REGRESSION))
    assert end(run) == ("needs-human:unproven", Phase.STOPPED, 1)
    assert any(isinstance(c, AskHuman) for c in run.commands)


def test_no_regression_where_it_was_accepted() -> None:
    accepting = replace(contract(), accept_no_regression=True)
    run = Driven(accepting, baseline=()).play(Turn(red=(), proof=Proof.NO_REGRESSION))
    assert end(run) == ("gates-passed", Phase.DONE, 1)


@pytest.mark.parametrize("accepting", [False, True])
@pytest.mark.parametrize("proof", list(Proof))
def test_never_done_on_the_base_tree(accepting: bool, proof: Proof) -> None:
    held = replace(contract(), accept_no_regression=accepting)
    run = Driven(held).play(Turn(red=(), proof=proof, tree=BASE))
    assert run.state.reason == "needs-human:unproven"


def test_without_gates_one_act_and_then_a_person() -> None:
    run = Driven(replace(contract(), gates=())).play(RED)
    assert end(run) == ("needs-human:no-gate", Phase.STOPPED, 1)
    assert not [c for c in run.commands if isinstance(c, RunGates)]


def test_a_fatal_gate_at_the_baseline() -> None:
    run = Driven()
    run.start()
    broken = Summary(GateState.ERROR, Proof.NONE, BASE, fatal_gate="tests")
    assert run.tell(Judged(1.0, Purpose.BASELINE, broken)) == Finish("gate-error:tests")


def test_the_cap() -> None:
    assert end(far(max_iterations=4).play(*different())) == (
        "max-iterations",
        Phase.STOPPED,
        4,
    )


def test_at_the_cap_what_is_left_names_the_reason() -> None:
    capped = contract(max_iterations=1)
    assert Driven(capped).play(replace(RED, integrity=True)).state.reason == "integrity"
    assert Driven(capped).play(replace(RED, errors_only=True)).state.reason == "gate-error:tests"


def test_stuck_with_only_integrity_left_is_integrity() -> None:
    assert Driven().play(replace(RED, integrity=True)).state.reason == "integrity"


def test_stuck_with_only_gate_errors_left_is_a_gate_error() -> None:
    assert Driven().play(replace(RED, errors_only=True)).state.reason == "gate-error:tests"


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"usd": 1.0}, "budget:usd"),
        ({"tokens": 25}, "budget:tokens"),
        ({"wall_s": 15.0}, "budget:wall"),
    ],
)
def test_budgets(limits: dict[str, float], reason: str) -> None:
    turns = [replace(t, usd=0.4, seconds=6.0) for t in different()]
    assert end(far(**limits).play(*turns)) == (reason, Phase.STOPPED, 3)


@pytest.mark.parametrize("odd", [float("nan"), -5.0])
def test_no_figure_of_an_agent_switches_a_cap_off(odd: float) -> None:
    first, *others = different()
    turns = [replace(first, usd=odd), *(replace(t, usd=0.5) for t in others)]
    assert end(far(usd=1.0).play(*turns)) == ("budget:usd", Phase.STOPPED, 3)


@pytest.mark.parametrize("until", [float("inf"), float("nan")])
def test_a_limit_until_never_is_no_crash(until: float) -> None:
    assert (
        Driven().play(Turn(end="limited", until=until)).state.reason == "agent-unavailable:limited"
    )


def test_a_budget_that_is_used_up_does_not_undo_a_pass() -> None:
    assert Driven(contract(usd=0.1)).play(replace(GREEN, usd=9.0)).state.reason == "gates-passed"


# -- what is not the agent's work ------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["auth", "credit", "spawn", "protocol", "hang", "refused"])
def test_three_starts_and_no_iteration(kind: str) -> None:
    run = Driven().play(Turn(end=kind))
    assert end(run) == (f"agent-unavailable:{kind}", Phase.STOPPED, 0)
    assert [c.attempt for c in run.commands if isinstance(c, RunAgent)] == [1, 2, 3]


def test_a_limit_is_waited_for_and_waiting_is_not_wall_time() -> None:
    run = Driven(contract(wall_s=100.0)).play(Turn(end="limited", until=3000.0), GREEN)
    assert end(run) == ("gates-passed", Phase.DONE, 1)
    assert run.state.waited_s == pytest.approx(3000.0, abs=1)


def test_a_wait_that_no_budget_is_left_for_is_not_waited() -> None:
    run = Driven(contract(usd=1.0)).play(Turn(end="limited", until=3000.0, usd=5.0))
    assert end(run) == ("budget:usd", Phase.STOPPED, 0)
    assert not [c for c in run.commands if isinstance(c, WaitUntil)]


def test_a_limit_beyond_the_longest_wait_ends() -> None:
    assert Driven().play(Turn(end="limited", until=1e6)).state.reason == "agent-unavailable:limited"


def test_a_limit_that_never_says_until_when_is_not_waited_for_for_ever() -> None:
    run = Driven().play(Turn(end="limited"))
    assert end(run) == ("agent-unavailable:limited", Phase.STOPPED, 0)
    assert run.state.waited_s <= run.contract.limits.limit_wait_s


def test_no_wait() -> None:
    hasty = replace(contract(), no_wait=True)
    for kind in ("limited", "overloaded"):
        run = Driven(hasty).play(Turn(end=kind, until=1.0))
        assert run.state.reason == f"agent-unavailable:{kind}"


def test_an_overload_backs_off_and_gives_up() -> None:
    run = Driven().play(Turn(end="overloaded"))
    assert run.state.reason == "agent-unavailable:overloaded"
    assert len([c for c in run.commands if isinstance(c, WaitUntil)]) == 2
    assert Driven().play(Turn(end="overloaded"), GREEN).state.reason == "gates-passed"


@pytest.mark.parametrize("kind", ["timeout", "crashed"])
def test_cut_off_turns(kind: str) -> None:
    changed = Driven().play(replace(GREEN, end=kind))
    assert end(changed) == ("gates-passed", Phase.DONE, 1)
    nothing = Driven().play(Turn(end=kind, tree=BASE))
    assert end(nothing) == ("agent-unavailable:protocol", Phase.STOPPED, 0)


# -- the ladder ------------------------------------------------------------------------------------


def two_rungs(**limits: float) -> Contract:
    return replace(contract(**limits), rungs=(Rung("cheap", 2), Rung("strong", 2)))


def test_it_climbs_after_two_failures() -> None:
    run = replace(far(), contract=two_rungs(max_iterations=5)).play(*different())
    assert [c.rung for c in run.commands if isinstance(c, RunAgent)] == [0, 0, 1, 1, 1]


def test_stuck_climbs_first_and_ends_only_on_the_top() -> None:
    patient = replace(contract(), rungs=(Rung("cheap", 99), Rung("strong", 99)))
    run = Driven(patient).play(RED)
    assert run.state.reason == "stuck:repeat"
    assert [c.rung for c in run.commands if isinstance(c, RunAgent)] == [0, 0, 1, 1, 1]
    climbed = [c for c in run.commands if isinstance(c, Anchor)][2]
    assert (climbed.rung, climbed.nudge) == (1, "repeat")


def test_other_patterns_climb_when_they_are_complete() -> None:
    patient = replace(contract(), rungs=(Rung("cheap", 99), Rung("strong", 99)))
    circle = [Turn(red=(letter,)) for letter in "abababab"]
    run = Driven(patient).play(*circle)
    assert run.state.reason == "stuck:cycle"
    assert [c.rung for c in run.commands if isinstance(c, RunAgent)] == [0, 0, 0, 1, 1, 1]


def test_idle_on_every_rung_is_idle() -> None:
    patient = replace(contract(), rungs=(Rung("cheap", 99), Rung("strong", 99)))
    run = Driven(patient).play(replace(RED, tree=BASE))
    assert run.state.reason == "stuck:idle"
    assert [c.rung for c in run.commands if isinstance(c, RunAgent)] == [0, 0, 1, 1, 1]


def test_without_a_stronger_agent_the_next_prompt_says_so() -> None:
    run = Driven().play(RED)
    assert [c.nudge for c in run.commands if isinstance(c, Anchor)] == ["", "", "repeat"]


# -- signals, cancel, resume -----------------------------------------------------------------------


def at_work() -> Driven:
    """A run whose first agent is at work."""
    run = Driven()
    run.start()
    run.tell(Judged(1001.0, Purpose.BASELINE, summary(("x",), BASE)))
    run.tell(Anchored(1002.0, "p"))
    assert run.state.phase is Phase.ACT
    return run


def test_interrupted_keeps_what_was_pending() -> None:
    run = at_work()
    pending = run.state.pending
    assert run.tell(Interrupted(1003.0, 15)) is None
    assert (run.state.reason, exit_code("interrupted", 15), exit_code("interrupted", 2)) == (
        "interrupted",
        143,
        130,
    )
    assert run.tell(Resumed(5000.0)) == pending
    assert run.state.reason == ""
    assert run.state.paused_s == pytest.approx(3997.0)


def test_a_crash_resumes_with_the_same_command() -> None:
    run = at_work()
    pending = run.state.pending
    assert run.tell(Resumed(1003.0)) == pending


def test_resume_after_the_cap_with_a_new_limit() -> None:
    run = far(max_iterations=2).play(*different())
    command = run.tell(Resumed(2000.0, limits=Limits(max_iterations=3), guidance="try X"))
    assert isinstance(command, Anchor)
    assert (command.iteration, run.state.guidance) == (3, "try X")
    run.follow(command, lambda _n: different()[3])
    assert end(run) == ("max-iterations", Phase.STOPPED, 3)


def test_resume_after_a_lost_agent_repeats_its_iteration_with_new_attempts() -> None:
    """A recorded attempt is never started again: under its number its old end would be found."""
    run = Driven().play(Turn(end="auth"))
    command = run.tell(Resumed(2000.0))
    assert isinstance(command, Anchor)
    run.follow(command, lambda _n: GREEN)
    assert end(run) == ("gates-passed", Phase.DONE, 1)
    starts = [(c.iteration, c.attempt) for c in run.commands if isinstance(c, RunAgent)]
    assert starts == [(1, 1), (1, 2), (1, 3), (1, 4)]


def second_iteration() -> Driven:
    """A run whose second agent is at work."""
    run = at_work()
    run.tell(AgentEnded(1003.0, "worked", "t1"))
    run.tell(Judged(1004.0, Purpose.ITERATION, summary(("x",), "t1")))
    run.tell(Recorded(1005.0, "c"))
    run.tell(Anchored(1006.0, "p"))
    return run


@pytest.mark.parametrize("fact", [Failed(1007.0, "disk full"), Outside(1007.0, "../x")])
def test_resume_repeats_the_iteration_that_was_not_recorded(fact: Fact) -> None:
    run = second_iteration()
    if isinstance(run.tell(fact), AskHuman):
        run.tell(HumanAsked(1007.0, "i"))
    run.tell(Finished(1008.0))
    assert run.tell(Resumed(1009.0)) == Anchor(2, 0)
    assert run.tell(Anchored(1010.0, "p")) == RunAgent(2, 0, 2)


def test_work_that_nobody_judged_is_judged_once_a_person_said_mine() -> None:
    """The turn in which something changed outside is paid for, and counts."""
    run = second_iteration()
    run.tell(Outside(1007.0, "../x", "worked", "t2", Usage(1.0, 10, True)))
    run.tell(HumanAsked(1007.5, "i"))
    run.tell(Finished(1008.0))
    assert run.state.spent.usd == 1.0
    assert run.tell(Resumed(1009.0, allow=("mine",))) == RunGates(2, Purpose.ITERATION)


def test_no_resume_goes_beyond_the_cap() -> None:
    run = far(max_iterations=2).play(*different())
    longer = Limits(max_iterations=2, wall_s=9e9)
    assert run.tell(Resumed(2000.0, limits=longer)) == Finish("max-iterations")
    run.tell(Finished(2001.0))
    assert end(run) == ("max-iterations", Phase.STOPPED, 2)


def test_an_end_that_was_cut_off_is_finished_first() -> None:
    for turn, reason in ((GREEN, "gates-passed"), (RED, "stuck:repeat")):
        whole = Driven().play(turn)
        cut = Driven(state=replay(whole.contract, whole.facts[:-1]), facts=whole.facts[:-1])
        assert cut.state.phase is Phase.STOPPED
        assert cut.tell(Resumed(9000.0)) == Finish(reason)
        cut.tell(Finished(9001.0))
        assert (cut.state.reason, cut.state.phase) == (reason, whole.state.phase)


def test_a_question_that_was_cut_off_is_asked_first() -> None:
    whole = Driven().play(RED)
    facts = whole.facts[: [type(f) for f in whole.facts].index(HumanAsked)]
    cut = Driven(state=replay(whole.contract, facts), facts=facts)
    command = cut.tell(Resumed(9000.0, limits=Limits(max_iterations=99)))
    assert isinstance(command, AskHuman)


def test_a_new_limit_goes_on_from_an_end_that_was_cut_off() -> None:
    whole = far(max_iterations=2).play(*different())
    cut = Driven(whole.contract, state=replay(whole.contract, whole.facts[:-1]))
    assert cut.tell(Resumed(9000.0, limits=Limits(max_iterations=3))) == Anchor(3, 0)


def test_cancel_that_crosses_with_a_final_end_changes_nothing() -> None:
    run = Driven().play(GREEN)
    assert run.tell(Cancelled(9000.0)) is None
    assert end(run) == ("gates-passed", Phase.DONE, 1)
    cut = Driven(state=replay(run.contract, run.facts[:-2]))
    assert cut.tell(Cancelled(9000.0)) is None
    assert cut.state.pending == Finish("gates-passed")


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        (Cancelled(1.0), "cancelled"),
        (Tampered(1.0, "refs"), "tampered"),
        (Outside(1.0, "file"), "integrity"),
        (Failed(1.0, "disk"), "internal"),
    ],
)
def test_ends_from_outside(fact: Fact, reason: str) -> None:
    run = at_work()
    command = run.tell(fact)
    if isinstance(fact, Outside):  # only a person can say whose it was
        assert isinstance(command, AskHuman)
        assert command.offers == ("mine",)
        command = run.tell(HumanAsked(1.0, "i"))
    assert command == Finish(reason)
    run.tell(Finished(2.0))
    assert (run.state.phase, run.state.reason) == (Phase.STOPPED, reason)


@pytest.mark.parametrize("reason", sorted(FINAL & {"gates-passed", "cancelled", "tampered"}))
def test_a_final_end_stays(reason: str) -> None:
    run = Driven().play(GREEN) if reason == "gates-passed" else at_work()
    if reason != "gates-passed":
        run.tell(Cancelled(1.0) if reason == "cancelled" else Tampered(1.0, "x"))
        run.tell(Finished(2.0))
    before = run.state.phase, run.state.reason
    assert run.tell(Resumed(9.0)) is None
    assert (run.state.phase, run.state.reason) == before


# -- the table itself -------------------------------------------------------------------------------

SAMPLES: list[Fact] = [
    RunStarted(1.0, "r", BASE),
    Anchored(1.0, "p"),
    AgentEnded(1.0, "worked", "t"),
    Judged(1.0, Purpose.ITERATION, summary(("x",), "t")),
    Recorded(1.0, "c"),
    Waited(1.0),
    HumanAsked(1.0, "i"),
    Finished(1.0),
    Cancelled(1.0),
    Interrupted(1.0, 2),
    Tampered(1.0, "x"),
    Outside(1.0, "x"),
    Failed(1.0, "x"),
    Resumed(1.0),
]
LEGAL: dict[Phase, set[type[Fact]]] = {
    Phase.ANCHOR: {Anchored},
    Phase.ACT: {AgentEnded},
    Phase.JUDGE: {Judged},
    Phase.RECORD: {Recorded},
    Phase.WAITING: {Waited},
    Phase.STOPPED: {Cancelled, Tampered, Resumed},
    Phase.DONE: {Cancelled, Resumed},
}
PENDING: dict[Phase, Command] = {
    Phase.ANCHOR: Anchor(1, 0),
    Phase.ACT: RunAgent(1, 0, 1),
    Phase.JUDGE: RunGates(1, Purpose.ITERATION),
    Phase.RECORD: Record(1, True),
    Phase.WAITING: WaitUntil(2.0, "limited"),
}
ALWAYS: set[type[Fact]] = {Cancelled, Interrupted, Tampered, Outside, Failed, Resumed}


@pytest.mark.parametrize("phase", list(Phase))
@pytest.mark.parametrize("fact", SAMPLES, ids=lambda f: type(f).__name__)
def test_every_pair_is_legal_or_refused(phase: Phase, fact: Fact) -> None:
    ended = phase in {Phase.DONE, Phase.STOPPED}
    reason = "gates-passed" if phase is Phase.DONE else "max-iterations" if ended else ""
    state = initial().but(
        phase=phase, reason=reason, base=BASE, base_measured=True, pending=PENDING.get(phase)
    )
    legal = LEGAL[phase] | (set() if ended else ALWAYS)
    if type(fact) in legal:
        assert isinstance(decide(contract(), state, fact).state, LoopState)
    else:
        with pytest.raises(IllegalEvent) as caught:
            decide(contract(), state, fact)
        assert phase.value in caught.value.message
        assert caught.value.hint


@pytest.mark.parametrize(
    "fact", [f for f in SAMPLES if type(f) not in ALWAYS], ids=lambda f: type(f).__name__
)
@pytest.mark.parametrize(
    ("phase", "pending"),
    [
        *PENDING.items(),
        (Phase.STOPPED, AskHuman("stuck:idle", "?")),
        (Phase.STOPPED, Finish("max-iterations")),
        (Phase.JUDGE, RunGates(0, Purpose.BASELINE)),
        (Phase.JUDGE, RunGates(1, Purpose.DECIDING)),
        (Phase.ANCHOR, None),
    ],
)
def test_a_command_is_answered_by_exactly_one_fact(
    phase: Phase, pending: Command | None, fact: Fact
) -> None:
    answers = {
        Anchor: Anchored, RunAgent: AgentEnded, RunGates: Judged, Record: Recorded,
        WaitUntil: Waited, AskHuman: HumanAsked, Finish: Finished,
    }  # fmt: skip
    right = pending is not None and isinstance(fact, answers[type(pending)])
    if isinstance(fact, Judged) and isinstance(pending, RunGates):
        right = pending.purpose is fact.purpose
    right = right or (pending is None and isinstance(fact, RunStarted))
    state = initial() if pending is None else initial().but(phase=phase, base=BASE, pending=pending)
    if right:
        assert decide(contract(), state, fact).state.pending != pending
    else:
        with pytest.raises(IllegalEvent):
            decide(contract(), state, fact)


def test_nothing_is_answered_while_interrupted_nor_resumed_before_its_start() -> None:
    run = at_work()
    run.tell(Interrupted(1003.0, 2))
    with pytest.raises(IllegalEvent):
        run.tell(AgentEnded(1004.0, "worked", "t"))
    with pytest.raises(IllegalEvent):
        decide(contract(), initial(), Resumed(1.0))


def test_every_condition_has_a_row_and_what_happens_anywhere_has_one_everywhere() -> None:
    assert {condition for _phase, condition in TABLE} == set(Condition)
    for phase in (Phase.ANCHOR, Phase.ACT, Phase.JUDGE, Phase.RECORD, Phase.WAITING):
        assert all((phase, condition) in TABLE for condition in ANYWHERE)


# -- any run at all ---------------------------------------------------------------------------------

# Without shrinking: it would take minutes, and the example is short as it is.
PHASES = (HypothesisPhase.explicit, HypothesisPhase.reuse, HypothesisPhase.generate)

turns = st.builds(
    Turn,
    red=st.lists(st.sampled_from("abcdef"), max_size=4, unique=True).map(tuple),
    tree=st.sampled_from(["", BASE, "one", "two"]),
    end=st.sampled_from(["worked"] * 5 + list(ENDS)),
    proof=st.sampled_from(list(Proof)),
    deciding=st.sampled_from([GateState.PASS, GateState.FAIL]),
    unclear=st.booleans(),
    integrity=st.booleans(),
    errors_only=st.booleans(),
    usd=st.sampled_from([0.0, 0.3]),
    until=st.sampled_from([0.0, 60.0, 1e6]),
)


@settings(max_examples=300, deadline=None, phases=PHASES)
@given(
    script=st.lists(turns, min_size=1, max_size=12),
    red=st.lists(st.sampled_from("abc"), max_size=2, unique=True).map(tuple),
    most=st.integers(1, 6),
    rungs=st.integers(1, 3),
    accept=st.booleans(),
    gates=st.booleans(),
)
def test_any_run_ends_within_its_caps_with_one_known_reason(
    script: list[Turn], red: tuple[str, ...], most: int, rungs: int, accept: bool, gates: bool
) -> None:
    held = Contract(
        rungs=tuple(Rung(str(n)) for n in range(rungs)),
        limits=Limits(max_iterations=most, usd=5.0),
        gates=("tests",) if gates else (),
        accept_no_regression=accept,
    )
    run = Driven(held, baseline=red).play(*script)
    state = run.state
    assert state.phase in {Phase.DONE, Phase.STOPPED}
    assert state.reason in EXITS or state.reason.startswith("gate-error:")
    assert len([c for c in run.commands if isinstance(c, Finish)]) == 1
    assert state.completed <= most
    assert (exit_code(state.reason) == 0) == (state.reason == "gates-passed")
    if state.reason == "gates-passed":
        last = [f for f in run.facts if isinstance(f, Judged)][-1]
        assert (last.purpose, last.summary.state) == (Purpose.DECIDING, GateState.PASS)
        assert last.summary.tree != BASE
        assert any(isinstance(c, Record) for c in run.commands)
    assert replay(held, run.facts) == state
    written = json.loads(json.dumps(state.to_dict()))
    assert LoopState.from_dict(written) == state


@settings(max_examples=60, deadline=None, phases=PHASES)
@given(script=st.lists(turns, min_size=1, max_size=8), cut=st.integers(0, 60))
def test_cut_anywhere_and_resumed_it_still_ends(script: list[Turn], cut: int) -> None:
    run = Driven(contract(max_iterations=5)).play(*script)
    first = run.facts[: max(1, min(cut, len(run.facts) - 1))]
    again = Driven(run.contract, state=replay(run.contract, first), facts=list(first), now=9000.0)
    command = again.tell(Resumed(again.now))
    again.follow(command, lambda n: script[min(n, len(script) - 1)])
    assert again.state.phase in {Phase.DONE, Phase.STOPPED}
    assert again.state.reason in EXITS or again.state.reason.startswith("gate-error:")
    assert again.state.completed <= 5
    assert replay(again.contract, again.facts) == again.state
    starts = [(f.iteration, f.attempt) for f in again.commands if isinstance(f, RunAgent)]
    assert len(starts) == len(set(starts))


@settings(max_examples=80, deadline=None, phases=PHASES)
@given(
    script=st.lists(turns, min_size=1, max_size=6), limits=st.lists(st.integers(1, 5), max_size=4)
)
def test_resumed_again_and_again_no_attempt_and_no_cap_is_used_twice(
    script: list[Turn], limits: list[int]
) -> None:
    run = Driven(contract(max_iterations=2)).play(*script)
    for most in limits:
        at = Resumed(run.now + 1000.0, limits=Limits(max_iterations=most), guidance="on")
        command = run.tell(at)
        run.follow(command, lambda n: script[min(n, len(script) - 1)])
        assert run.state.phase in {Phase.DONE, Phase.STOPPED}
        assert run.state.completed <= max(2, *limits)
        if command is None:
            assert run.state.reason in FINAL
    starts = [(c.iteration, c.attempt) for c in run.commands if isinstance(c, RunAgent)]
    assert len(starts) == len(set(starts))
    recorded = [c.iteration for c in run.commands if isinstance(c, Record)]
    assert recorded == sorted(set(recorded))
    assert replay(run.contract, run.facts) == run.state


def test_the_state_does_not_grow() -> None:
    held = replace(
        contract(max_iterations=900, wall_s=0.0),
        thresholds=replace(contract().thresholds, stagnation=9999),
    )
    turns = [Turn(red=(f"f{n}", f"g{n}")) for n in range(900)]
    sizes = []
    run = Driven(held)

    def turn(number: int) -> Turn:
        sizes.append(len(json.dumps(run.state.to_dict())))
        return turns[min(number, len(turns) - 1)]

    run.follow(run.start(), turn)
    assert run.state.completed == 900
    assert max(sizes[-200:]) < 1.2 * max(sizes[2500:2600])
