"""`donewhen judge`: pass, fail or error, never a guess."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CALC, FIX, Project

Make = Callable[..., Project]


def judged(project: Project, *args: str, code: int) -> dict[str, Any]:
    verdict: dict[str, Any] = project.donewhen("judge", "--json", *args).expect(code).json()
    assert verdict["exit"] == code
    return verdict


def test_fail_names_the_test_the_file_and_the_line(project: Project) -> None:
    verdict = judged(project, code=1)
    (gate,) = verdict["gates"]
    (finding,) = gate["findings"]
    assert finding["test"] == "tests/test_calc.py::test_add"
    assert (finding["path"], finding["line"]) == ("tests/test_calc.py", 5)
    assert finding["rule"] == "AssertionError"
    assert gate["counts"]["tests"] == 2
    assert gate["passed_tests"] == ["tests/test_calc.py::test_zero"]
    text = project.donewhen("judge").expect(1).out
    assert "tests/test_calc.py::test_add" in text


def test_pass_leaves_the_checkout_as_it_was(make_project: Make) -> None:
    green = make_project({**CALC, **FIX})
    index = (green.root / ".git/index").read_bytes()
    verdict = judged(green, code=0)
    assert verdict["verdict"] == "pass"
    assert verdict["tree"] == green.git("rev-parse", "HEAD^{tree}")
    assert green.git("status", "--porcelain", "--ignored") == ""
    assert (green.root / ".git/index").read_bytes() == index


PYTEST_CASES = {  # tests/gates/test_pytest.py has the others
    "no tests": ({"tests/test_a.py": "x = 1\n"}, "error", "no tests ran"),
    "hard exit": (
        {"tests/test_a.py": "import os\ndef test_a(): os._exit(0)\n"},
        "error",
        "no report",
    ),
    "sessionfinish hides a failure": (
        {
            "tests/test_a.py": "def test_a(): assert 0\n",
            "conftest.py": "def pytest_sessionfinish(session): session.exitstatus = 0\n",
        },
        "error",
        "but the report has 1 failure",
    ),
}


@pytest.mark.parametrize("case", PYTEST_CASES)
def test_pytest_states(make_project: Make, case: str) -> None:
    files, state, why = PYTEST_CASES[case]
    found = make_project({**files, "pytest.ini": "[pytest]\n"})
    verdict = judged(found, code={"pass": 0, "fail": 1, "error": 3}[state])
    (gate,) = verdict["gates"]
    assert gate["state"] == state
    assert why in gate["why"]


def test_no_tests_may_pass_only_by_configuration(make_project: Make) -> None:
    toml = 'version = 1\n[gates.tests]\nrun = "pytest -q"\nempty = "pass"\n'
    quiet = make_project({"tests/test_a.py": "", "donewhen.toml": toml})
    (gate,) = judged(quiet, code=0)["gates"]
    assert gate["weak"]


UNITTEST = """import unittest
class TestA(unittest.TestCase):
    def test_good(self): pass
    def test_bad(self): self.assertEqual(1, {value})
    def test_sub(self):
        for n in range(3):
            with self.subTest(n=n): self.assertLess(n, {value} + 1)
    @unittest.skip("why")
    def test_skipped(self): pass
