"""A finding keeps its fingerprint through noise and moves, and loses it when it really changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.fingerprint import assigned, digest, exit_fp, normalised, set_digest
from donewhen.core.fingerprint import test_fp as failed_fp
from donewhen.core.verdict import Finding

LINES = ["import os", "", "def f():", "    return 1", "    return 1", "x = 1"]


def text_of(lines: list[str]) -> object:
    return lambda _path, line: lines[line - 1] if 0 < line <= len(lines) else ""


def finding(line: int, rule: str = "F401", message: str = "unused") -> Finding:
    return Finding("ruff", rule, message, path="a.py", line=line)


def marks(found: list[Finding], lines: list[str]) -> list[str]:
    return [f.fingerprint for f in assigned(found, text_of(lines))]  # type: ignore[arg-type]


def test_three_lines_on_top_change_nothing() -> None:
    before = marks([finding(1), finding(4), finding(5), finding(6)], LINES)
    after = marks([finding(4), finding(7), finding(8), finding(9)], ["#", "#", "#", *LINES])
    assert before == after
    assert len(set(before)) == 4, "equal lines are told apart by their order"


def test_white_space_changes_nothing() -> None:
    assert marks([finding(4)], LINES) == marks([finding(4)], [line + "   " for line in LINES])


@pytest.mark.parametrize(
    "other", [finding(1, rule="F402"), finding(1, message="other"), finding(6)]
)
def test_another_finding_is_another(other: Finding) -> None:
    assert marks([finding(1)], LINES) != marks([other], LINES)


NOISY = [
    ("at 0x7f3a2b", "at 0x55aa00"),
    ("in /tmp/pytest-of-a/x1/f.txt", "in /tmp/pytest-of-b/y2/f.txt"),
    ("id 123e4567-e89b-12d3-a456-426614174000", "id 99999999-e89b-12d3-a456-426614174999"),
    ("at 2026-12-01T03:00:00Z", "at 2027-01-02 04:05:06.7+01:00"),
    ("took 12.5ms", "took 900 ms"),
    ("pid 4711", "pid 12"),
    ("port: 8080", "port: 54321"),
    ("thread 'main' (26449) panicked", "thread 'main' (1) panicked"),
    ("a.py:12:5: bad", "a.py:99:1: bad"),
    ("line 12 is bad", "line 9 is bad"),
    ("Line 12", "Line 9"),
    ("test_a.py:12: AssertionError", "test_a.py:15: AssertionError"),
    ("see src/deep/a.py:12 there", "see src/deep/a.py:13 there"),
    ("src/a.ts(3,5): error TS1", "src/a.ts(9, 1): error TS1"),
    ("id 123E4567-E89B-12D3-A456-426614174000", "id 99999999-E89B-12D3-A456-426614174999"),
    ("DEADBEEFDEADBEEF gone", "0123456789ABCDEF gone"),
    ("Thread-12 (run) died", "Thread-9 (run) died"),
    ("deadbeefdeadbeef gone", "0123456789abcdef gone"),
    ("\x1b[31mred\x1b[0m", "red"),
    ("a   b\tc", "a b c"),
    ("at 03:04:05 sharp", "at 13:14:15 sharp"),
]


@pytest.mark.parametrize(("one", "other"), NOISY)
def test_noise_is_taken_away(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert exit_fp("g", 1, one) == exit_fp("g", 1, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("expected 1234 got 5", "expected 1235 got 5"),
        ("a.py bad", "b.py bad"),
        ("3 failed", "2 failed"),
        ("f(1, 2) != 0", "f(1, 3) != 0"),
        ("got x.size:3 here", "got x.size:4 here"),
        ("(1, 2) == (1, 3)", "(1, 2) == (1, 4)"),
    ],
)
def test_what_matters_stays(one: str, other: str) -> None:
    assert normalised(one) != normalised(other)


def test_another_root_changes_nothing() -> None:
    one = exit_fp("g", 1, "/home/a/repo/src/x.py: bad", "/home/a/repo")
    assert one == exit_fp("g", 1, "/srv/tree/src/x.py: bad", "/srv/tree/")


def test_the_root_alone_and_within_colours() -> None:
    assert normalised("rootdir: /srv/a", "/srv/a") == normalised("rootdir: /tmp/b/c", "/tmp/b/c")
    assert normalised("\x1b[1m/srv/\x1b[0ma/x.py", "/srv/a") == "x.py"
    assert normalised("/srv/another/x.py", "/srv/a") == "/srv/another/x.py"


def test_parts_do_not_run_over() -> None:
    assert digest("a\0b") != digest("a", "b")
    assert digest("ab", "c") != digest("a", "bc")


@given(
    st.lists(
        st.sampled_from(["a = 1", "b = f(x)", "", "  return 0", "a = 1"]), min_size=1, max_size=12
    ),
    st.integers(0, 20),
    st.text(" \t", max_size=4),
)
def test_moved_and_indented_findings_stay_what_they_are(
    lines: list[str], shift: int, indent: str
) -> None:
    here = marks([finding(n) for n in range(1, len(lines) + 1)], lines)
    moved = ["#"] * shift + [indent + line + indent for line in lines]
    there = marks([finding(n + shift) for n in range(1, len(lines) + 1)], moved)
    assert here == there
    assert len(set(here)) == len(lines)
    assert len(set(here) ^ set(marks([finding(n) for n in range(1, len(lines))], lines))) == 1


def test_a_failed_test_is_its_id_its_exception_and_its_line() -> None:
    one = failed_fp("t.py::test_a", "AssertionError", "    assert f(x) == 1")
    assert one == failed_fp("t.py::test_a", "AssertionError", "assert f(x)==1")
    assert one != failed_fp("t.py::test_a", "ValueError", "assert f(x) == 1")
    assert one != failed_fp("t.py::test_b", "AssertionError", "assert f(x) == 1")


def test_a_set_has_no_order() -> None:
    assert set_digest(["a", "b", "a"]) == set_digest(["b", "a"])
    assert set_digest(["a"]) != set_digest(["a", "b"])
