"""The picture in the docs is the table."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.core.conditions import ANYWHERE
from donewhen.core.diagram import mermaid
from donewhen.core.machine import QUIET, TABLE
from donewhen.core.state import Phase

PAGE = Path(__file__).parents[2] / "docs/machine.md"
TOOLS = Path(__file__).parents[2] / "tools"


def test_the_page_holds_the_picture_of_this_table() -> None:
    assert mermaid() in PAGE.read_text(encoding="utf-8"), "type: make docs"


def test_every_phase_is_in_it() -> None:
    assert all(f"{phase.value} -->" in mermaid() for phase in Phase)


def test_every_row_is_drawn() -> None:
    told = ANYWHERE
    for phase, condition in TABLE:
        if condition not in QUIET and condition not in told:
            assert f"    {phase.value} --> " in mermaid()
            assert f": {condition.value}\n" in mermaid()


def run(*args: str, page: Path | None = None) -> tuple[int, str]:
    place = f"; d.PAGE = __import__('pathlib').Path({str(page)!r})" if page else ""
    code = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); import diagram as d{place}; sys.exit(d.main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *args], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


def test_a_stale_page_fails_the_check_and_is_written(tmp_path: Path) -> None:
    page = tmp_path / "machine.md"
    page.write_text("# Top\n<!-- machine -->\nold\n<!-- /machine -->\nend\n")
    code, said = run("--check", page=page)
    assert (code, "make docs" in said) == (1, True)
    assert run(page=page) == (0, "")
    assert run("--check", page=page) == (0, "")
    text = page.read_text()
    assert text.startswith("# Top\n")
    assert text.endswith("-->\nend\n")


@pytest.mark.parametrize("text", ["no marks", "<!-- machine -->\nno end"])
def test_a_page_without_marks_is_left_alone(tmp_path: Path, text: str) -> None:
    page = tmp_path / "machine.md"
    page.write_text(text)
    assert run(page=page)[0] == 1
    assert page.read_text() == text
