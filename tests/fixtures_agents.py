"""Fixtures for tests that drive real agent clients; import the names where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from donewhen.testing.model_server import ModelServer, Route, Step
from tests.clients import find_claude, require

Serve = Callable[..., ModelServer]


@pytest.fixture
def claude_cli() -> Path:
    """The real claude binary; skips where it is missing, fails there in CI."""
    return require(find_claude(), "claude")


@pytest.fixture
def model_server() -> Iterator[Serve]:
    """model_server(step, step, after=..., routes=...) -> a running scripted model."""
    with ExitStack() as running:

        def serve(
            *steps: Step, after: Step | None = None, routes: Sequence[Route] = ()
        ) -> ModelServer:
            return running.enter_context(ModelServer(steps, after, routes))

        yield serve
