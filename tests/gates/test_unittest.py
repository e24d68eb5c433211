"""unittest through our runner: the same promises as for pytest."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates import junitxml
from donewhen.gates.unittest import RUNNER
from tests.gates.conftest import Run, Write

UNITTEST = "python -m unittest"
HEAD = "import os, sys, unittest\nclass T(unittest.TestCase):\n    "

STATES: dict[str, tuple[str, str, GateState, str]] = {
    "passes": ("def test_a(self): pass", "", GateState.PASS, "1 test passed"),
    "fails": ("def test_a(self): self.assertEqual(1, 2)", "", GateState.FAIL, "1 failed of 1"),
    "a test with the name of an attribute": (
        "def test_case(self): pass", "", GateState.PASS, "1 test passed"),
    "breaks": ("def test_a(self): raise OSError", "", GateState.FAIL, "1 failed of 1"),
    "no tests": ("x = 1", "", GateState.ERROR, "no tests ran"),
    "-k matches nothing": ("def test_a(self): pass", "-k nosuch", GateState.ERROR, "no tests ran"),
    "all skipped": (
        "@unittest.skip('why')\n    def test_a(self): pass", "", GateState.ERROR, "the only test was skipped"),
    "expected failure": (
        "@unittest.expectedFailure\n    def test_a(self): self.fail()", "", GateState.PASS,
        "1 test passed (1 failed as expected)"),
    "unexpected success": (
        "@unittest.expectedFailure\n    def test_a(self): pass", "", GateState.FAIL, "1 failed"),
    "hard exit": (
        "def test_a(self): os._exit(0)", "", GateState.ERROR, "exit 0, no report was written"),
    "sys.exit in a test": ("def test_a(self): sys.exit(0)", "", GateState.FAIL, "1 failed of 1"),
    "sys.exit at import": (
        "pass\nsys.exit(0)", "test_a", GateState.ERROR, "exit 0, no report was written"),
    "interrupted": (
        "def test_a(self): raise KeyboardInterrupt", "", GateState.ERROR, "no report was written"),
    "an import that fails": ("pass\nimport nosuch", "", GateState.FAIL, "1 failed of 1"),
    "a class that cannot be set up": (
        "@classmethod\n    def setUpClass(cls): raise OSError('db')\n    def test_a(self): pass", "",
        GateState.FAIL, "1 failed of 1"),
    "usage error": ("def test_a(self): pass", "--nosuch", GateState.ERROR, "exit 2"),
    "the exit code is bent": (
        "def test_a(self): self.fail()\n    import atexit; atexit.register(lambda: os._exit(0))", "",
        GateState.ERROR, "exit 0, but the report has 1 failure"),
    "its own options still work": (
        "def test_a(self): self.fail()\n    def test_b(self): self.fail()", "-f -b -v",
        GateState.FAIL, "1 failed of 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", STATES)
def test_states(write: Write, run: Run, case: str) -> None:
    text, arguments, state, why = STATES[case]
    root = write({"test_a.py": f"{HEAD}{text}\n"})
    result = run(root, f"{UNITTEST} {arguments}")
    assert result.state is state, result
    assert why in result.why
    assert bool(result.findings) is (state is not GateState.PASS)
    assert not list(root.rglob("__pycache__"))


MANY = """import unittest
class Odd(Exception): pass
class TestA(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self):
        self.assertEqual({"a": 1, "b": 2}, {"a": 1, "b": 3})
    def test_odd(self): raise Odd("no\\x00\\ufffe way <&>")
    def test_sub(self):
        for n in range(3):
            with self.subTest(n=n, s="a]]>b"): self.assertEqual(n, 0)
    def test_chain(self):
        try: {}["x"]
        except KeyError as error: raise ValueError("it\\n  is\\nthis") from error
class TestB(TestA): pass
"""


def test_names_places_and_types(write: Write, run: Run) -> None:
    root = write({"tests/__init__.py": "", "tests/test_a.py": MANY})
    result = run(root, UNITTEST)
    found = {f.test: f for f in result.findings}
    bad = found["tests.test_a.TestA::test_bad"]
    assert (bad.path, bad.line, bad.rule) == ("tests/test_a.py", 6, "AssertionError")
    assert bad.message.startswith("AssertionError: {'a': 1, 'b': 2} != {'a': 1, 'b': 3}")
    assert found["tests.test_a.TestA::test_odd"].rule == "Odd"
    assert found["tests.test_a.TestB::test_chain"].rule == "ValueError"
    assert found["tests.test_a.TestB::test_chain"].message == "ValueError: it"
    assert "tests.test_a.TestA::test_sub (n=1, s='a]]>b')" in found
    assert "tests.test_a.TestA::test_sub (n=0, s='a]]>b')" not in found
    assert result.passed_tests == ("tests.test_a.TestA::test_good", "tests.test_a.TestB::test_good")
    assert result.counts.failed == 10


def test_a_skip_within_a_subtest_belongs_to_its_test(write: Write, run: Run) -> None:
    text = f"{HEAD}def test_a(self):\n        with self.subTest(i=1): self.skipTest('later')\n"
    result = run(write({"test_a.py": text}), UNITTEST)
    assert result.state is not GateState.FAIL
    assert result.findings == () or result.why == "the only test was skipped"


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_the_runner_works_with_other_interpreters(
    write: Write, tmp_path: Path, version: str
) -> None:
    versions = Path(os.environ.get("PYENV_ROOT", "/nowhere")) / "versions"
    found = sorted(versions.glob(f"{version}.*/bin/python"))
    python = str(found[-1]) if found else shutil.which(f"python{version}")
    if python is None:
        pytest.skip(f"no Python {version} here")
    root = write({"test_a.py": MANY})
    report = tmp_path / "report.xml"
    done = subprocess.run([python, RUNNER, report], cwd=root, capture_output=True, timeout=60)
    assert done.returncode == 1, done.stderr
    cases = junitxml.parse(report).cases
    assert sum(c.bad for c in cases) == 10
    assert sum(c.outcome == "passed" for c in cases) == 2
    nothing = subprocess.run(
        [python, RUNNER, report, "-k", "nosuch"], cwd=root, capture_output=True
    )
    assert nothing.returncode == 5
