"""The picture in the docs is the table."""

from __future__ import annotations

from pathlib import Path

from donewhen.core.diagram import mermaid
from donewhen.core.state import Phase

PAGE = Path(__file__).parents[2] / "docs/machine.md"


def test_the_page_holds_the_picture_of_this_table() -> None:
    assert mermaid() in PAGE.read_text(encoding="utf-8"), "type: make docs"


def test_every_phase_is_in_it() -> None:
    assert all(f"{phase.value} -->" in mermaid() for phase in Phase)
