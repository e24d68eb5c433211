"""docs/parity.md is what the marks say, and a mark stands only where a user could stand."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
DOORS = {
    "project",
    "make_project",
    "grepped",
    "editable",
    "claude_cli",
}  # fixtures that start the command line


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("parity", ROOT / "tools/parity.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["parity"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    parity = tool()
    assert parity.PAGE.read_text(encoding="utf-8") == parity.page(), "type: make docs"


def test_every_row_has_a_test_and_every_mark_a_row() -> None:
    parity = tool()
    assert {m.row for m in parity.marks()} == set(parity.rows())


def test_a_marked_test_goes_through_the_command_line_or_a_real_client() -> None:
    for mark in tool().marks():
        assert DOORS & set(mark.fixtures), f"{mark.id} starts nothing"
        body = (ROOT / mark.file).read_text(encoding="utf-8")
        assert "donewhen(" in body or ".run(" in body


def test_what_a_mark_kills_exists_and_can_be_killed(tmp_path: Path) -> None:
    parity = tool()
    for mark in parity.marks():
        path, node = parity.find(mark.kills)
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text(encoding="utf-8"), encoding="utf-8")
        parity.kill(mark.kills, tmp_path)
        killed = copy.read_text(encoding="utf-8")
        compile(killed, str(copy), "exec")
        assert f"killed: {mark.kills}" in killed
        assert node.name in killed
