"""Weaker tests are told from renamed, moved, split, parametrised and stricter ones."""

from __future__ import annotations

import pytest

from donewhen.judge.strength import compare

BASE = '''"""Tests."""
import pytest
from calc import add


def test_add():
    assert add(2, 3) == 5
    assert add(-1, 1) == 0


def test_near():
    assert add(0.1, 0.2) == pytest.approx(0.3, abs=0.001)


class TestMore:
    def test_raises(self):
        with pytest.raises(TypeError):
            add(None, 1)
'''


def rules(after: str | dict[str, str], before: str = BASE) -> list[str]:
    texts = {"t.py": after} if isinstance(after, str) else after
    found = compare({"t.py": before}, texts, frozenset({"calc"}))
    return [w.rule for w in found.weaker]


def changed(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("    assert add(2, 3) == 5\n", "", "assertion-removed"),
        ("assert add(2, 3) == 5", "add(2, 3)", "assertion-removed"),
        ("assert add(2, 3) == 5", "assert add(2, 3) == -1", "expectation-changed"),
        ("assert add(2, 3) == 5", "assert add(2, 3) is not None", "assertion-loosened"),
        ("assert add(2, 3) == 5", "assert add(2, 3)", "assertion-loosened"),
        ("assert add(2, 3) == 5", "assert add(2, 3) >= 5", "assertion-loosened"),
        ("assert add(2, 3) == 5", "assert add(2, 3) in (5, -1)", "assertion-loosened"),
        ("assert add(2, 3) == 5", "assert isinstance(add(2, 3), int)", "assertion-loosened"),
        ("assert add(2, 3) == 5", "assert add(2, 3) == 5 or True", "assertion-removed"),
        ("assert add(2, 3) == 5", "assert add(2, 3) == pytest.approx(5, abs=9)", "tolerance-widened"),
        ("abs=0.001", "abs=1", "tolerance-widened"),
        ("raises(TypeError)", "raises(Exception)", "assertion-loosened"),
        ("def test_add", "@pytest.mark.skip\ndef test_add", "test-skipped"),
        ("def test_add", "@pytest.mark.xfail(reason='later')\ndef test_add", "test-skipped"),
        ("def test_add():\n", "def test_add():\n    pytest.skip('no')\n", "test-skipped"),
        ("def test_add():\n", "def test_add():\n    return\n", "test-skipped"),
        ("def test_add", "pytestmark = pytest.mark.skip\n\n\ndef test_add", "test-skipped"),
        ("class TestMore", "@pytest.mark.skip\nclass TestMore", "test-skipped"),
        ("def test_add", "def _test_add", "test-removed"),
        ("class TestMore:\n    def test_raises", "class TestMore:\n    def check_raises", "test-removed"),
        (
            "def test_add():\n",
            "def test_add(monkeypatch):\n    monkeypatch.setattr('calc.add', lambda a, b: 5)\n",
            "unit-mocked",
        ),
    ],
)  # fmt: skip
def test_weaker(old: str, new: str, rule: str) -> None:
    assert rule in rules(changed(old, new))


def test_each_finding_says_where_what_was_and_what_is() -> None:
    (found,) = compare({"t.py": BASE}, {"t.py": changed("== 5", "== -1")}).weaker
    assert (found.path, found.test, found.line) == ("t.py", "test_add", 6)
    assert (found.before, found.after) == ("add(2, 3) == 5", "add(2, 3) == -1")
    assert "test_add expected `add(2, 3) == 5`, and now `add(2, 3) == -1`" in found.message
    (gone,) = compare({"t.py": BASE}, {"t.py": changed("def test_near", "def near")}).weaker
    assert (gone.test, gone.rule, gone.line) == ("test_near", "test-removed", 11)


def test_a_deleted_file_is_all_its_tests() -> None:
    assert rules({}) == ["test-removed"] * 3


