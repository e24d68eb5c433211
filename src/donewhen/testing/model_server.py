"""A scripted model on 127.0.0.1: real clients talk to it as to their own API.

    with ModelServer([write("a.py", "x = 1\n"), text("done")]) as server:
        ...  # ANTHROPIC_BASE_URL=server.url

Each request takes the next step of the script (model_script.py); DIALECTS says which APIs are spoken.
From a shell: `python -m donewhen.testing.model_server SCRIPT.json` prints its port and serves until
it is ended.
"""

from __future__ import annotations

import json
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from donewhen.testing import anthropic_api
from donewhen.testing.model_script import (
    Route,
    Script,
    Step,
    bash,
    edit,
    fail,
    read,
    read_file,
    text,
    write,
)

CUT_AFTER = 3  # events of a stream that are sent before a `cut`
# "RST": closing with this option set drops the connection instead of ending it in good order.
ABORT = struct.pack("ii", 1, 0)


class Dialect(Protocol):
    """One API: see anthropic_api.py. A whole request body is a JSON object."""

    def prompt(self, body: dict[str, Any]) -> str: ...
    def messages(self, body: dict[str, Any]) -> str: ...
    def error(self, status: int, message: str) -> dict[str, Any]: ...
    def other(self, path: str) -> dict[str, Any] | None: ...
    def whole(self, step: Step, body: dict[str, Any]) -> dict[str, Any]: ...
    def events(self, step: Step, body: dict[str, Any]) -> Iterator[dict[str, Any]]: ...


# Path of the API -> how it is spoken. Responses and chat completions go here.
DIALECTS: Mapping[str, Dialect] = {anthropic_api.PATH: anthropic_api}


@dataclass(frozen=True)
class Seen:
    """One request as it came: for asking what a client really sent."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class ModelServer:
    """Serves a script. `requests` keeps the bodies that asked the model, `log` every request."""

    def __init__(
        self,
        steps: Sequence[Step] | Script = (),
        after: Step | None = None,
        routes: Sequence[Route] = (),
    ) -> None:
        self.script = steps if isinstance(steps, Script) else Script(steps, after, routes)
        self.requests: list[dict[str, Any]] = []
        self.log: list[Seen] = []
        self._lock = threading.Lock()
        self._server = Server(("127.0.0.1", 0), handler(self))
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

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

    def see(self, seen: Seen) -> None:
        with self._lock:
            self.log.append(seen)

    def take(self, dialect: Dialect, body: dict[str, Any]) -> Step:
        """The step for a request that asks the model."""
        with self._lock:
            self.requests.append(body)
            return self.script.take(dialect.prompt(body), dialect.messages(body))


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False  # a client that hangs must not hold up the end of a test

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away in the middle is what tests are about, not news."""


def handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            return

        def do_HEAD(self) -> None:
            self._body()
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self._body()
            self._unasked()

        def do_POST(self) -> None:
            body = self._body()
            path = self.path.partition("?")[0]
            if path not in DIALECTS:
                return self._unasked()
            dialect = DIALECTS[path]
            step = server.take(dialect, body)
            time.sleep(step.delay)
            if step.drop or (step.cut and not body.get("stream")):
                return self._drop()
            if step.status != 200 or step.raw:
                said = step.raw or json.dumps(dialect.error(step.status, step.message))
                return self._answer(step.status, said.encode(), step.headers)
            if not body.get("stream"):
                return self._answer(
                    200, json.dumps(dialect.whole(step, body)).encode(), step.headers
                )
            return self._stream(step, dialect.events(step, body))

        def _body(self) -> dict[str, Any]:
            data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            try:
                body = json.loads(data or b"{}")
            except ValueError:
                body = {}
            body = body if isinstance(body, dict) else {}
            server.see(Seen(self.command, self.path, dict(self.headers.items()), body))
            return body

        def _unasked(self) -> None:
            for dialect in DIALECTS.values():
                if (found := dialect.other(self.path)) is not None:
                    return self._answer(200, json.dumps(found).encode(), {})
            missing = json.dumps(anthropic_api.error(404, f"no such path: {self.path}"))
            return self._answer(404, missing.encode(), {})

        def _drop(self) -> None:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT)
            self.close_connection = True

        def _answer(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
            self._head(status, "application/json", {**headers, "Content-Length": str(len(data))})
            self.wfile.write(data)

        def _head(self, status: int, kind: str, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()

        def _stream(self, step: Step, events: Iterator[dict[str, Any]]) -> None:
            self._head(200, "text/event-stream", {**step.headers, "Connection": "close"})
            for number, event in enumerate(events):
                if step.cut and number == CUT_AFTER:
                    break
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
            self.close_connection = True

    return Handler


def main(argv: Sequence[str]) -> int:
    """Serve a script file until a signal comes."""
    if len(argv) != 1 or argv[0].startswith("-"):
        sys.stderr.write("usage: python -m donewhen.testing.model_server SCRIPT.json\n")
        return 2
    try:
        script = read(json.loads(Path(argv[0]).read_bytes()))
    except (OSError, ValueError, TypeError) as error:
        sys.stderr.write(f"{argv[0]}: {error}\n")
        return 2
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)  # before any thread starts
    for number in ends:  # a shell starts background jobs with SIGINT ignored
        signal.signal(number, signal.SIG_DFL)
    with ModelServer(script) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        signal.sigwait(ends)
    return 0


__all__ = [
    "ModelServer", "Route", "Script", "Seen", "Step", "bash", "edit", "fail", "read", "read_file",
    "text", "write",
]  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
