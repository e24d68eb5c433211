"""Any program as an agent: prompt on standard input, its exit code, nothing believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.agents import load, parse
from donewhen.agents.base import AgentSpec, Finished, Turn
from donewhen.agents.command import Command
from donewhen.errors import UsageError
from tests.agents.helpers import invoke

MakeTurn = Callable[..., Turn]
GOALS = [
    'it\'s "quoted" `id` $(touch pwned); rm -rf x & (a)\n- [ ] item\n---\n',
    "é 中文 \U0001f600 \u202ertl \ufeff",
    "x" * 200_000,
    "",
    "\udcff\udcfe not UTF-8",
]


def program(folder: Path, body: str) -> Path:
    path = folder / "agent.sh"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("goal", GOALS, ids=range(len(GOALS)))
def test_the_prompt_arrives_byte_for_byte(turn: MakeTurn, tmp_path: Path, goal: str) -> None:
    here = turn(prompt=goal)
    agent = load(parse(f"command:{program(tmp_path, 'cat > got; cmp got $DONEWHEN_PROMPT')}"))
    assert invoke(agent, here).outcome.end == "worked"
    assert (here.cwd / "got").read_bytes() == goal.encode("utf-8", "surrogateescape")
    assert [p.name for p in here.cwd.iterdir()] == ["got"]


def test_it_works_in_the_folder_of_the_run(
    turn: MakeTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path, 'pwd; echo "$1|$2"; printf "10%%\\r20%%\\n"')
    monkeypatch.chdir(tmp_path)
    agent = load(parse('command:./agent.sh --x "a b"'))
    monkeypatch.chdir("/")  # a run is resumed from anywhere
    here = turn()
    agent.locate()
    played = invoke(agent, here)
    assert played.said() == f"{here.cwd}\n--x|a b\n20%"
    assert agent.tool_events is False


@pytest.mark.parametrize(
    ("body", "end", "detail"),
    [
        ("exit 0", "worked", ""),
        ("echo usage limit reached; echo 401; exit 0", "worked", ""),
        ("echo what >&2; exit 1", "crashed", "what"),
        ("exit 7", "crashed", "exit 7"),
        ("kill -9 $$", "crashed", "exit -9"),
        ("exec /no/such/program", "spawn", "not found"),
        ("exit 126", "spawn", "exit 126"),
    ],
)
def test_the_exit_code_says_how_it_ended(
    turn: MakeTurn, tmp_path: Path, body: str, end: str, detail: str
) -> None:
    outcome = invoke(Command(AgentSpec("command", str(program(tmp_path, body)))), turn()).outcome
    assert outcome.end == end
    assert detail in outcome.detail
    assert not outcome.usage.known


def test_what_cannot_start_is_spawn(turn: MakeTurn, tmp_path: Path) -> None:
    path = program(tmp_path, "")
    agent = Command(AgentSpec("command", str(path)))
    path.write_text("#!/no/such/interpreter\n")
    assert invoke(agent, turn()).outcome.end == "spawn"
    path.unlink()
    assert invoke(agent, turn()).outcome.end == "spawn"


def test_a_time_out(turn: MakeTurn, tmp_path: Path) -> None:
    agent = Command(AgentSpec("command", str(program(tmp_path, "exec sleep 60"))))
    assert invoke(agent, turn(), timeout=0.5).outcome.end == "timeout"
    assert agent.parser(turn()).finish(Finished(-15, silent=True), "").end == "hang"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no command"),
        ("  ", "there is no command"),
        ("''", "there is no command"),
        ("a 'b", "No closing quotation"),
        ("./nosuch.sh", "is not there or not executable"),
        ("nosuch-program", "is not there or not executable"),
    ],
)
def test_a_command_that_is_none(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        load(parse(f"command:{text}")).locate()
    assert 'command:"./agent.sh"' in caught.value.hint


def test_not_executable(tmp_path: Path) -> None:
    path = program(tmp_path, "")
    path.chmod(0o644)
    with pytest.raises(UsageError, match="not executable"):
        Command(AgentSpec("command", str(path))).locate()


def test_all_is_shown_but_of_a_flood_a_sample() -> None:
    """Whole lines, in order, and what is not shown is counted."""
    parser = load(AgentSpec("command", "true")).parser(Turn(Path(), Path(), 0, Path()))
    pieces = [b"".join(b"%d-%d\n" % (n, k) for k in range(4000)) + b"begun" for n in range(5)]
    shown = [event.text for piece in pieces for event in parser.feed(piece)]
    assert shown[:4000] == [f"0-{k}" for k in range(4000)]
    assert shown[4000] == "begun1-0", "a line may come in two pieces"
    notes = [text for text in shown if "not shown" in text]
    left_out = [int(text.split()[1]) for text in notes]
    assert left_out == [2000, 3995, 3995]
    assert len(shown) - len(notes) + sum(left_out) == 20_000
    assert shown[-1] == "4-3999"