HONEST = {
    "formatting and comments": BASE.replace("    assert add(2, 3) == 5", "    # five\n    assert (\n        add(2, 3) == 5\n    )"),
    "renamed": BASE.replace("def test_add", "def test_sum"),
    "moved into the class": BASE.replace('\n\ndef test_near():\n    assert add(0.1, 0.2) == pytest.approx(0.3, abs=0.001)\n', "") + "\n    def test_near(self):\n        assert add(0.1, 0.2) == pytest.approx(0.3, abs=0.001)\n",
    "split": BASE.replace("    assert add(-1, 1) == 0\n", "") + "\n\ndef test_zero():\n    assert add(-1, 1) == 0\n",
    "parametrised": BASE.replace("def test_add():\n    assert add(2, 3) == 5\n    assert add(-1, 1) == 0\n", "@pytest.mark.parametrize(('a', 'b', 'want'), [(2, 3, 5), (-1, 1, 0)])\ndef test_add(a, b, want):\n    assert add(a, b) == want\n"),
    "stricter": BASE.replace("abs=0.001", "abs=0.0001"),
    "exact": BASE.replace("pytest.approx(0.3, abs=0.001)", "0.3"),
    "one more": BASE.replace("== 0\n", "== 0\n    assert add(9, 9) == 18\n"),
    "a new test": BASE + "\n\ndef test_new():\n    assert add(1, 1) == 2\n",
    "a message": BASE.replace("== 5", "== 5, 'two and three'"),
    "a helper that asserts": BASE.replace("    assert add(2, 3) == 5\n", "    check(2, 3, 5)\n").replace("def test_add", "def check(a, b, want):\n    assert add(a, b) == want\n\n\ndef test_add"),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest(name: str) -> None:
    assert HONEST[name] != BASE
    assert rules(HONEST[name]) == []


def test_another_name_of_what_is_called_is_not_weaker_and_not_kept() -> None:
    found = compare({"t.py": BASE}, {"t.py": BASE.replace("add(", "plus(")}, frozenset({"calc"}))
    assert (found.weaker, found.kept) == ((), frozenset())


def test_moved_to_another_file() -> None:
    head, rest = BASE.split("class TestMore")
    imports = "import pytest\nfrom calc import add\n\n\n"
    assert rules({"t.py": head, "u.py": f"{imports}class TestMore{rest}"}) == []


KEPT = ("formatting and comments", "one more", "a new test")


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_weaker_needs_no_base_version(name: str) -> None:
    assert compare({"t.py": BASE}, {"t.py": HONEST[name]}).kept == {"t.py"}


@pytest.mark.parametrize(
    "extra",
    [
        "def add(a, b):\n    return 5\n",
        "class add(int):\n    pass\n",
        "from fake import add\n",
        "import calc\ncalc.add = lambda a, b: 5\n",
        "@pytest.fixture(autouse=True)\ndef fake(monkeypatch):\n    monkeypatch.setattr('calc.add', max)\n",
        "def setup_function():\n    import calc\n    calc.add = max\n",
        "def pytest_generate_tests(metafunc):\n    pass\n",
    ],
    ids=[
        "shadowed",
        "shadowed by a class",
        "imported from elsewhere",
        "patched",
        "automatic fixture",
        "set up for each",
        "hook",
    ],
)
def test_what_may_bend_the_other_tests_needs_one(extra: str) -> None:
    assert compare({"t.py": BASE}, {"t.py": BASE + "\n\n" + extra}).kept == frozenset()


def test_tests_that_are_not_called_so() -> None:
    before = BASE.replace("def test_add", "def check_add")
    found = compare({"t.py": before}, {"t.py": before.replace("== 5", "== 6")}, names=["check_add"])
    assert [w.rule for w in found.weaker] == ["expectation-changed"]


@pytest.mark.parametrize("text", ["def f(:\n", "\0", "(" * 5000])
def test_what_is_no_python_is_not_called_weaker_and_not_kept(text: str) -> None:
    found = compare({"t.py": BASE}, {"t.py": text})
    assert (found.weaker, found.kept) == ((), frozenset())
