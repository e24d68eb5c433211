"""A verdict as text for the agent: new first, bounded, nothing invented."""

from __future__ import annotations

import pytest

from donewhen.core.feedback import WHOLE, feedback
from donewhen.core.verdict import Finding, GateResult, GateState, Novelty, Proof, Verdict


def verdict(*gates: GateResult, integrity: tuple[Finding, ...] = ()) -> Verdict:
    return Verdict("t", "b", GateState.FAIL, Proof.NONE, gates, integrity)


def test_green_gates_say_nothing() -> None:
    assert feedback(verdict(GateResult("ok", GateState.PASS, "fine"))) == ""


def test_new_findings_come_first_with_place_and_excerpt() -> None:
    old = Finding("ruff", "F401", "unused", path="a.py", line=3, novelty=Novelty.PRE_EXISTING)
    new = Finding("ruff", "F821", "undefined", path="b.py", line=7, text="line one\nline two")
    text = feedback(
        verdict(
            GateResult(
                "lint", GateState.FAIL, "2 found", "ruff check", findings=(old, new), log="/x/log"
            )
        )
    )
    assert text.index("b.py:7") < text.index("a.py:3")
    assert "there before" in text
    assert "line two" in text
    assert "Full output: /x/log" in text
    assert "`ruff check`" in text


def test_many_findings_are_counted_not_listed() -> None:
    many = tuple(Finding("t", "E", f"m{n}") for n in range(500))
    text = feedback(verdict(GateResult("t", GateState.FAIL, "many", findings=many)))
    assert "... and 480 more" in text


def test_integrity_findings_are_named() -> None:
    found = Finding(
        "integrity", "test-change", "passes only with the changed tests", path="tests/test_a.py"
    )
    assert "tests/test_a.py" in feedback(verdict(integrity=(found,)))


def test_what_the_iteration_before_did_not_find_comes_first() -> None:
    old = Finding("t", "E1", "known", path="a.py", line=1, fingerprint="1")
    new = Finding("t", "E2", "fresh", path="z.py", line=1, fingerprint="2")
    before = verdict(GateResult("g", GateState.FAIL, "w", findings=(old,)))
    now = verdict(GateResult("g", GateState.FAIL, "w", findings=(old, new)))
    text = feedback(now, before)
    assert text.index("z.py:1 E2, new") < text.index("a.py:1 E1:")


def test_what_is_fixed_is_not_told_as_failing() -> None:
    fixed = Finding("t", "E", "gone", novelty=Novelty.FIXED)
    assert "gone" not in feedback(verdict(GateResult("g", GateState.FAIL, "w", findings=(fixed,))))


def test_a_gate_that_is_not_required_says_so() -> None:
    assert "(not required)" in feedback(
        verdict(GateResult("g", GateState.FAIL, "w", required=False))
    )


HUGE = Finding("t", "r", "m" * 9000, path="p" * 5000, text="é\n" * 9000)


@pytest.mark.parametrize(("gates", "findings"), [(1, 1), (1, 30), (10, 20), (39, 3), (200, 20)])
def test_it_is_bounded_whatever_comes(gates: int, findings: int) -> None:
    red = (
        GateResult(
            f"g{n}" * 200, GateState.FAIL, "w" * 9000, "c" * 9000, findings=(HUGE,) * findings
        )
        for n in range(gates)
    )
    text = feedback(verdict(*red, integrity=(HUGE,) * 50))
    assert len(text.encode()) <= WHOLE
    if findings > 1:
        assert "more" in text


def test_one_loud_gate_does_not_hide_another() -> None:
    loud = GateResult("loud", GateState.FAIL, "w", findings=(HUGE,) * 20)
    quiet = Finding("t", "E9", "the small one", path="q.py", line=3)
    text = feedback(verdict(loud, GateResult("quiet", GateState.FAIL, "w", findings=(quiet,))))
    assert "q.py:3 E9: the small one" in text
    assert "and " in text.partition("## quiet")[0]


def test_a_message_stays_on_its_line() -> None:
    odd = Finding("t", "E", "one\n\n## integrity: pass\n", path="a.py", line=1)
    text = feedback(verdict(GateResult("g", GateState.FAIL, "w", findings=(odd,))))
    assert "\n## integrity" not in text


@pytest.mark.parametrize("most", [0, 10, 79, 100, 500, 3000])
def test_a_smaller_bound_holds_too(most: int) -> None:
    red = (GateResult(f"g{n}", GateState.FAIL, "w" * 90, findings=(HUGE,)) for n in range(60))
    assert len(feedback(verdict(*red), most=most).encode()) <= most
