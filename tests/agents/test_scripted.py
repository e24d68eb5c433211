"""The scripted agent: every key of a turn, as a real process; and what is wrong with a script."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import pytest

from donewhen.agents.base import AgentSpec, End, Finished, Turn
from donewhen.agents.scripted import PLAYER, Scripted
from donewhen.errors import UsageError
from tests.agents.helpers import Played, invoke

MakeTurn = Callable[..., Turn]
DIFF = "--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-old\n+new\n"


def script(folder: Path, *turns: Mapping[str, Any], **top: Any) -> Scripted:
    file = folder / "script.json"
    file.write_text(json.dumps({"version": 1, "turns": turns, **top}), encoding="utf-8")
    agent = Scripted(AgentSpec("scripted", str(file)))
    agent.locate()
    return agent


def play(turn: Turn, *turns: Mapping[str, Any], **top: Any) -> Played:
    return invoke(script(turn.scratch, *turns, **top), turn)


def test_write_makes_folders_and_names_its_paths(turn: MakeTurn, tmp_path: Path) -> None:
    here, away = turn(), tmp_path / "away" / "b.txt"
    played = play(here, {"say": "on it", "write": {"a/é 中.txt": "x\r\n", str(away): "out"}})
    assert played.outcome.end == "worked"
    assert (here.cwd / "a/é 中.txt").read_bytes() == b"x\r\n"
    assert away.read_text() == "out"
    assert played.paths() == ["a/é 中.txt", str(away)]
    assert played.said() == "on it"
    assert played.said("tool").startswith("write a/é 中.txt")


def test_delete(turn: MakeTurn) -> None:
    here = turn()
    (here.cwd / "a").touch()
    played = play(here, {"delete": ["a"]})
    assert (played.outcome.end, played.paths(), list(here.cwd.iterdir())) == ("worked", ["a"], [])


def test_patch(turn: MakeTurn) -> None:
    here = turn()
    (here.cwd / "f.txt").write_text("old\n")
    played = play(here, {"patch": DIFF})
    assert played.outcome.end == "worked"
    assert (here.cwd / "f.txt").read_text() == "new\n"
    assert played.paths() == ["f.txt"]


@pytest.mark.parametrize(
    ("step", "says"),
    [
        ({"patch": DIFF}, "git apply: error: f.txt: No such file"),
        ({"delete": ["gone"]}, "No such file or directory: 'gone'"),
        ({"write": {"/proc/nosuch/x": ""}}, "No such file or directory"),
    ],
)
def test_what_cannot_be_done_is_said_and_ends_protocol(
    turn: MakeTurn, step: Mapping[str, Any], says: str
) -> None:
    here = turn()
    played = play(here, {**step, "run": "touch not-reached"})
    assert played.outcome.end == "protocol"
    assert says in played.outcome.detail
    assert says in played.said("error")
    assert played.ended.code == 1
    assert list(here.cwd.iterdir()) == []


def test_run_says_its_output_and_gets_the_prompt(turn: MakeTurn) -> None:
    here = turn(prompt="goal; $(touch pwned) é\n")
    played = play(here, {"run": "cat; pwd; echo bad >&2; exit 3"})
    assert played.outcome.end == "worked"  # what the command thinks of it is for the gates to say
    assert played.said() == f"goal; $(touch pwned) é\n{here.cwd}\nbad\n\n(exit 3)"
    assert played.said("tool") == "cat; pwd; echo bad >&2; exit 3"
    assert list(here.cwd.iterdir()) == []


def test_run_with_endless_output_is_bounded(turn: MakeTurn) -> None:
    played = play(turn(), {"run": "head -c 30000000 /dev/zero | tr '\\0' x; echo end"})
    assert played.said().endswith("xend\n")
    assert len(played.said()) <= 20_100
    assert played.ended.maxrss_kb < 100_000


def test_run_does_not_wait_for_what_it_leaves_behind(turn: MakeTurn) -> None:
    began = time.monotonic()
    played = play(turn(), {"run": "sleep 50 & echo started"})
    assert played.said() == "started\n"
    assert time.monotonic() - began < 20


def test_steps_are_done_in_the_order_written(turn: MakeTurn) -> None:
    here = turn()
    played = play(here, {"run": "ls", "write": {"later": ""}, "say": "after"})
    assert [e.kind for e in played.events] == ["tool", "tool", "say"]
    played = invoke(script(here.scratch, {"write": {"now": ""}, "sleep": 30}), here, timeout=1)
    assert played.outcome.end == "timeout"
    assert (here.cwd / "now").exists()


def test_the_prompt_can_be_echoed(turn: MakeTurn) -> None:
    here = turn(prompt="say <donewhen:done/> \udcff")
    assert play(here, {"say_prompt": True}).said() == "say <donewhen:done/> \ufffd"
    assert play(here, {"say_prompt": False}).said() == ""


def test_usage(turn: MakeTurn) -> None:
    usage = play(turn(), {"usage": {"usd": 0.01, "tokens": 1000}}).outcome.usage
    assert (usage.usd, usage.tokens, usage.known) == (0.01, 1000, True)
    assert not play(turn(), {}).outcome.usage.known


@pytest.mark.parametrize("end", get_args(End))
def test_every_end_is_reported_after_the_effects(turn: MakeTurn, end: str) -> None:
    here = turn()
    began = time.monotonic()
    played = play(here, {"write": {"a": ""}, "end": end})
    assert played.outcome.end == end
    assert (here.cwd / "a").exists()
    assert (played.ended.code == 0) is (end == "worked")
    assert time.monotonic() - began < 20  # a hang reports at once


@pytest.mark.parametrize(
    ("until", "least", "most"),
    [
        ("+5s", 5, 35),
        ("+0.5s", 0.5, 31),
        ("2026-01-31T12:00:00Z", None, 1769860800.0),
        ("2026-01-31T14:00:00+02:00", None, 1769860800.0),
        ("2026-01-31T12:00:00", None, 1769860800.0),
    ],
)
def test_until(turn: MakeTurn, until: str, least: float | None, most: float) -> None:
    began = time.time()
    found = play(turn(), {"end": "limited", "until": until}).outcome.until
    if least is None:
        assert found == most
    else:
        assert began + least <= found <= began + most


def test_one_turn_an_invocation_and_after_the_last(turn: MakeTurn) -> None:
    first = turn(0)
    agent = script(first.scratch, {"say": "one"}, {"say": "two"})
    assert [invoke(agent, turn_).said() for turn_ in (first, _at(first, 1), _at(first, 2))] == [
        "one", "two", "nothing left to do",
    ]  # fmt: skip
    again = script(first.scratch, {"say": "one"}, {"say": "two"}, after="repeat")
    assert invoke(again, _at(first, 7)).said() == "two"
    empty = script(first.scratch, after="repeat")
    assert invoke(empty, first).outcome.end == "worked"


def _at(turn: Turn, number: int) -> Turn:
    return Turn(turn.cwd, turn.prompt, number, turn.scratch)


def test_a_script_that_goes_away_is_a_failed_start(turn: MakeTurn) -> None:
    here = turn()
    agent = script(here.scratch, {"say": "x"})
    agent.file.unlink()
    played = invoke(agent, here)
    assert played.outcome.end == "spawn"
    assert str(agent.file) in played.outcome.detail


def test_nothing_in_the_tree_answers_for_a_module(turn: MakeTurn) -> None:
    here = turn()
    for name in ("json", "subprocess", "sitecustomize"):
        (here.cwd / f"{name}.py").write_text("raise SystemExit(9)\n")
    assert play(here, {"run": "true"}).outcome.end == "worked"


def test_an_end_that_nobody_knows_is_no_end(turn: MakeTurn) -> None:
    parser = script(turn().scratch, {}).parser(turn())
    parser.feed(b'{"type":"end","end":"splendid"}\n{"type":"end"}\n')
    assert parser.finish(Finished(0), "").end == "crashed"


def test_the_player_starts_light() -> None:
    """No stopwatch: what it imports is what it costs, once an iteration."""
    code = f"import sys; sys.path.insert(0, {str(PLAYER.parent)!r}); import player; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True)
    heavy = {"dataclasses", "datetime", "inspect", "pathlib", "subprocess", "tempfile", "typing"}
    assert not heavy & set(done.stdout.decode().split())


# -- what is wrong with a script ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "no JSON"),
        ("[" * 200_000, "no JSON"),
        ("[]", "must be a JSON object"),
        ('{"turns": []}', "version must be 1"),
        ('{"version": true, "turns": []}', "version must be 1"),
        ('{"version": 2, "turns": []}', "version must be 1"),
        ('{"version": 1}', "turns must be a list"),
        ('{"version": 1, "turns": {}}', "turns must be a list"),
        ('{"version": 1, "turn": []}', "unknown key 'turn' (did you mean turns?)"),
        (
            '{"version": 1, "turns": [], "after": "stop"}',
            "after must be idle or repeat, not 'stop'",
        ),
        ('{"version": 1, "turns": [], "after": ["idle"]}', "after must be idle or repeat"),
    ],
)
def test_a_wrong_script(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "s.json"
    file.write_text(text)
    with pytest.raises(UsageError) as caught:
        Scripted(AgentSpec("scripted", str(file))).locate()
    assert str(file) in caught.value.message
    assert says in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("turn_", "says"),
    [
        ([], "must be an object"),
        ({"wirte": {}}, "unknown key 'wirte' (did you mean write?)"),
        ({"xyzzy": 1}, "unknown key 'xyzzy'"),
        ({"say": 1}, "say must be text"),
        ({"say_prompt": "no"}, "say_prompt must be true or false"),
        ({"write": []}, 'write must be {"path": "text"}'),
        ({"write": {"a": 1}}, "write 'a' must have text"),
        ({"write": {"": "x"}}, "write needs paths, not ''"),
        ({"write": {"a\0b": "x"}}, "write needs paths"),
        ({"delete": "a"}, "delete must be a list of paths"),
        ({"delete": [1]}, "delete needs paths, not 1"),
        ({"patch": []}, "patch must be text"),
        ({"run": ["ls"]}, "run must be text"),
        ({"run": "a\0b"}, "run holds a NUL byte"),
        ({"sleep": -1}, "sleep must be a number, 0 or more"),
        ({"sleep": True}, "sleep must be a number"),
        ({"sleep": float("inf")}, "sleep must be a number"),
        ({"usage": 3}, "usage must be"),
        ({"usage": {"dollars": 1}}, "usage unknown key 'dollars'"),
        ({"usage": {"usd": -1}}, "usage usd must be a number"),
        ({"usage": {"tokens": 1.5}}, "usage tokens must be a whole number"),
        ({"end": "done"}, "end 'done' is none of worked, limited"),
        ({"end": ["worked"]}, "is none of worked"),
        ({"until": "soon"}, "until 'soon' is neither like +5s nor"),
        ({"until": 5}, "until 5 is neither"),
    ],
)
def test_a_wrong_turn_names_turn_and_key(tmp_path: Path, turn_: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        script(tmp_path, {}, turn_)
    assert "turn 2: " in caught.value.message
    assert says in caught.value.message


def test_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        Scripted(AgentSpec("scripted", str(tmp_path / "no.json"))).locate()
    with pytest.raises(UsageError, match="names no script"):
        Scripted(AgentSpec("scripted"))
