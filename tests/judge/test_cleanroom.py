"""The deciding verdict: nothing counts but what is delivered, and not by weaker tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.core.verdict import Proof, Purpose
from donewhen.errors import DonewhenError
from donewhen.judge.cleanroom import MEASURED
from donewhen.judge.summary import summary
from tests.conftest import CALC, FIX
from tests.judge.helpers import ERROR, FAIL, PASS, Bench, gate, one

Make = Callable[..., Bench]
TEST = CALC["tests/test_calc.py"]
GREEN = {**CALC, **FIX}


def test_a_real_fix_passes_and_proves_the_goal(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write(FIX)
    verdict = made.decide()
    assert (verdict.state, verdict.proof) == (PASS, Proof.GOAL)
    assert verdict.purpose is Purpose.DECIDING
    assert MEASURED in verdict.notes


def test_a_file_that_is_ignored_is_not_there(bench: Make) -> None:
    """Green in the worktree, thanks to a helper that nobody will ever get."""
    made = bench({**CALC, ".gitignore": "__pycache__/\nlocal_*.py\n"})
    made.baseline()
    made.project.write(
        {
            "src/local_add.py": "def add(a, b):\n    return a + b\n",
            "src/calc/__init__.py": "from local_add import add\n",
        }
    )
    assert made.judge().state is PASS
    assert made.decide().state is FAIL


def test_info_exclude_hides_nothing_from_the_room(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write(
        {
            ".git/info/exclude": "conftest.py\n",
            "conftest.py": "def pytest_collection_modifyitems(items):\n    del items[0]\n",
        }
    )
    assert made.judge().state is PASS
    assert made.decide().state is FAIL


def test_what_the_configuration_provides_is_there(bench: Make) -> None:
    made = bench({"a": "1", ".gitignore": "env\n"}, gate("test -f env", source="flag"))
    made.baseline()
    assert made.decide().state is FAIL
    assert made.decide(lambda room: (room / "env").touch()).state is PASS
    assert made.decide(lambda room: (room / "not-ignored").touch()).state is FAIL


def test_what_is_provided_may_not_replace_what_was_delivered(bench: Make) -> None:
    made = bench(GREEN)
    made.baseline()

    def provide(room: Path) -> None:
        (room / "tests/test_calc.py").write_text("def test_nothing():\n    pass\n")

    with pytest.raises(DonewhenError, match=r"tests/test_calc.py differ after setup"):
        made.decide(provide)
    assert not (made.scratch / "room").exists()


def test_tests_may_ask_git(bench: Make) -> None:
    made = bench({"a": "1"}, gate("git ls-files --error-unmatch a", source="flag"))
    assert made.decide().state is PASS


def test_the_gates_of_the_room_cannot_push_either(bench: Make) -> None:
    made = bench({"a": "1"}, gate('sh: test "$REFUSAL" = on', source="flag", name="env"))
    made.extra_env = {"REFUSAL": "on", "PYTHONPATH": "/of/the/worktree"}
    assert made.decide().state is PASS
    made.gates = (gate('sh: test -z "$PYTHONPATH"', source="flag", name="env"),)
    assert made.decide().state is PASS


WEAK = {
    "assert removed": ({"tests/test_calc.py": TEST.replace("assert add(2, 3) == 5", "add(2, 3)")}, {"assertion-removed"}),
    "expectation bent": ({"tests/test_calc.py": TEST.replace("== 5", "== -1")}, {"expectation-changed"}),
    "test deleted": ({"tests/test_calc.py": "from calc import add\n\n\ndef test_zero():\n    assert add(0, 0) == 0\n"}, {"test-removed"}),
    "conftest": ({"conftest.py": "collect_ignore = ['tests/test_calc.py']\n", "tests/test_more.py": "def test_more(): pass\n"}, {"test-vanished", "test-change"}),
    "hook": ({"conftest.py": "def pytest_ignore_collect(collection_path):\n    return 'test_calc' in str(collection_path) or None\n", "tests/test_more.py": "def test_more(): pass\n"}, {"test-vanished", "test-change"}),
    "pytest.ini": ({"pytest.ini": "[pytest]\npythonpath = src\naddopts = -k zero\n"}, {"test-change"}),
    "addopts": ({"pyproject.toml": CALC["pyproject.toml"] + 'addopts = "-k zero"\n'}, {"test-change"}),
}  # fmt: skip


@pytest.mark.parametrize("name", WEAK)
def test_weakened_tests_do_not_pass(bench: Make, name: str) -> None:
    files, rules = WEAK[name]
    made = bench(CALC)
    made.baseline()
    made.project.write(files)
    assert made.judge().state is PASS  # fooled, in the worktree
    verdict = made.decide()
    assert verdict.state is FAIL
    assert {f.rule for f in verdict.integrity} == rules
    assert summary(verdict).integrity
    named = rules - {"test-change"}
    assert summary(verdict).unclear_tests == (not named), "the agent is told before a person is"
    again = made.decide(told=frozenset(f.fingerprint for f in verdict.integrity))
    assert summary(again).unclear_tests


def test_a_runner_that_drops_a_test_is_found_by_tests_of_our_own(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write(
        {"conftest.py": "def pytest_collection_modifyitems(items):\n    del items[0]\n"}
    )
    assert made.judge().state is PASS
    verdict = made.decide()
    assert verdict.state is FAIL
    assert [f.rule for f in verdict.integrity] == ["canary"]
    assert summary(verdict).integrity


def test_a_deleted_test_file_still_counts(bench: Make) -> None:
    made = bench({**CALC, "tests/test_other.py": "def test_other():\n    pass\n"})
    made.baseline()
    (made.project.root / "tests/test_calc.py").unlink()
    assert made.judge().state is PASS
    assert made.decide().state is FAIL


def test_an_honest_new_test_file_passes_without_a_second_variant(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    new = "from calc import add\n\n\ndef test_more():\n    assert add(1, 1) == 2\n"
    made.project.write({**FIX, "tests/test_more.py": new})
    verdict = made.decide()
    assert (verdict.state, verdict.proof, verdict.integrity) == (PASS, Proof.GOAL, ())
    assert not any("base versions" in note for note in verdict.notes)
    assert one(verdict).counts.tests == 3


def test_tests_that_only_grew_need_no_second_variant(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    grown = TEST + "\n\ndef test_more():\n    assert add(1, 1) == 2\n"
    made.project.write({**FIX, "tests/test_calc.py": grown})
    verdict = made.decide()
    assert (verdict.state, verdict.integrity) == (PASS, ())
    assert not any("base versions" in note for note in verdict.notes)
    assert one(verdict).counts.tests == 3


def test_other_tests_pass_where_their_base_versions_do(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write({**FIX, "tests/test_calc.py": TEST.replace("test_add", "test_sum")})
    verdict = made.decide()
    assert (verdict.state, verdict.proof, verdict.integrity) == (PASS, Proof.GOAL, ())
    assert any("the base versions of tests/test_calc.py pass too" in n for n in verdict.notes)


def test_a_changed_interface_is_for_a_person_to_look_at(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write(
        {
            "src/calc/__init__.py": "def plus(a, b):\n    return a + b\n",
            "tests/test_calc.py": TEST.replace("add(", "plus(").replace(
                "import add", "import plus"
            ),
        }
    )
    verdict = made.decide()
    assert verdict.state is FAIL
    assert summary(verdict).unclear_tests


def test_red_with_the_changed_tests_is_simply_red(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write({"tests/test_calc.py": TEST + "\n# touched\n"})
    verdict = made.decide()
    assert verdict.state is FAIL
    assert verdict.integrity == ()


def test_the_second_variant_starts_as_fresh_as_the_first(bench: Make) -> None:
    """What a first run leaves behind, ignored or not, is no help for the second."""
    once = "sh: test ! -e out.log && touch out.log"
    made = bench({**GREEN, ".gitignore": "*.log\n"}, gate(), gate(once, name="once"))
    made.baseline()
    (made.project.root / "out.log").unlink()
    made.project.write({"tests/test_calc.py": TEST + "\n# touched\n"})
    assert made.decide().state is PASS


def test_a_room_that_a_crash_left_behind_is_made_anew(bench: Make) -> None:
    made = bench(GREEN)
    made.baseline()
    (made.scratch / "room").mkdir(parents=True)
    (made.scratch / "room" / "left").write_text("x")
    assert made.decide().state is PASS


def test_the_users_checkout_and_branch_are_not_touched(bench: Make) -> None:
    made = bench(CALC)
    made.baseline()
    made.project.write(FIX)
    before = (made.project.git("status", "--short"), made.project.git("for-each-ref"))
    made.decide()
    assert (made.project.git("status", "--short"), made.project.git("for-each-ref")) == before


def test_line_ends_that_git_would_store_otherwise_are_no_difference(bench: Make) -> None:
    made = bench({"a.txt": "one\n"}, gate("test -f a.txt", source="flag"))
    (made.project.root / "a.txt").write_bytes(b"one\r\n")
    made.project.commit()
    made.project.write({".gitattributes": "*.txt text eol=crlf\n"})
    made.project.git("add", ".gitattributes")
    made.project.git("commit", "-qm", "attributes")
    assert made.decide().state is PASS


def test_a_gate_that_dirties_the_room_is_an_error(bench: Make) -> None:
    made = bench(GREEN, gate("sh: test -e marker || echo x > marker", name="w", source="flag"))
    assert made.decide().state is ERROR
