"""pytest for real: every exit code, every way to look green without being it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates import pytest as adapter
from donewhen.gates.base import Completed
from donewhen.gates.parse import from_config, parse_flag
from tests.gates.conftest import DATA, Run, Write

PYTEST = "python -m pytest -q"
OK = "def test_ok(): pass\n"
BAD = "def test_bad(): assert 1 == 2\n"
IMPORT = "import pytest\n"

STATES: dict[str, tuple[dict[str, str], str, GateState, str]] = {
    "passes": ({"test_a.py": OK}, "", GateState.PASS, "1 test passed"),
    "fails": ({"test_a.py": OK + BAD}, "", GateState.FAIL, "1 failed of 2 tests"),
    "stops at the first failure": ({"test_a.py": BAD}, "-x", GateState.FAIL, "1 failed"),
    "collection error": ({"test_a.py": "import nosuch\n"}, "", GateState.FAIL, "1 failed of 1"),
    "some modules do not import": (
        {"test_a.py": "import nosuch\n", "test_b.py": OK},
        "--continue-on-collection-errors",
        GateState.FAIL,
        "1 failed of 2",
    ),
    "syntax error": ({"test_a.py": "def test_a(:\n"}, "", GateState.FAIL, "1 failed of 1"),
    "keyboard interrupt": (
        {"test_a.py": OK + "def test_b(): raise KeyboardInterrupt\n"},
        "",
        GateState.ERROR,
        "interrupted",
    ),
    "interrupted after a broken fixture": (
        {
            "test_a.py": IMPORT + "@pytest.fixture\ndef broken(): raise RuntimeError\n"
            "def test_a(broken): pass\ndef test_b(): pytest.exit('stop')\n"
        },
        "",
        GateState.ERROR,
        "interrupted",
    ),
    "internal error": (
        {
            "conftest.py": "def pytest_collection_modifyitems(): raise RuntimeError\n",
            "test_a.py": OK,
        },
        "",
        GateState.ERROR,
        "internal error",
    ),
    "usage error": ({"test_a.py": OK}, "--nosuch", GateState.ERROR, "exit 4"),
    "a file that is not there": ({"test_a.py": OK}, "test_b.py", GateState.ERROR, "usage error"),
    "nothing collected": ({"readme": ""}, "", GateState.ERROR, "no tests ran"),
    "-k matches nothing": ({"test_a.py": OK}, "-k nosuch", GateState.ERROR, "no tests ran"),
    "only collected": ({"test_a.py": OK}, "--co", GateState.ERROR, "no tests ran"),
    "all skipped": (
        {"test_a.py": IMPORT + "@pytest.mark.skip\ndef test_a(): pass\n"},
        "",
        GateState.ERROR,
        "the only test was skipped",
    ),
    "a whole module skipped": (
        {"test_a.py": IMPORT + "pytest.skip('no', allow_module_level=True)\n"},
        "",
        GateState.ERROR,
        "the only test was skipped",
    ),
    "expected failure": (
        {"test_a.py": IMPORT + "@pytest.mark.xfail\ndef test_a(): assert 0\n"},
        "",
        GateState.PASS,
        "1 test passed (1 failed as expected)",
    ),
    "expected failure that never ran": (
        {"test_a.py": IMPORT + "@pytest.mark.xfail(run=False)\ndef test_a(): assert 0\n"},
        "",
        GateState.ERROR,
        "the only test was skipped",
    ),
    "strict expected failure that passes": (
        {"test_a.py": IMPORT + "@pytest.mark.xfail(strict=True)\ndef test_a(): pass\n"},
        "",
        GateState.FAIL,
        "1 failed",
    ),
    "hard exit": (
        {"test_a.py": OK + "def test_b():\n    import os\n    os._exit(0)\n" + BAD},
        "",
        GateState.ERROR,
        "exit 0, no report was written",
    ),
    "killed": (
        {"test_a.py": "import os\ndef test_a(): os.kill(os.getpid(), 9)\n"},
        "",
        GateState.ERROR,
        "killed by signal 9",
    ),
    "pytest.exit in a test": (
        {"test_a.py": IMPORT + OK + "def test_b(): pytest.exit('x', returncode=0)\n" + BAD},
        "",
        GateState.ERROR,
        "a test began and never ended",
    ),
    "pytest.exit between tests": (
        {
            "conftest.py": IMPORT + "def pytest_runtest_logfinish(nodeid):\n"
            "    pytest.exit('enough', returncode=0)\n",
            "test_a.py": OK + BAD,
        },
        "",
        GateState.ERROR,
        "interrupted with exit 0: _pytest.outcomes.Exit: enough",
    ),
    "sys.exit at import": (
        {"test_a.py": "import sys\nsys.exit(0)\n", "test_b.py": OK},
        "",
        GateState.ERROR,
        "internal error",
    ),
    "the exit code is bent": (
        {
            "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
            "test_a.py": BAD,
        },
        "",
        GateState.ERROR,
        "exit 0, but the report has 1 failure",
    ),
    "the exit code says no tests": (
        {
            "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 5\n",
            "test_a.py": BAD,
        },
        "",
        GateState.ERROR,
        "but the report has 1",
    ),
    "a plugin says no": (
        {
            "conftest.py": "def pytest_sessionfinish(session):\n"
            "    print('coverage 71 is below 90')\n    session.exitstatus = 1\n",
            "test_a.py": OK,
        },
        "-s",
        GateState.FAIL,
        "exit 1, but no test failed",
    ),
    "teardown breaks": (
        {
            "test_a.py": IMPORT
            + "@pytest.fixture\ndef f():\n    yield\n    raise OSError('gone')\n"
            "def test_a(f): assert 0\ndef test_b(f): pass\n"
        },
        "",
        GateState.FAIL,
        "2 failed of 2 tests",
    ),
    "a banner in the output is no end": (
        {"test_a.py": "def test_a(): print('\\n!!!! Interrupted by nobody !!!!')\n"},
        "-s",
        GateState.PASS,
        "1 test passed",
    ),
}


@pytest.mark.parametrize("case", STATES)
def test_states(write: Write, run: Run, case: str) -> None:
    files, arguments, state, why = STATES[case]
    root = write({"pytest.ini": "[pytest]\n", **files})
    result = run(root, f"{PYTEST} {arguments}")
    assert result.state is state, result
    assert why in result.why
    if state is GateState.PASS:
        assert result.findings == ()
    else:
        assert result.findings
        assert all(f.fingerprint for f in result.findings)
    assert not list(root.rglob("__pycache__"))
    assert not (root / ".pytest_cache").exists()


def test_tests_in_parallel_workers_are_counted_as_one_run(write: Write, run: Run) -> None:
    """Our own environment has the plugin that a plain pytest lacks."""
    root = write({"pytest.ini": "[pytest]\n", "test_a.py": OK + BAD})
    result = run(root, f"{sys.executable} -m pytest -q -n 2")
    assert (result.state, result.why) == (GateState.FAIL, "1 failed of 2 tests")


def test_no_tests_can_be_a_pass_only_with_a_report_that_says_so(write: Write, run: Run) -> None:
    root = write({"test_a.py": "import os\nos._exit(5)\n"})
    assert run(root, PYTEST, empty="pass").state is GateState.ERROR
    write({"test_a.py": ""})
    quiet = run(root, PYTEST, empty="pass")
    assert quiet.state is GateState.PASS
    assert quiet.weak


def test_a_finding_says_which_test_where_and_why(write: Write, run: Run) -> None:
    root = write({
        "pytest.ini": "[pytest]\n",
        "pkg/calc.py": "class Broken(Exception): pass\n\ndef f(x):\n    raise Broken(f'no {x}')\n",
        "tests/test_a.py": "from pkg.calc import f\n\ndef test_calls():\n    f(3)\n",
    })  # fmt: skip
    (finding,) = run(root, PYTEST).findings
    assert finding.test == "tests/test_a.py::test_calls"
    assert (finding.path, finding.line) == ("pkg/calc.py", 4)
    assert finding.rule == "Broken"
    assert finding.message == "pkg.calc.Broken: no 3"
    assert "raise Broken" in finding.text


@pytest.mark.parametrize("style", ["auto", "long", "short", "native", "line", "no"])
def test_every_traceback_style_has_type_and_place(write: Write, run: Run, style: str) -> None:
    root = write({
        "pytest.ini": f"[pytest]\naddopts = --tb={style}\n",
        "test_a.py": "\n\ndef test_a():\n    x = 1\n    assert x == 2\n",
    })  # fmt: skip
    (finding,) = run(root, PYTEST).findings
    assert finding.rule == "AssertionError"
    # Without a traceback the place is the test itself.
    assert (finding.path, finding.line) == ("test_a.py", 3 if style in {"line", "no"} else 5)


def test_a_fingerprint_outlives_moved_lines_and_changed_messages(write: Write, run: Run) -> None:
    text = "def test_a():\n    import time\n    assert time.time() == 0\n"
    root = write({"test_a.py": text})
    (before,) = run(root, PYTEST).findings
    write({"test_a.py": f"# more\n\n{text}"})
    (after,) = run(root, PYTEST).findings
    assert before.line != after.line
    assert before.fingerprint == after.fingerprint
    write({"test_a.py": text.replace("== 0", "== 1")})
    assert run(root, PYTEST).findings[0].fingerprint != before.fingerprint


ODD_IDS = """
import pytest
from shared import Base, wrapped
class TestOne(Base): value = 1
class TestTwo(Base):
    value = 2
    class TestInner:
        def test_deep(self): assert 0
    @wrapped
    def test_wrapped(self): assert 0
