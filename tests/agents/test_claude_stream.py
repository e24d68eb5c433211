"""Claude Code's stream, on recordings of the real client: how each run ended, and what it used."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from donewhen.agents.base import End, Finished, Outcome
from donewhen.agents.claude import Stream
from donewhen.core.events import Usage
from tests.agents.helpers import DATA, recording

# Recording -> exit code it ended with, how that is read, dollars, tokens, a word of the detail.
RECORDED: dict[str, tuple[int, End, float, int, str]] = {
    "agents": (0, "worked", 0.00124, 600, ""),
    "budget": (1, "worked", 1.0, 210_000, "Reached maximum budget"),
    "cap_ctx": (0, "worked", 0.0072, 1080, ""),
    "cap_tools": (0, "worked", 0.0544, 8160, ""),
    "context_window": (1, "crashed", 0.0032, 480, "context window limit"),
    "credit": (1, "credit", 0.0, 0, "Credit balance is too low"),
    "cut_twice": (1, "overloaded", 0.00042, 101, "ECONNRESET"),
    "e401": (1, "auth", 0.0, 0, "Invalid API key"),
    "e402": (1, "credit", 0.0, 0, "402"),
    "e403": (1, "auth", 0.0, 0, "Failed to authenticate"),
    "e404": (1, "protocol", 0.0, 0, "issue with the selected model"),
    "e429": (1, "limited", 0.0, 0, "slow down"),
    "e500": (1, "overloaded", 0.0, 0, "500"),
    "e503": (1, "overloaded", 0.0, 0, "503"),
    "e529": (1, "overloaded", 0.0, 0, "Overloaded"),
    "edrop": (1, "overloaded", 0.0, 0, "ECONNRESET"),
    "json": (0, "worked", 0.0008, 120, ""),
    "limit_allowed": (0, "worked", 0.0004, 120, ""),
    "limit_subscription": (1, "limited", 0.0, 0, "hit your 5-hour limit"),
    "max_tokens": (1, "crashed", 0.0032, 480, "output token maximum"),
    "maxturns": (1, "worked", 0.0008, 120, "maximum number of turns"),
    "maxturns3": (0, "worked", 0.0016, 240, ""),
    "midstream": (0, "worked", 0.00124, 222, ""),
    "no_login": (1, "auth", 0.0, 0, "Not logged in"),
    "pre_deny_json": (0, "worked", 0.0024, 360, ""),
    "prompt_too_long": (1, "crashed", 0.0, 0, "Prompt is too long"),
    "refusal": (1, "refused", 0.0016, 240, "safeguards flagged"),
    "refused": (1, "overloaded", 0.0, 0, "ECONNREFUSED"),
    "resume_resume": (0, "worked", 0.0016, 240, ""),
    "resume_resume_bad": (1, "protocol", 0.0, 0, "No conversation found"),
    "schema": (0, "worked", 0.0016, 240, ""),
    "sigint": (0, "crashed", 0.0008, 120, "ede_diagnostic"),
    "sigterm": (143, "crashed", 0.0, 101, "exit 143"),
    "stop_always": (0, "worked", 0.0072, 1080, ""),
    "stop_json": (0, "worked", 0.0024, 360, ""),
    "streamin": (0, "worked", 0.0016, 240, ""),
    "subblock": (0, "worked", 0.0032, 480, ""),
    "t1": (0, "worked", 0.00552, 893, ""),
    "text": (0, "protocol", 0.0, 0, "without a result"),
    "two_tools": (0, "worked", 0.0018, 1240, ""),
    "twostop": (0, "worked", 0.0008, 120, ""),
}  # fmt: skip
RESETS_AT = 1_800_000_000.0


def read(data: bytes, done: Finished = Finished(0), before: Usage | None = None) -> Outcome:  # noqa: B008  # a value
    stream = Stream(before)
    stream.feed(data)
    return stream.finish(done, "")


def lines(*events: Mapping[str, Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def result(**more: Any) -> dict[str, Any]:
    good = {"subtype": "success", "is_error": False, "terminal_reason": "completed"}
    return {"type": "result", **good, **more}


def error(said: str = "", **more: Any) -> dict[str, Any]:
    bad = {"is_error": True, "result": said, "terminal_reason": "api_error"}
    return result(**{**bad, "api_error_status": None, **more})


def test_every_recording_has_its_expectation() -> None:
    assert {p.name.removesuffix(".out.jsonl") for p in (DATA / "claude").iterdir()} == set(RECORDED)


@pytest.mark.parametrize("name", RECORDED)
def test_recordings(name: str) -> None:
    code, end, usd, tokens, detail = RECORDED[name]
    outcome = read(recording(name), Finished(code))
    assert outcome.end == end
    assert outcome.usage.usd == pytest.approx(usd)
    assert outcome.usage.tokens == tokens
    assert outcome.usage.known is (name not in ("sigterm", "text"))
    assert detail in outcome.detail
    assert outcome.until == (RESETS_AT if name == "limit_subscription" else 0.0)
    assert bool(outcome.session) is (name != "text")


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(RECORDED)), st.lists(st.integers(0, 80_000), max_size=30))
def test_pieces_of_any_size_read_as_the_whole(name: str, cuts: list[int]) -> None:
    data = recording(name)
    whole, pieces = Stream(), Stream()
    at = sorted({0, len(data), *(c % len(data) for c in cuts)})
    shown = [e for a, b in itertools.pairwise(at) for e in pieces.feed(data[a:b])]
    assert shown == whole.feed(data)
    assert pieces.finish(Finished(0), "") == whole.finish(Finished(0), "")


def test_byte_by_byte() -> None:
    data = recording("t1")
    whole, pieces = Stream(), Stream()
    assert [e for i in range(len(data)) for e in pieces.feed(data[i : i + 1])] == whole.feed(data)
    assert pieces.finish(Finished(0), "") == whole.finish(Finished(0), "")


def test_what_is_shown() -> None:
    shown = Stream().feed(recording("two_tools"))
    assert [(e.kind, e.text, e.paths) for e in shown if e.kind != "usage"] == [
        ("say", "Two things.", ()),
        ("tool", "Write a.txt", ("a.txt",)),
        ("tool", "Bash cat a.txt", ()),
        ("say", "both done", ()),
    ]
    used = [e.usage.tokens for e in shown if e.usage]
    assert used == sorted(set(used)), "what was used is a rising total, said when it rises"
    assert used[0] > 0
    retried = Stream().feed(recording("e529"))
    assert next((e.kind, e.text) for e in retried) == ("info", "the API says 529: try 1 of 1")


@pytest.mark.parametrize(
    ("tool", "given_", "paths"),
    [
        ("Edit", {"file_path": "/a/b.py", "old_string": "x"}, ("/a/b.py",)),
        ("MultiEdit", {"file_path": "b.py"}, ("b.py",)),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, ("n.ipynb",)),
        ("Read", {"file_path": "c.py"}, ()),
        ("Bash", {"command": "rm -rf x"}, ()),
        ("Bash", ["not", "an", "object"], ()),
    ],
)
def test_paths_of_tools(tool: str, given_: Any, paths: tuple[str, ...]) -> None:
    block = {"type": "tool_use", "name": tool, "input": given_}
    (event,) = Stream().feed(lines({"type": "assistant", "message": {"content": [block]}}))
    assert (event.kind, event.paths) == ("tool", paths)


# -- how it ended ------------------------------------------------------------------------------------

SAID = {"type": "assistant", "message": {"content": [{"type": "text", "text": "usage limit 401"}]}}
KILLED = Finished(-9)
LATE = Finished(-15, timed_out=True)
QUIET = Finished(-15, silent=True)


@pytest.mark.parametrize(
    ("events", "done", "end"),
    [
        # The last result decides, whatever came before it and whatever its subtype.
        ([error(api_error_status=401), result()], Finished(0), "worked"),
        ([result(), error(api_error_status=401)], Finished(1), "auth"),
        ([result(subtype="error_during_execution")], Finished(0), "worked"),
        # A good result stands although the process had to be ended, or cannot end in good order.
        ([result()], KILLED, "worked"),
        ([result()], LATE, "worked"),
        ([result()], QUIET, "worked"),
        ([result()], Finished(3), "crashed"),
        # ... unless it was at work again when it was ended.
        ([result(), SAID], LATE, "timeout"),
        ([result(), SAID], QUIET, "hang"),
        ([result(), SAID], KILLED, "crashed"),
        ([result(), SAID], Finished(0), "worked"),
        # Without a result.
        ([SAID], Finished(0), "protocol"),
        ([SAID], Finished(1), "protocol"),
        ([SAID], KILLED, "crashed"),
        ([SAID], Finished(143), "crashed"),
        ([SAID], LATE, "timeout"),
        ([SAID], QUIET, "hang"),
        # An error that was said stays what it is when the process then hangs.
        ([error(api_error_status=429)], LATE, "limited"),
        ([error(subtype="error_during_execution", num_turns=2)], LATE, "timeout"),
        ([error(subtype="error_during_execution", num_turns=2)], QUIET, "hang"),
        ([error(subtype="error_during_execution", num_turns=2)], Finished(0), "crashed"),
        ([error(subtype="error_during_execution", num_turns=0)], Finished(1), "protocol"),
        ([error(subtype="error_max_turns")], Finished(1), "worked"),
        ([error(subtype="error_max_structured_output_retries", terminal_reason="x")], Finished(1), "protocol"),
    ],
)  # fmt: skip
def test_how_it_ended(events: list[Mapping[str, Any]], done: Finished, end: str) -> None:
    assert read(lines(*events), done).end == end


@pytest.mark.parametrize(
    ("failed", "end"),
    [
        (error("Credit balance is too low", subtype="success"), "credit"),
        (error("You've hit your monthly spend limit", api_error_status=429), "credit"),
        (error("Invalid API key · Please run /login"), "auth"),
        (error("OAuth token has expired"), "auth"),
        (error("You've hit your session limit · resets 2:30am (Europe/Berlin)"), "limited"),
        (error("Claude AI usage limit reached|1790000000"), "limited"),
        (error("overloaded_error", terminal_reason=None), "overloaded"),
        (error(api_error_status=502), "overloaded"),
        (error(api_error_status=408), "overloaded"),
        (error(api_error_status=400, result="tools.0: bad"), "protocol"),
        (error(api_error_status="401"), "overloaded"),  # no number, no status
        (error("", errors=["credit balance is too low"], result=None), "credit"),
        (error("", stop_reason="refusal"), "refused"),
        (error("something new", terminal_reason="a_new_reason"), "protocol"),
    ],
)
@pytest.mark.parametrize("code", [0, 1])
def test_errors_whatever_the_exit_code(failed: Mapping[str, Any], end: str, code: int) -> None:
    assert read(lines(failed), Finished(code)).end == end


def test_talk_is_never_an_error() -> None:
    talk = (
        "hit your session limit; Invalid API key; credit balance is too low; overloaded_error 529"
    )
    events: list[dict[str, Any]] = [
        {"type": "assistant", "message": {"content": [{"type": "text", "text": talk}]}},
        {"type": "user", "message": {"content": [{"type": "tool_result", "content": talk}]}},
        {"type": "system", "subtype": "informational", "content": talk},
        result(result=talk),
    ]
    assert read(lines(*events)).end == "worked"
    assert read(lines(*events[:3]), Finished(124)).end == "protocol"


def limits(status: str, at: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": at}}


@pytest.mark.parametrize(
    ("events", "until"),
    [
        ([limits("rejected", 1790000000)], 1790000000),
        ([limits("allowed_warning", 1790000000)], 0),
        ([limits("rejected", 1790000000), limits("allowed", 1790000001)], 0),
        ([limits("rejected", "soon")], 0),
        ([], 0),
    ],
)
def test_until_comes_from_the_structured_event(events: list[Any], until: float) -> None:
    assert read(lines(*events, error(api_error_status=429)), Finished(1)).until == until
    assert read(lines(*events, error(api_error_status=401)), Finished(1)).until == 0
    assert read(lines(*events, result())).until == 0


def test_until_of_older_clients() -> None:
    assert read(lines(error("usage limit reached|1790000000")), Finished(1)).until == 1790000000


# -- what it used ------------------------------------------------------------------------------------


def test_two_results_are_one_meter() -> None:
    outcome = read(recording("streamin"))
    assert outcome.usage.usd == pytest.approx(0.0016)
    assert outcome.usage.tokens == 240
    assert (outcome.cumulative_usd, outcome.cumulative_tokens) == (outcome.usage.usd, 240)


def test_a_resumed_session_is_charged_what_is_new() -> None:
    outcome = read(recording("resume_resume"), before=Usage(0.0008, 120, True))
    assert outcome.usage.usd == pytest.approx(0.0008)
    assert outcome.usage.tokens == 120
    assert (outcome.cumulative_usd, outcome.cumulative_tokens) == (0.0016, 240)


def test_a_meter_that_says_less_than_before_never_pays_back() -> None:
    before = Usage(0.5, 1000, True)
    for name in ("resume_resume_bad", "e401", "sigterm"):
        outcome = read(recording(name), Finished(1), before)
        assert outcome.usage.usd == 0
        assert outcome.cumulative_usd == 0.5
        assert outcome.cumulative_tokens == 1000 + outcome.usage.tokens


def test_usage_of_results_counts_where_models_are_not_listed() -> None:
    used = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 100}
    outcome = read(lines(result(usage=used), result(usage=used)))
    assert outcome.usage == Usage(0.0, 230, True)


def test_the_session_is_a_word_that_can_go_into_an_argument() -> None:
    for name, kept in (("a-1", "a-1"), ("-x", ""), ("a b", ""), (["a"], ""), ("a" * 101, "")):
        assert read(lines(result(session_id=name))).session == kept


def test_stderr_is_the_detail_where_there_is_no_result() -> None:
    stream = Stream()
    assert stream.finish(Finished(1), "error: unknown option '--nope'\n").detail == (
        "error: unknown option '--nope'"
    )
