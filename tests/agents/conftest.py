"""Recorded streams and the real client, for every test of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.agents.base import Turn
from tests.fixtures_agents import claude_cli, model_server

__all__ = ["claude_cli", "model_server"]


@pytest.fixture
def turn(tmp_path: Path) -> Callable[..., Turn]:
    """turn(number, prompt, **more) -> a Turn in a fresh tree."""
    tree = tmp_path / "tree"
    tree.mkdir()

    def make(number: int = 0, prompt: str = "make it green", **more: object) -> Turn:
        file = tmp_path / f"prompt-{number}.md"
        file.write_text(prompt, encoding="utf-8", errors="surrogateescape")
        return Turn(cwd=tree, prompt=file, turn=number, scratch=tmp_path, **more)  # type: ignore[arg-type]  # fields of Turn

    return make
