"""The claude adapter: what it starts, and the real client doing it against a scripted model."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.agents.base import AgentSpec, Turn
from donewhen.agents.claude import KEYS, NESTING, Claude
from donewhen.core.events import Usage
from donewhen.errors import UsageError
from donewhen.testing.model_server import (
    ModelServer,
    Step,
    bash,
    edit,
    fail,
    read_file,
    text,
    write,
)
from tests.agents.helpers import Played, invoke
from tests.clients import client_env
from tests.fixtures_agents import Serve

MakeTurn = Callable[..., Turn]
Drive = Callable[..., Played]
real = pytest.mark.real("claude")


def spec(**more: Any) -> AgentSpec:
    return AgentSpec("claude", **{"gate_commands": ("pytest -q", "sh: a && b"), **more})


# -- what it starts ----------------------------------------------------------------------------------


def test_the_command_line(turn: MakeTurn) -> None:
    here = turn()
    launch = Claude(spec(model="sonnet")).launch(here)
    assert launch.argv == (
        "claude", "-p", "--output-format", "stream-json", "--verbose", "--model", "sonnet",
        "--permission-mode", "acceptEdits", "--allowedTools", "Bash(pytest -q:*)",
        "Bash(git status:*)", "Bash(git diff:*)", "Bash(git log:*)", "Bash(git show:*)",
    )  # fmt: skip
    assert launch.stdin == here.prompt
    assert launch.env == {}


def test_full_access_and_root(turn: MakeTurn) -> None:
    launch = Claude(spec(permissions="full")).launch(turn())
    assert launch.argv[-1] == "--dangerously-skip-permissions"
    assert launch.env == ({"IS_SANDBOX": "1"} if os.geteuid() == 0 else {})


def test_marks_of_a_session_go_and_settings_of_a_person_stay(
    turn: MakeTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = ("CLAUDE_CODE_SESSION_NEW_THING", "CLAUDE_CODE_CHILD_X", "CLAUDE_BG_SOURCE")
    person = (
        "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
        "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", *KEYS,
    )  # fmt: skip
    for name in (*session, *person):
        monkeypatch.setenv(name, "1")
    unset = Claude(spec()).launch(turn()).unset
    assert {*session, *NESTING} <= set(unset)
    assert not set(person) & set(unset)
    assert set(KEYS) <= set(Claude(spec(auth="subscription")).launch(turn()).unset)


def test_a_session_is_resumed_by_its_id(turn: MakeTurn) -> None:
    argv = Claude(spec()).launch(turn(session="abc-1")).argv
    assert argv[argv.index("--resume") + 1] == "abc-1"


def test_a_client_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="claude is not on PATH") as caught:
        Claude(spec()).locate()
    assert "npm install -g @anthropic-ai/claude-code" in caught.value.hint


# -- the real client ---------------------------------------------------------------------------------


@pytest.fixture
def drive(claude_cli: Path, turn: MakeTurn, tmp_path: Path) -> Drive:
    """drive(server, prompt=..., agent=..., **env) -> one invocation of the real client."""
    home = tmp_path / "home"
    home.mkdir()

    def go(
        server: ModelServer,
        prompt: str = "make it green",
        agent: Claude | None = None,
        here: Turn | None = None,
        timeout: float = 60.0,
        drop: tuple[str, ...] = (),
        **env: str,
    ) -> Played:
        whole = {**client_env(home, server.url, claude_cli), **env}
        for name in drop:
            del whole[name]
        place = here or turn(prompt=prompt)
        return invoke(agent or Claude(spec()), place, whole, timeout)

    return go


@real
def test_it_writes_a_file(drive: Drive, turn: MakeTurn, model_server: Serve) -> None:
    here = turn(prompt="fix it; `touch pwned` é")
    server = model_server(Step(text="On it.", tool="Write", input={"file_path": "a.py", "content": "x = 1\n"}), text("Done."))  # fmt: skip
    played = drive(server, here=here)
    assert played.outcome.end == "worked"
    assert (here.cwd / "a.py").read_text() == "x = 1\n"
    assert [(e.kind, e.text) for e in played.events if e.kind != "usage"] == [
        ("say", "On it."), ("tool", "Write a.py"), ("say", "Done."),
    ]  # fmt: skip
    usage = played.outcome.usage
    assert usage == Usage(usage.usd, 240, True)
    assert usage.usd == pytest.approx(0.0016)
    assert "fix it; `touch pwned` é" in json.dumps(server.requests[0], ensure_ascii=False)
    assert [p.name for p in here.cwd.iterdir()] == ["a.py"]


@real
def test_edit_allows_edits_gates_and_read_only_git(
    drive: Drive, turn: MakeTurn, model_server: Serve
) -> None:
    here = turn()
    (here.cwd / "a.py").write_text("x = 1\n")
    server = model_server(
        read_file("a.py"),
        edit("a.py", "x = 1", "x = 2"),
        bash('python3 -c "print(6 * 7)"'),
        bash("git status"),
        bash("git push"),
        bash("curl http://127.0.0.1:9/"),
    )
    played = drive(
        server, here=here, agent=Claude(spec(gate_commands=('python3 -c "print(6 * 7)"',)))
    )
    assert played.outcome.end == "worked"
    assert (here.cwd / "a.py").read_text() == "x = 2\n"
    answers = [json.dumps(r["messages"][-3:]) for r in server.requests[3:]]  # reminders may follow
    assert "42" in answers[0]
    assert "not a git repository" in answers[1]
    for answer in answers[2:]:
        assert "approv" in answer or "permission" in answer


@real
def test_full_access_runs_anything(drive: Drive, turn: MakeTurn, model_server: Serve) -> None:
    here = turn()
    played = drive(
        model_server(bash("echo 1 > made")), here=here, agent=Claude(spec(permissions="full"))
    )
    assert played.outcome.end == "worked"
    assert (here.cwd / "made").read_text() == "1\n"


LIMITED = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": "1900000000",
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}


@real
@pytest.mark.parametrize(
    ("answer", "end", "detail"),
    [
        (fail(401), "auth", "401"),
        (fail(403), "auth", "403"),
        (fail(402), "credit", "402"),
        (fail(400, "Your credit balance is too low to access the Anthropic API."), "credit", "too low"),
        (fail(400, "prompt is too long: 9 tokens > 8 maximum"), "crashed", "too long"),
        (fail(404, "model: x"), "protocol", "model"),
        (fail(429), "limited", "429"),
        (fail(500), "overloaded", "500"),
        (fail(529), "overloaded", "529"),
        (Step(raw="<html>"), "overloaded", ""),
        (Step(drop=True), "overloaded", "ECONNRESET"),
        (Step(text="x", cut=True), "overloaded", ""),
        (text("I will not.", stop="refusal"), "refused", "flagged"),
        (text("and so on", stop="max_tokens"), "crashed", "output token maximum"),
    ],
)  # fmt: skip
def test_how_a_run_fails(
    drive: Drive, model_server: Serve, answer: Step, end: str, detail: str
) -> None:
    outcome = drive(model_server(after=answer)).outcome
    assert (outcome.end, outcome.until) == (end, 0.0), outcome
    assert detail in outcome.detail


@real
def test_a_failure_after_work_is_still_told(
    drive: Drive, turn: MakeTurn, model_server: Serve
) -> None:
    here = turn()
    outcome = drive(model_server(write("a", "x"), after=fail(429)), here=here).outcome
    assert outcome.end == "limited"
    assert outcome.usage.tokens == 120
    assert (here.cwd / "a").exists()


@real
def test_the_limit_of_a_subscription_says_until_when(drive: Drive, model_server: Serve) -> None:
    server = model_server(after=fail(429, "This would exceed your limit", headers=LIMITED))
    outcome = drive(
        server, drop=("ANTHROPIC_API_KEY",), CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-x"
    ).outcome
    assert (outcome.end, outcome.until) == ("limited", 1_900_000_000)


@real
def test_nobody_is_there(drive: Drive, model_server: Serve) -> None:
    outcome = drive(model_server(), ANTHROPIC_BASE_URL="http://127.0.0.1:9").outcome
    assert outcome.end == "overloaded"
    assert "ECONNREFUSED" in outcome.detail


@real
def test_nobody_is_logged_in(drive: Drive, model_server: Serve) -> None:
    outcome = drive(model_server(), agent=Claude(spec(auth="subscription"))).outcome
    assert outcome.end == "auth"
    assert "Not logged in" in outcome.detail


@real
def test_a_stream_cut_once_is_the_clients_business(drive: Drive, model_server: Serve) -> None:
    assert drive(model_server(Step(text="half", cut=True), text("whole"))).outcome.end == "worked"


@real
def test_a_prompt_of_two_hundred_kilobytes(drive: Drive, model_server: Serve) -> None:
    prompt = "please " + "é" * 100_000 + " THE-END"
    server = model_server(text("read"))
    assert drive(server, prompt=prompt).outcome.end == "worked"
    assert prompt in json.dumps(server.requests[0], ensure_ascii=False)


@real
def test_started_inside_another_session(drive: Drive, model_server: Serve) -> None:
    server = model_server(bash('python3 -c "import os; print(sorted(os.environ.items()))"'))
    marks = {name: f"outer-{name.lower()}" for name in NESTING}
    played = drive(server, agent=Claude(spec(permissions="full")), **marks)
    assert played.outcome.end == "worked"
    answer = json.dumps(server.requests[1]["messages"])
    assert "DISABLE_TELEMETRY" in answer
    assert "outer-" not in answer


@real
def test_a_time_out_ends_the_client(drive: Drive, model_server: Serve) -> None:
    began = time.monotonic()
    played = drive(model_server(write("a", "x"), after=text("late", delay=30)), timeout=4)
    assert played.outcome.end == "timeout"
    assert played.outcome.usage == Usage(0.0, 101, False)  # a lower bound: there was no result
    assert time.monotonic() - began < 25


@real
def test_a_resumed_session_is_charged_what_is_new(
    drive: Drive, turn: MakeTurn, model_server: Serve
) -> None:
    server = model_server(text("one"), text("two"))
    first = drive(server, here=turn(0)).outcome
    before = Usage(first.cumulative_usd, first.cumulative_tokens, True)
    second = drive(server, here=turn(1, "go on", session=first.session, before=before)).outcome
    assert second.session == first.session
    assert second.usage.usd == pytest.approx(0.0008)
    assert second.usage.tokens == 120
    assert second.cumulative_tokens == 240
    assert "make it green" in json.dumps(server.requests[1])