"""


def test_unittest_has_counts_and_names(make_project: Make) -> None:
    found = make_project({"tests/__init__.py": "", "tests/test_a.py": UNITTEST.format(value=0)})
    command = "python -m unittest discover -s tests -t ."
    (gate,) = judged(found, "--gate", command, code=1)["gates"]
    assert {f["test"] for f in gate["findings"]} == {
        "tests.test_a.TestA::test_bad",
        "tests.test_a.TestA::test_sub (n=1)",
        "tests.test_a.TestA::test_sub (n=2)",
    }
    assert gate["findings"][0]["rule"] == "AssertionError"
    assert gate["counts"]["skipped"] == 1
    found.write({"tests/test_a.py": UNITTEST.format(value=1).replace("range(3)", "range(2)")})
    assert judged(found, "--gate", command, code=0)["gates"][0]["counts"]["tests"] == 3


REPORTS = {  # tests/gates/test_junit.py has the others
    "truncated": ("<testsuites><testsuite><testcase name='a'/>", "cut off"),
    "missing": ("", "no JUnit report"),
    "contradicting": (
        "<testsuites><testsuite><testcase name='a'><failure message='x'/></testcase></testsuite></testsuites>",
        "but the report has 1 failure",
    ),
}


@pytest.mark.parametrize("case", REPORTS)
def test_a_report_that_cannot_be_believed_is_an_error(project: Project, case: str) -> None:
    text, why = REPORTS[case]
    (project.root / "given.xml").write_text(text)
    verdict = judged(project, "--gate", "cp given.xml {report}", code=3)
    assert why in verdict["gates"][0]["why"]


def test_a_stale_report_of_an_earlier_run_is_not_read(project: Project) -> None:
    good = "<testsuites><testsuite><testcase name='a'/></testsuite></testsuites>"
    (project.root / "report.xml").write_text(good)
    verdict = judged(project, "--gate", "sh: true # {report}", code=3)
    assert "no report was written" in verdict["gates"][0]["why"]


def test_an_exit_code_is_weak_evidence(project: Project) -> None:
    verdict = judged(project, "--gate", "yes=true", "--gate", "sh: echo broken; exit 3", code=1)
    assert [g["name"] for g in verdict["gates"]] == ["yes", "sh"]
    assert all(g["weak"] for g in verdict["gates"])
    assert verdict["gates"][1]["findings"][0]["message"] == "broken"
    assert "weak" in project.donewhen("judge", "--gate", "true").expect(0).out


def test_a_pipe_does_not_hide_a_failure_of_a_known_runner(project: Project) -> None:
    """Without a shell there is no pipe: `| tee` becomes arguments, and pytest refuses them."""
    assert (
        "can never fail" in project.donewhen("judge", "--gate", "pytest -q | tee log").expect(2).err
    )


def test_a_missing_tool_is_an_error_that_says_where_it_looked(project: Project) -> None:
    verdict = judged(project, "--gate", "nosuchtool --check", code=3)
    assert "nosuchtool" in verdict["gates"][0]["why"]
    assert "PATH" in verdict["gates"][0]["why"]


def test_a_gate_that_hangs_times_out_with_all_it_started(make_project: Make) -> None:
    toml = 'version = 1\n[gates.slow]\nrun = "sh: sleep 987 & trap \'\' TERM; sleep 987"\ntimeout = "1s"\n'
    slow = make_project({"donewhen.toml": toml})
    verdict = judged(slow, code=3)
    assert "timed out after 1 s" in verdict["gates"][0]["why"]
    for environ in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert b"sleep\x00987" not in environ.read_bytes()
        except OSError:
            continue


def test_a_gate_that_changes_the_tree_did_not_measure_it(make_project: Make) -> None:
    toml = 'version = 1\n[gates.fix]\nrun = "sh: echo x >> made.txt"\n'
    fixer = make_project({"donewhen.toml": toml})
    assert "made.txt" in judged(fixer, code=3)["gates"][0]["why"]
    fixer.write({"donewhen.toml": toml + 'writes = ["made.txt"]\n'})
    judged(fixer, code=0)


def test_tool_droppings_are_no_change(make_project: Make) -> None:
    toml = 'version = 1\n[gates.t]\nrun = "sh: mkdir -p __pycache__ && echo x > __pycache__/a.pyc && echo y > .coverage"\n'
    judged(make_project({"donewhen.toml": toml}), code=0)


def test_plus_adds_and_plain_replaces(project: Project) -> None:
    assert [g["name"] for g in judged(project, "--gate", "+true", code=1)["gates"]] == [
        "tests",
        "true",
    ]
    assert [g["name"] for g in judged(project, "--gate", "true", code=0)["gates"]] == ["true"]


def test_the_environment_cannot_bend_the_verdict(project: Project) -> None:
    ran = project.donewhen(
        "judge", PYTEST_ADDOPTS="-k zero", PYTHONPATH="/nowhere", NODE_OPTIONS="--x"
    )
    assert "1 failed of 2" in ran.expect(1).out


def test_without_git_it_judges_and_says_so(tmp_path: Path) -> None:
    plain = Project(tmp_path)
    plain.write({**CALC, **FIX})
    assert "no git here" in plain.donewhen("judge").expect(0).out


def test_nothing_to_judge_says_what_to_type(make_project: Make) -> None:
    ran = make_project({"README": "x"}).donewhen("judge").expect(2)
    assert 'donewhen judge --gate "CMD"' in ran.err


def test_an_unknown_ref(project: Project) -> None:
    assert "nosuch" in project.donewhen("judge", "--since", "nosuch").expect(2).err


def test_a_package_in_a_subdirectory_is_its_own_project(make_project: Make) -> None:
    inner = {f"packages/calc/{name}": text for name, text in CALC.items()}
    mono = make_project({**inner, "README": "x"})
    verdict = mono.donewhen("judge", "--json", cwd="packages/calc/src").expect(1).json()
    assert verdict["gates"][0]["findings"][0]["path"] == "packages/calc/tests/test_calc.py"


def test_secrets_of_the_environment_stay_out_of_every_file(
    project: Project, script: Callable[..., Path]
) -> None:
    secret = "hunter2-hunter2-hunter2"
    leak = {"write": FIX, "run": "echo token is $MY_API_TOKEN", "say": "ok"}
    ran = project.run(
        "leak", script(leak), "--gate", "+sh: echo $MY_API_TOKEN", MY_API_TOKEN=secret
    )
    run = ran.expect(0).json()["run"]
    assert secret not in ran.err
    home = project.root / ".git/donewhen"
    files = [p for p in home.rglob("*") if p.is_file()]
    assert len(files) > 10
    for path in files:
        assert secret.encode() not in path.read_bytes(), path
        assert path.stat().st_mode & 0o077 == 0, path
    assert run in {p.name for p in (home / "runs").iterdir()}