@pytest.mark.parametrize("x", ["a::b", "é [1]", "<&>", "\\x00\\x1b", "a/b.py", "ŷ", "", "x" * 3000])
def test_p(x): assert 0
"""
SHARED = """
def wrapped(f):
    def inner(self): return f(self)
    return inner
class Base:
    def test_base(self): assert self.value == 0
"""


def test_ids_are_the_ones_pytest_takes(write: Write, run: Run) -> None:
    """Also of inherited and decorated tests, whose code lies in another file."""
    root = write({"pytest.ini": "[pytest]\npythonpath = lib\n", "tests/test_odd.py": ODD_IDS,
                  "lib/shared.py": SHARED})  # fmt: skip
    tests = [f.test for f in run(root, PYTEST).findings]
    assert len(set(tests)) == 12
    here = "tests/test_odd.py"
    assert {f"{here}::TestOne::test_base", f"{here}::TestTwo::test_base"} <= set(tests)
    assert {f"{here}::TestTwo::TestInner::test_deep", f"{here}::TestTwo::test_wrapped"} <= set(
        tests
    )
    assert f"{here}::test_p[a::b]" in tests
    assert f"{here}::test_p[<&>]" in tests
    assert max(map(len, tests)) < 1200
    alone = next(t for t in tests if "a::b" in t)
    assert run(root, f"{PYTEST} '{alone}'").counts.failed == 1


SUBTESTS = """
import unittest
def test_many(subtests):
    for i in range(3):
        with subtests.test("m", i=i): assert i != 1
