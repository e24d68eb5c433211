"""`donewhen run` on a project with real tests: which of them fail, and how, decides how it goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_run import GOAL, broken, ends
from tests.conftest import CALC, FIX, Project

Script = Callable[..., Path]
# The same project with unittest, which starts four times as fast.
CASES = {
    "src/calc/__init__.py": CALC["src/calc/__init__.py"],
    "tests/__init__.py": "import sys\n\nsys.path.insert(0, 'src')\n",
    "tests/test_calc.py": "import unittest\n\nfrom calc import add\n\n\nclass Test(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n\n"
    "    def test_zero(self):\n        self.assertEqual(add(0, 0), 0)\n",
    "donewhen.toml": "version = 1\n[gates.tests]\nrun = 'python -m unittest'\n",
    ".gitignore": CALC[".gitignore"],
}


@pytest.fixture
def cases(make_project: Callable[..., Project]) -> Project:
    return make_project(CASES)


@pytest.mark.row("D16", kills="donewhen.core.reasons:exit_code")
def test_a_red_project_becomes_green_and_the_result_is_accepted(
    project: Project, script: Script
) -> None:
    head = project.git("rev-parse", "HEAD")
    result = ends(project, script({"write": FIX}), "gates-passed", 0)
    assert result["proof"] == "goal"
    assert project.git("rev-parse", "HEAD") == head, "the user's branch moved before accept"
    assert "a - b" in project.read("src/calc/__init__.py")
    project.donewhen("inbox", "accept", result["run"]).expect(0)
    assert "a + b" in project.read("src/calc/__init__.py")
    assert project.git("rev-parse", "HEAD^{tree}") == result["tree"]
    assert project.git("status", "--porcelain") == ""
    assert project.git("worktree", "list").count("\n") == 0
    assert "donewhen/" not in project.git("branch")


@pytest.mark.row("R1", kills="donewhen.core.feedback:feedback")
def test_what_was_red_is_told_to_the_next_turn(project: Project, script: Script) -> None:
    result = ends(project, script({"say": "done"}, {"write": FIX}), "gates-passed", 0)
    prompt = project.root / f".git/donewhen/runs/{result['run']}/iterations/2/prompt.md"
    text = prompt.read_text()
    assert GOAL in text
    assert "tests/test_calc.py::test_add" in text
    assert "python -m pytest -q" in text
    assert "iteration 1: 1 failing tests" in text


def test_going_in_a_circle(cases: Project, script: Script) -> None:
    one = {"write": {"src/calc/__init__.py": "def add(a, b):\n    return a - b\n"}}
    two = {"write": {"src/calc/__init__.py": "def add(a, b):\n    raise ValueError\n"}}
    assert ends(cases, script(one, two, one, two), "stuck:cycle", 1)["iterations"] == 3


def test_no_new_best(cases: Project, script: Script) -> None:
    kinds = ("ValueError", "TypeError", "KeyError", "OSError")
    turns = [
        {
            "write": {
                "src/calc/__init__.py": f"def add(a, b):\n    if a: raise {kind}\n    return 0\n"
            }
        }
        for kind in kinds
    ]
    assert ends(cases, script(*turns), "stuck:stagnation", 1)["iterations"] == 3


def test_fixed_and_back_three_times(make_project: Callable[..., Project], script: Script) -> None:
    """One finding comes and goes while others change all the time and the total gets better."""
    names = [f"t{n}" for n in range(14)]
    tests = "import unittest\n\n\nclass Test(unittest.TestCase):\n" + "".join(
        f"    def test_{n}(self):\n        self.assertNotIn('{n};', open('red').read())\n"
        for n in names
    )
    everything = "".join(f"{n};" for n in names)
    many = make_project({**CASES, "tests/test_calc.py": tests, "red": everything})
    left, turns = names[1:], []
    for number in range(7):
        left = left[2:] if number % 2 else left[1:]
        red = left if number % 2 == 0 else [*left, "t0"]
        turns.append({"write": {"red": "".join(f"{n};" for n in red)}})
    result = many.run(GOAL, script(*turns)).expect(1).json()
    assert result["reason"] == "stuck:thrash", result


def test_a_weakened_test_is_not_done(project: Project, script: Script) -> None:
    weak = CALC["tests/test_calc.py"].replace("assert add(2, 3) == 5", "assert add(2, 3)")
    result = ends(
        project, script({"write": {"tests/test_calc.py": weak}}), "needs-human:test-change", 4
    )
    item = project.donewhen("inbox", "show", result["run"], "--json").json()
    assert item["verdict"]["integrity"][0]["path"] == "tests/test_calc.py"


def test_honest_new_tests_are_no_offence(project: Project, script: Script) -> None:
    more = CALC["tests/test_calc.py"] + "\n\ndef test_more():\n    assert add(1, 1) == 2\n"
    turn = {
        "write": {
            **FIX,
            "tests/test_calc.py": more,
            "tests/test_new.py": "def test_it():\n    pass\n",
        }
    }
    ends(project, script(turn), "gates-passed", 0)


def test_tests_that_pass_by_an_ignored_file_fail_in_the_clean_room(
    project: Project, script: Script
) -> None:
    project.write({".gitignore": "__pycache__/\nsecret.py\n"})
    project.commit()
    hack = {
        "write": {
            "src/calc/__init__.py": "from secret import add\n",
            "src/secret.py": "def add(a, b):\n    return a + b\n",
        }
    }
    result = project.run(GOAL, script(hack), "--max-iter", "1").expect(1)
    assert result.json()["reason"] == "max-iterations"
    assert "deciding verdict (clean room): fail" in result.err


LINKED = 'version = 1\n[workspace]\nlink = ["node_modules"]\ncopy = [".env"]\nsetup = ["touch made-by-setup"]\n'


def linked(project: Project) -> Project:
    """A project with an ignored folder to share, an ignored file to copy, and a set-up command."""
    project.write(
        {
            "donewhen.toml": LINKED,
            ".gitignore": "__pycache__/\nnode_modules/\n.env\nmade-by-setup\n",
            "node_modules/lib.js": "1\n",
            ".env": "PORT=1\n",
            "tests/test_env.py": "import os\n\n\ndef test_env():\n    assert open('.env').read() == 'PORT=1\\n'\n"
            "    assert os.path.exists('node_modules/lib.js')\n    assert os.path.exists('made-by-setup')\n",
        }
    )
    project.commit()
    return project


def test_setup_copy_and_link_reach_worktree_and_clean_room_but_not_the_result(
    project: Project, script: Script
) -> None:
    (linked(project).root / "made-by-setup").touch()
    result = ends(project, script({"write": FIX}), "gates-passed", 0)
    assert (project.worktree(result["run"]) / "node_modules").is_symlink()
    project.donewhen("inbox", "accept", result["run"]).expect(0)
    changed = project.git("diff-tree", "-r", "--name-only", "--no-commit-id", "HEAD").splitlines()
    assert changed == ["src/calc/__init__.py"]


def test_a_change_through_a_link_is_found(project: Project, script: Script) -> None:
    (linked(project).root / "made-by-setup").touch()
    turn = {"write": FIX, "run": "echo evil >> node_modules/lib.js"}
    result = ends(project, script(turn), "integrity", 1, "--max-iter", "1")
    why = project.donewhen("why", result["run"]).expect(0).out
    assert "node_modules" in why


def test_a_gate_that_only_errs_in_the_end(project: Project, script: Script) -> None:
    hang = {"write": {"src/calc/__init__.py": "import os\nos._exit(0)\n"}}
    ends(project, script(hang), "gate-error:tests", 3, "--max-iter", "1")


def test_a_resumed_run_tells_the_agent_what_fails(cases: Project, script: Script) -> None:
    turns = script(broken(1), broken(2), {"write": FIX})
    run = cases.run(GOAL, turns, "--max-iter", "1").expect(1).json()["run"]
    cases.donewhen("resume", run, "--max-iter", "3").expect(0)
    prompt = (cases.root / f".git/donewhen/runs/{run}/iterations/2/prompt.md").read_text()
    assert "tests.test_calc.Test::test_add" in prompt


def test_the_branch_ends_at_the_best_judged_state(cases: Project, script: Script) -> None:
    cases.write(
        {"tests/test_more.py": CASES["tests/test_calc.py"].replace("add(2, 3), 5", "add(1, 1), 3")}
    )
    cases.commit()
    better = {"write": FIX}
    worse = {"write": {"src/calc/__init__.py": "def add(a, b):\n    raise ValueError\n"}}
    result = cases.run(GOAL, script(better, worse), "--max-iter", "2").expect(1).json()
    assert result["reason"] == "max-iterations"
    assert "a + b" in cases.git("show", f"{result['branch']}:src/calc/__init__.py")
    pins = cases.git("for-each-ref", "--format=%(refname)", f"refs/donewhen/{result['run']}")
    assert pins.split()[-1].endswith("/base")
    assert {p.rsplit("/", 1)[1] for p in pins.split()} == {"1", "2", "base"}
    (verdict,) = cases.donewhen("inbox", "show", result["run"], "--json").json()["verdict"]["gates"]
    assert verdict["counts"]["failed"] == 1
