"""TAP: what is there, what is missing, and what contradicts itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates.base import Reading
from donewhen.gates.parse import parse_flag
from tests.gates.recorded import reading, text_of

GATE = replace(parse_flag("prove.sh"), format="tap")
PASS, FAIL, ERROR = GateState.PASS, GateState.FAIL, GateState.ERROR
SUBTEST = (
    "TAP version 14\n1..1\n# Subtest: outer\n    ok 1 - a\n    {} 2 - b\n    1..2\n{} 1 - outer\n"
)
# text, exit code, state, part of why
CASES = {
    "passes": ("TAP version 13\n1..2\nok 1 - a\nok 2 - b\n", 0, PASS, "2 tests passed"),
    "a plan at the end": ("ok\nok\n1..2\n", 0, PASS, "2 tests passed"),
    "a failure": ("1..2\nok 1\nnot ok 2 - b\n", 1, FAIL, "1 failed of 2"),
    "exit 0 and a failure": ("1..1\nnot ok 1\n", 0, ERROR, "exit 0, but"),
    "exit 1 and none": ("1..1\nok 1\n", 1, ERROR, "no test failed"),
    "no plan": ("TAP version 13\nok 1\n", 0, ERROR, "the plan (1..N) is missing"),
    "a plan not met": ("1..3\nok 1\nok 2\n", 0, ERROR, "3 tests were planned, 2 were reported"),
    "more than planned": ("1..1\nok 1\nok 2\n", 0, ERROR, "1 tests were planned, 2"),
    "two plans": ("1..1\nok 1\n1..1\n", 0, ERROR, "two plans"),
    "bail out": ("1..1\nok 1\nBail out! no database\n", 0, ERROR, "it bailed out: no database"),
    "a bail out of a subtest": ("1..1\n    Bail out!\n", 0, ERROR, "it bailed out"),
    "no TAP": ("all good\n", 0, ERROR, "it wrote no TAP"),
    "nothing": ("", 0, ERROR, "it wrote no TAP"),
    "all skipped": ("1..2\nok 1 # SKIP no\nok 2 # skip\n", 0, ERROR, "all 2 tests skipped"),
    "a skipped plan": ("1..0 # SKIP no database\n", 0, ERROR, "the only test was skipped"),
    "an empty plan": ("1..0\n", 0, ERROR, "no tests ran"),
    "todo": ("1..2\nok 1\nnot ok 2 - later # TODO soon\n", 0, PASS, "(1 failed as expected)"),
    "failed and skipped": ("1..2\nok 1\nnot ok 2 # SKIP\n", 1, FAIL, "1 failed of 2"),
    "an escaped mark": ("1..1\nnot ok 1 - a \\# TODO b\n", 1, FAIL, "1 failed"),
    "subtests": (SUBTEST.format("ok", "ok"), 0, PASS, "2 tests passed"),
    "a failed subtest": (SUBTEST.format("not ok", "not ok"), 1, FAIL, "1 failed of 2"),
    "a subtest hidden": (SUBTEST.format("not ok", "ok"), 0, ERROR, "its test point says ok"),
    "a subtest cut off": ("1..1\n    ok 1\n    1..2\nok 1\n", 0, ERROR, "2 tests were planned, 1"),
    "a subtest without its point": ("1..1\nok 1\n    ok 1\n    1..1\n", 0, ERROR, "has no result"),
    "a block cut off": ("1..1\nnot ok 1\n  ---\n  message: x\n", 1, ERROR, "diagnostic block"),
    "points after the plan": ("ok 1\n1..1\nok 2\n", 0, ERROR, "after its closing plan"),
}  # fmt: skip


def read(text: str, code: int, tree: Path) -> Reading:
    return reading(GATE, text, code, tree)


@pytest.mark.parametrize("case", CASES)
def test_tap(tmp_path: Path, case: str) -> None:
    text, code, state, why = CASES[case]
    said = read(text, code, tmp_path)
    assert (said.state, why in said.why) == (state, True), said.why


def test_names_and_diagnostics(tmp_path: Path) -> None:
    block = "  ---\n  message: 'one is not two'\n  name: 'AssertionError'\n  ...\n"
    said = read(f"1..2\nok 1 - fine\nnot ok 2 - sums \\#1\n{block}", 1, tmp_path)
    (finding,) = said.findings
    assert (finding.test, finding.rule, finding.message) == (
        "sums #1",
        "AssertionError",
        "one is not two",
    )
    assert said.passed_tests == ("fine",)
    inner = read(SUBTEST.format("not ok", "not ok"), 1, tmp_path)
    assert (inner.findings[0].test, inner.passed_tests) == ("outer::b", ("outer::a",))


def test_recorded_from_node(tmp_path: Path) -> None:
    said = read(text_of("tap", tmp_path), 1, tmp_path)
    assert said.state is FAIL
    assert "outer::inner bad" in {f.test for f in said.findings}
