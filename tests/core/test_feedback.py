"""A verdict as text for the agent: new first, bounded, nothing invented."""

from __future__ import annotations

from donewhen.core.feedback import feedback
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
