"""The Anthropic Messages API as a client sees it: events of a stream, a whole answer, errors.

Pure: a Step and a request in, JSON values out. An API of another make is a module like this one and
a line in model_server.DIALECTS.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from donewhen.testing.model_script import Step

PATH = "/v1/messages"
ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_ids = itertools.count(1)


def prompt(body: dict[str, Any]) -> str:
    """What the user said first; clients put reminders of their own beside and before it."""
    said = (m.get("content") for m in body.get("messages", ()) if m.get("role") == "user")
    first = next(said, "")
    if isinstance(first, str):
        return first
    return "\n".join(str(block.get("text", "")) for block in first if isinstance(block, dict))


def messages(body: dict[str, Any]) -> str:
    """All that was said so far, as text to search."""
    return json.dumps(body.get("messages", ()), ensure_ascii=False)


def error(status: int, message: str) -> dict[str, Any]:
    """The body of a refusal."""
    kind = ERRORS.get(status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": f"req_{next(_ids):024d}",
    }


def other(path: str) -> dict[str, Any] | None:
    """Answers that need no script; None where there is none."""
    if path.startswith(f"{PATH}/count_tokens"):
        return {"input_tokens": 10}
    return {"data": [], "has_more": False} if path.startswith("/v1/models") else None


def whole(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request that does not want a stream."""
    return {
        **_message(step, body),
        "content": list(_blocks(step)),
        "stop_reason": _reason(step),
        "usage": _usage(step, step.tokens[1]),
    }


def events(step: Step, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The server-sent events of one answer, each with its own name as `type`."""
    yield {"type": "message_start", "message": _message(step, body)}
    for index, block in enumerate(_blocks(step)):
        if block["type"] == "text":
            empty: dict[str, Any] = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": _reason(step), "stop_sequence": None},
        "usage": {"output_tokens": step.tokens[1]},
    }
    yield {"type": "message_stop"}


def _message(step: Step, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{next(_ids):024d}",
        "type": "message",
        "role": "assistant",
        "model": str(body.get("model", "")),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(step, 1),
    }


def _usage(step: Step, made: int) -> dict[str, Any]:
    return {
        "input_tokens": step.tokens[0],
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": step.cached,
        "output_tokens": made,
    }


def _blocks(step: Step) -> Iterator[dict[str, Any]]:
    if step.text or not step.calls:
        yield {"type": "text", "text": step.text}
    for name, given in step.calls:
        yield {"type": "tool_use", "id": f"toolu_{next(_ids):024d}", "name": name, "input": given}


def _reason(step: Step) -> str:
    return step.stop or ("tool_use" if step.calls else "end_turn")