class TestU(unittest.TestCase):
    def test_u(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
    def test_fine(self):
        with self.subTest(i=1): pass
"""


def test_a_failed_subtest_fails_its_test(write: Write, run: Run) -> None:
    result = run(write({"test_a.py": SUBTESTS}), PYTEST)
    assert result.state is GateState.FAIL
    assert {f.test for f in result.findings} == {
        "test_a.py::test_many",
        "test_a.py::TestU::test_u",
    }
    assert result.passed_tests == ("test_a.py::TestU::test_fine",)


def test_a_gate_in_a_folder_of_a_larger_project(write: Write, run: Run) -> None:
    """pytest names files from its root, tracebacks from where it started; we from the tree."""
    root = write({"pytest.ini": "[pytest]\n", "packages/api/tests/test_a.py": BAD})
    (finding,) = run(root, PYTEST, cwd="packages/api").findings
    assert finding.path == "packages/api/tests/test_a.py"
    assert finding.line == 1
    assert finding.test == "packages/api/tests/test_a.py::test_bad"


@pytest.mark.parametrize(
    "ini",
    [
        "addopts = --strict-config --lf\ncache_dir = .mine",
        "addopts = -p no:cacheprovider --strict-config",
        "addopts = --junitprefix=odd -ra -q\njunit_logging = all\njunit_family = xunit2",
        "filterwarnings = error",
    ],
)
def test_the_projects_own_options_stay_and_do_no_harm(write: Write, run: Run, ini: str) -> None:
    text = "def test_a(record_property): record_property('k', 'v'); print('x' * 10)\nclass TestA:\n    def test_b(self): pass\n"
    root = write({"pytest.ini": f"[pytest]\n{ini}\n", "test_a.py": text})
    result = run(root, PYTEST)
    assert result.state is GateState.PASS, result
    assert result.passed_tests == ("test_a.py::TestA::test_b", "test_a.py::test_a")
    assert not list(root.glob(".*cache*")) + list(root.glob(".mine"))


def test_addopts_are_kept(write: Write, run: Run) -> None:
    root = write({"pytest.ini": "[pytest]\naddopts = -k ok\n", "test_a.py": OK + BAD})
    assert run(root, PYTEST).counts.tests == 1


def test_a_report_of_the_users_own_is_not_read(write: Write, run: Run) -> None:
    """A green report lies where an older run left it, and the user's command names it."""
    root = write({"test_a.py": OK})
    run(root, "sh: python -m pytest -q --junitxml=report.xml")
    assert "test_ok" in (root / "report.xml").read_text()
    write({"test_a.py": "import os\ndef test_b(): os._exit(0)\n"})
    assert run(root, f"{PYTEST} --junitxml=report.xml").why.startswith("exit 0, no report")


def test_arguments_after_a_double_dash(write: Write, run: Run) -> None:
    assert run(write({"test_a.py": OK}), f"{PYTEST} -- test_a.py").state is GateState.PASS


def test_behind_a_script_the_report_is_asked_for_by_the_environment(write: Write, run: Run) -> None:
    gate = from_config("t", {"run": "sh: cd sub && python -m pytest -q", "format": "pytest"})
    root = write({"sub/test_a.py": OK + BAD})
    result = run(root, gate)
    assert result.state is GateState.FAIL
    assert result.counts.tests == 2
    assert not result.weak


def test_a_missing_pytest_is_no_failure_of_the_project(write: Write, run: Run) -> None:
    result = run(write({"test_a.py": OK}), "python -I -S -m pytest -q")
    assert result.state is GateState.ERROR
    assert result.start_failed
    assert "No module named pytest" in result.why


def test_a_module_of_the_project_that_is_missing_is_one(write: Write, run: Run) -> None:
    """The agent can still write it: the run must go on."""
    result = run(write({"readme": ""}), "python -m calc --check")
    assert result.state is GateState.FAIL
    assert not result.start_failed


def test_a_recorded_report_of_every_kind_of_case(tmp_path: Path) -> None:
    gate = parse_flag(PYTEST)
    done = Completed(1, "", "", DATA / "pytest-9-xunit1.xml", tree=tmp_path)
    reading = adapter.read(gate, done)
    assert reading.state is GateState.FAIL
    assert reading.why == "14 failed of 23 tests"
    assert reading.counts.skipped == 2  # a skip, and an expected failure that was not run
    rules = {f.test.rpartition("::")[2]: f.rule for f in reading.findings}
    assert rules["test_odd"] == "Odd"
    assert rules["test_su"] == "RuntimeError"
    assert rules["test_exit"] == "SystemExit"
    assert rules["test_fail"] == "Failed"
    assert "tests/test_a.py::test_td" not in reading.passed_tests
