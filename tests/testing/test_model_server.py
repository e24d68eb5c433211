"""The scripted model: what a client gets for each kind of step, routes, its log, and from a shell."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen.testing.model_server import (
    ModelServer,
    Route,
    Step,
    bash,
    edit,
    fail,
    read,
    read_file,
    text,
    write,
)


def ask(server: ModelServer, said: Any = "hi", path: str = "/v1/messages?beta=true", **more: Any) -> tuple[int, bytes]:  # fmt: skip
    body = {"model": "m", "messages": [{"role": "user", "content": said}], "stream": True, **more}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("POST", path, json.dumps(body), {"X-Api-Key": "k"})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def stream(data: bytes) -> list[dict[str, Any]]:
    """The events; checks that each is named by its type."""
    found = []
    for part in data.decode().split("\n\n")[:-1]:
        name, _, payload = part.partition("\n")
        event = json.loads(payload.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def test_text_and_tools_of_one_answer() -> None:
    step = Step(text="Two.", tool="Write", input={"a": 1}, tools=(("Bash", {"command": "ls"}),), tokens=(7, 3), cached=5)  # fmt: skip
    with ModelServer([step]) as server:
        events = stream(ask(server)[1])
    blocks = [e["content_block"] for e in events if e["type"] == "content_block_start"]
    assert [b.get("name", b["type"]) for b in blocks] == ["text", "Write", "Bash"]
    inputs = [e["delta"]["partial_json"] for e in events if "partial_json" in e.get("delta", {})]
    assert [json.loads(i) for i in inputs] == [{"a": 1}, {"command": "ls"}]
    assert len({b["id"] for b in blocks[1:]}) == 2
    assert events[0]["message"]["usage"]["input_tokens"] == 7
    assert events[0]["message"]["usage"]["cache_read_input_tokens"] == 5
    assert events[-2]["usage"] == {"output_tokens": 3}
    assert events[-2]["delta"]["stop_reason"] == "tool_use"
    assert events[-1] == {"type": "message_stop"}


def test_an_answer_without_a_stream() -> None:
    with ModelServer([text("hello", stop="refusal")]) as server:
        answer = json.loads(ask(server, stream=False)[1])
    assert answer["content"] == [{"type": "text", "text": "hello"}]
    assert (answer["stop_reason"], answer["usage"]["output_tokens"]) == ("refusal", 20)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (401, "authentication_error"),
        (402, "billing_error"),
        (403, "permission_error"),
        (404, "not_found_error"),
        (413, "request_too_large"),
        (429, "rate_limit_error"),
        (500, "api_error"),
        (503, "api_error"),
        (529, "overloaded_error"),
    ],
)
def test_errors_in_the_shape_of_the_api(status: int, kind: str) -> None:
    with ModelServer(after=fail(status, "because")) as server:
        found, data = ask(server)
    answer = json.loads(data)
    assert found == status
    assert answer["error"] == {"type": kind, "message": "because"}
    assert answer["type"] == "error"
    assert answer["request_id"].startswith("req_")


def test_a_raw_body_and_headers() -> None:
    with ModelServer([fail(429, raw="<html>", headers={"Retry-After": "7"})]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        connection.request("POST", "/v1/messages", "{}")
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (429, "7")
        assert answer.read() == b"<html>"
        connection.close()


def test_drops_and_cuts() -> None:
    with ModelServer([Step(drop=True), Step(text="abc", cut=True), Step(cut=True)]) as server:
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(server)
        events = stream(ask(server)[1])
        assert [e["type"] for e in events][-1] == "content_block_delta"
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(server, stream=False)


def test_steps_in_order_by_what_was_said_and_after_the_last() -> None:
    steps = [text("later", when="RED"), text("first"), text("second")]
    with ModelServer(steps, after=text("over")) as server:
        said = [_said(server, what) for what in ("a", "it is RED", "b", "c", "RED")]
    assert said == ["first", "later", "second", "over", "over"]


def test_routes_by_the_prompt_each_with_a_script_of_its_own() -> None:
    routes = [
        Route("^plan", (text("p1"), text("p2"))),
        Route("build", (text("b1"),), after=text("b-over")),
    ]
    with ModelServer([text("other")], after=text("over"), routes=routes) as server:
        prompts = ("plan it", "build it", "hello", "build it", "plan it", "plan it", "hello")
        assert [_said(server, p) for p in prompts] == [
            "p1", "b1", "other", "b-over", "p2", "over", "over",
        ]  # fmt: skip
        blocks = [{"type": "text", "text": "build"}, {"type": "text", "text": "more"}]
        assert _said(server, blocks) == "b-over"


def _said(server: ModelServer, said: Any) -> str:
    events = stream(ask(server, said)[1])
    return "".join(e["delta"]["text"] for e in events if e["type"] == "content_block_delta")


def test_what_clients_ask_beside_the_model() -> None:
    with ModelServer() as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for method, path, status in (
            ("HEAD", "/", 200),
            ("GET", "/v1/models?limit=1", 200),
            ("GET", "/nosuch", 404),
            ("POST", "/v1/responses", 404),
            ("POST", "/v1/messages/count_tokens?beta=true", 200),
        ):
            connection.request(method, path, "{}" if method == "POST" else None)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == status, path
        connection.close()
        assert server.requests == []
        assert [s.path for s in server.log][-1] == "/v1/messages/count_tokens?beta=true"


def test_the_log_keeps_what_came() -> None:
    with ModelServer() as server:
        ask(server, messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "u"}])
        ask(server, "é")
    assert [m["role"] for m in server.requests[0]["messages"]] == ["system", "user"]
    assert server.log[1].body["messages"][0]["content"] == "é"
    assert (server.log[1].method, server.log[1].headers["X-Api-Key"]) == ("POST", "k")


def test_a_client_that_hangs_holds_up_nothing() -> None:
    with ModelServer([text("slow", delay=60)]) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=0.2)
        connection.request("POST", "/v1/messages", "{}")
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()


def test_helpers_are_steps() -> None:
    tools = [write("a", "b"), edit("a", "b", "c"), read_file("a"), bash("ls")]
    assert [s.tool for s in tools] == ["Write", "Edit", "Read", "Bash"]


# -- from JSON and from a shell ----------------------------------------------------------------------


def test_a_script_in_json() -> None:
    script = read(
        {
            "steps": [{"tools": [["Bash", {"command": "ls"}]]}, {"text": "b", "tokens": [1, 2]}],
            "after": {"status": 529},
            "routes": [{"when": "x", "steps": [{"text": "r"}]}],
        }
    )
    assert script.take("a", "").calls == (("Bash", {"command": "ls"}),)
    assert script.take("x", "").text == "r"
    assert script.take("a", "").tokens == (1, 2)
    assert script.take("a", "").status == script.take("x", "").status == 529
    assert read([{"text": "a"}]).take("", "").text == "a"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (3, "a script is a list of steps"),
        ({"step": []}, "script: unknown key 'step' (did you mean steps?)"),
        ([{"txt": "a"}], "step 1: unknown key 'txt' (did you mean text?)"),
        (["a"], "step 1 must be an object"),
        ({"routes": [{"steps": []}]}, "route 1: when must be a regular expression"),
        ({"routes": [{"when": "a", "steps": [{}, {"x": 1}]}]}, "route 1 step 2: unknown key 'x'"),
        ({"after": {"statsu": 1}}, "after: unknown key 'statsu' (did you mean status?)"),
    ],
)
def test_a_wrong_script_names_the_place(value: Any, says: str) -> None:
    with pytest.raises(ValueError) as caught:  # the message is asserted below
        read(value)
    assert says in str(caught.value)


def test_from_a_shell(tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text('[{"text": "from a file"}]')
    command = [sys.executable, "-m", "donewhen.testing.model_server", str(file)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/v1/messages", '{"messages": []}')
        assert b"from a file" in connection.getresponse().read()
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("args", [[], ["--help"], ["/no/such.json"], ["broken.json"]])
def test_from_a_shell_wrongly(args: list[str], tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text('[{"txt": ""}]')
    command = [sys.executable, "-m", "donewhen.testing.model_server", *args]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage" in done.stderr or args[0] in done.stderr
    assert "Traceback" not in done.stderr
