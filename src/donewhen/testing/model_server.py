"""A scripted model on 127.0.0.1: real clients talk to it as to their own API.

    with ModelServer([write("a.py", "x = 1\n"), text("done")]) as server:
        ...  # ANTHROPIC_BASE_URL=server.url

Each request takes the next step of the script; after the last one, `after` says what comes.
Speaks the Anthropic Messages API, streamed. From a shell: python -m donewhen.testing.model_server
SCRIPT.json prints its port and serves until it is ended.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


@dataclass(frozen=True)
class Step:
    """One answer: `tool` with `input`, or `text`, or a failure (`status`, `drop`, `cut`).

    `when` is a regular expression that the request's text must match for this step to be taken;
    `delay` seconds come before the answer; `tokens` are (input, output).
    """

    text: str = ""
    tool: str = ""
    input: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    message: str = ""
    drop: bool = False
    cut: bool = False
    delay: float = 0.0
    tokens: tuple[int, int] = (100, 20)
    when: str = ""


def text(said: str, **more: Any) -> Step:
    """The model says something and ends its turn."""
    return Step(text=said, **more)


def write(path: str, content: str, **more: Any) -> Step:
    """The model writes a file (an absolute path, as the client wants it)."""
    return Step(tool="Write", input={"file_path": path, "content": content}, **more)


def bash(command: str, **more: Any) -> Step:
    """The model runs a command."""
    return Step(tool="Bash", input={"command": command, "description": "run"}, **more)


def fail(status: int, message: str = "refused by the script", **more: Any) -> Step:
    """The API answers with an error, in its own shape."""
    return Step(status=status, message=message, **more)


class ModelServer:
    """Serves the steps in order; `requests` keeps every body that came."""

    def __init__(self, steps: Sequence[Step], after: Step | None = None) -> None:
        self.steps = list(steps)
        self.after = after or text("Done.")
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def take(self, body: dict[str, Any]) -> Step:
        """The step for a request: the first one left whose `when` matches."""
        said = json.dumps(body.get("messages", []))
        with self._lock:
            self.requests.append(body)
            for index, step in enumerate(self.steps):
                if not step.when or re.search(step.when, said):
                    return self.steps.pop(index)
        return self.after


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            return

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        do_GET = do_HEAD

        def do_POST(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(size) or b"{}")
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                return self._json(200, {"input_tokens": 10})
            step = server.take(body)
            time.sleep(step.delay)
            if step.drop:
                self.connection.close()
                return None
            if step.status != 200:
                kind = ERRORS.get(step.status, "api_error")
                error = {"type": "error", "error": {"type": kind, "message": step.message}}
                return self._json(step.status, error)
            return self._stream(step, body)

        def _json(self, status: int, value: dict[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _stream(self, step: Step, body: dict[str, Any]) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for number, event in enumerate(events(step, str(body.get("model", "")))):
                if step.cut and number == 3:
                    break
                data = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(data.encode())
                self.wfile.flush()
            self.close_connection = True

    return Handler


def events(step: Step, model: str) -> Iterator[dict[str, Any]]:
    """The server-sent events of one answer."""
    given, made = step.tokens
    message: dict[str, Any] = {
        "id": f"msg_{time.monotonic_ns():x}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": given, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    if step.tool:
        block: dict[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{time.monotonic_ns():x}",
            "name": step.tool,
            "input": {},
        }
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.input)}
    else:
        block = {"type": "text", "text": ""}
        delta = {"type": "text_delta", "text": step.text}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "tool_use" if step.tool else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": made},
    }
    yield {"type": "message_stop"}


def main() -> None:
    """Serve a script: a JSON list of steps with the fields of Step."""
    steps = [Step(**row) for row in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))]
    with ModelServer(steps) as server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        threading.Event().wait()


if __name__ == "__main__":
    main()

__all__ = ["ModelServer", "Step", "bash", "fail", "text", "write"]
