"""The real Claude Code, driven by a scripted model on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from donewhen.testing.model_server import ModelServer, Step, bash, fail, text
from tests.cli.test_sight import editable  # noqa: F401  # the same fixture: a real editable project
from tests.conftest import CALC, FIX, Project

pytestmark = pytest.mark.real("claude")
Cli = Callable[[str], dict[str, str]]
GOAL = "make the tests pass"


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def driven(
    project: Project,
    cli: Cli,
    steps: Sequence[Step],
    *args: str,
    after: Step | None = None,
    env: dict[str, str] | None = None,
) -> tuple[dict[str, Any], ModelServer]:
    with ModelServer(steps, after) as server:
        ran = project.donewhen(
            "run",
            GOAL,
            "--agent",
            "claude",
            "--yes",
            "--json",
            *args,
            **{**cli(server.url), **(env or {})},
        )
    assert ran.out, ran.err
    result: dict[str, Any] = ran.json()
    assert result["exit"] == ran.code
    return result, server


def edit(files: dict[str, str]) -> Step:
    """The model writes a file of the worktree it was started in."""
    (name, content), *_ = files.items()
    return Step(tool="Write", input={"file_path": name, "content": content})


@pytest.mark.parametrize("editable", ["pip install -e", "linked .venv"], indirect=True)
def test_it_fixes_a_real_editable_project(editable: Project, claude_cli: Cli) -> None:  # noqa: F811
    result, server = driven(editable, claude_cli, [text("I am done."), edit(FIX), text("Fixed.")])
    assert (result["reason"], result["iterations"]) == ("gates-passed", 2)
    assert result["usage"]["known"]
    assert result["usage"]["tokens"] == 3 * 120
    assert result["usage"]["usd"] > 0
    second = json.dumps(server.requests[1]["messages"])
    assert "tests/test_calc.py::test_add" in second
    editable.donewhen("inbox", "accept", result["run"]).expect(0)
    assert editable.donewhen("judge").code == 0


def test_done_with_red_tests_is_not_believed(project: Project, claude_cli: Cli) -> None:
    wrong = {"src/calc/__init__.py": "def add(a, b):\n    return 0\n"}
    steps = [edit(wrong), text("All tests pass. <donewhen:done/> Done!")]
    result, _ = driven(project, claude_cli, steps, "--max-iter", "1")
    assert (result["reason"], result["exit"]) == ("max-iterations", 1)


def test_a_model_that_changes_nothing(project: Project, claude_cli: Cli) -> None:
    result, server = driven(project, claude_cli, [], after=text("It is done already."))
    assert result["reason"] == "stuck:idle"
    assert len(server.requests) == 3
    assert "Another approach" in json.dumps(server.requests[2]["messages"])


def test_it_may_run_the_gates_and_edit_but_not_push(
    make_project: Callable[..., Project], claude_cli: Cli
) -> None:
    project = make_project(CALC)
    steps = [bash("python -m pytest -q"), bash("git push origin main"), edit(FIX), text("ok")]
    result, server = driven(project, claude_cli, steps)
    assert result["reason"] == "gates-passed"
    tests, push = (json.dumps(r["messages"][-1]) for r in server.requests[1:3])
    assert "1 failed, 1 passed" in tests
    assert "1 failed" not in push


@pytest.mark.parametrize(
    ("status", "reason"),
    [(401, "auth"), (429, "limited"), (529, "overloaded")],  # tests/agents/test_claude.py has more
)
@pytest.mark.row("D2", kills="donewhen.agents.claude:Stream.finish")
def test_refusals_spend_no_iteration(
    project: Project, claude_cli: Cli, status: int, reason: str
) -> None:
    result, _ = driven(project, claude_cli, [], "--no-wait", after=fail(status))
    assert result["reason"] == f"agent-unavailable:{reason}"
    assert result["iterations"] == 0
    ended = [r["data"] for r in project.journal(result["run"]) if r["type"] == "AgentEnded"]
    assert ("To log in type `claude`" in ended[-1]["detail"]) is (reason == "auth")


def test_a_low_credit_balance(project: Project, claude_cli: Cli) -> None:
    low = fail(400, "Your credit balance is too low to access the API")
    result, _ = driven(project, claude_cli, [], after=low)
    assert result["reason"] == "agent-unavailable:credit"


def test_talk_of_limits_is_not_a_limit(project: Project, claude_cli: Cli) -> None:
    said = text("The rate limit code: usage limit reached, resets 2:30am. Invalid API key.")
    result, _ = driven(project, claude_cli, [edit(FIX), said])
    assert result["reason"] == "gates-passed"


def test_nobody_answers(project: Project, claude_cli: Cli) -> None:
    result, _ = driven(project, claude_cli, [], "--no-wait", after=Step(drop=True))
    assert result["reason"] == "agent-unavailable:overloaded"


def test_started_with_the_marks_of_a_running_session(project: Project, claude_cli: Cli) -> None:
    nested = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SSE_PORT": "1"}
    result, _ = driven(project, claude_cli, [edit(FIX), text("ok")], env=nested)
    assert result["reason"] == "gates-passed"


def test_a_prompt_of_two_hundred_kilobytes_goes_by_standard_input(
    project: Project, claude_cli: Cli
) -> None:
    (project.root / ".donewhen/prompts").mkdir(parents=True)
    (project.root / ".donewhen/prompts/anchor.md").write_text("$goal\n")
    project.commit()
    goal = project.root.parent / "goal.md"
    goal.write_text("please " + "x" * 200_000)
    with ModelServer([edit(FIX), text("ok")]) as server:
        ran = project.donewhen(
            "run", "-f", str(goal), "--agent", "claude", "--yes", "--json", **claude_cli(server.url)
        )
    assert ran.expect(0).json()["reason"] == "gates-passed"


ADDS = "def add(a, b):\n    return 0\n"


@pytest.mark.parametrize(
    ("flag", "reason", "figure"),
    [
        ("--budget-tokens=300", "budget:tokens", "tokens"),
        ("--budget-usd=0.0001", "budget:usd", "usd"),
    ],
)
def test_a_budget_ends_the_client_in_the_middle_of_its_turn(
    project: Project, claude_cli: Cli, flag: str, reason: str, figure: str
) -> None:
    """A model that would go on for ever: a hundred answers are there, a few are asked for."""
    steps = [edit({"src/calc/__init__.py": ADDS}), *[bash("git status")] * 100]
    result, server = driven(project, claude_cli, steps, flag)
    assert (result["reason"], result["exit"], result["iterations"]) == (reason, 1, 1)
    assert result["usage"][figure] >= float(flag.partition("=")[2])
    assert len(server.requests) < 50
