"""What `pip install` brings, and that the wheel holds everything the program reads."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_at_most_six_dependencies() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert len(project["dependencies"]) <= 6


def test_the_wheel_holds_prompts_assets_and_the_type_mark(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in (
        "donewhen/prompts/anchor.md",
        "donewhen/gates/assets/unittest_junit.py",
        "donewhen/system/shim.py",
        "donewhen/agents/player.py",
        "donewhen/py.typed",
    ):
        assert name in names
    assert not [n for n in names if n.startswith("tests/")]


def test_pinned_requirements_name_no_host() -> None:
    for path in (ROOT / "requirements").glob("*.txt"):
        text = path.read_text()
        assert "://" not in text
        assert all("==" in line for line in text.splitlines() if line and not line.startswith("#"))
