"""Gates from a project's own files: few files are read, and each gate says why it is there."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from donewhen.gates.base import GateDef
from donewhen.gates.parse import from_command

TEST_FOLDERS = ("tests", "test")
MOST = 200  # test files looked at
SKIPPED = frozenset({"node_modules", ".venv", "venv", ".git", "__pycache__", ".tox", "data"})
PLACEHOLDER = "no test specified"
PIPELINES = (("ruff", "lint", "ruff check ."), ("mypy", "types", "mypy"))


def detect(place: Path, has: Callable[[str], bool]) -> list[GateDef]:
    """The gates of the project in `place`. `has(name)`: is the program or Python module there?"""
    pyproject = _toml(place / "pyproject.toml")
    found = [
        *_python_tests(place, pyproject, has),
        *_python_checks(place, pyproject, has),
        *_others(place, has),
    ]
    return [replace(g, source="detected") for g in found]


def _gate(command: str, why: str, **changes: Any) -> GateDef:
    return replace(from_command(command, source="detected"), why=why, **changes)


def _python_tests(
    place: Path, pyproject: dict[str, Any], has: Callable[[str], bool]
) -> Iterator[GateDef]:
    files = list(_test_files(place))
    why = _pytest_configured(place, pyproject) or _pytest_written(place, files)
    if has("pytest") and (why or files):
        yield _gate("python -m pytest -q", why or f"{_shown(files[0], place)} is a test file")
    elif why:  # wanted, but not there: the gate says so as an error
        yield _gate("python -m pytest -q", why)
    elif files:
        folder = _shown(files[0].parent, place)
        start = "" if folder == "." else f" -s {folder} -t ."
        yield _gate(
            f"python -m unittest discover{start}", f"{_shown(files[0], place)} uses unittest"
        )


def _shown(path: Path, place: Path) -> str:
    return path.relative_to(place).as_posix()


def _pytest_configured(place: Path, pyproject: dict[str, Any]) -> str:
    if "pytest" in pyproject.get("tool", {}):
        return "[tool.pytest] in pyproject.toml"
    if (place / "pytest.ini").is_file():
        return "pytest.ini"
    for name, section in (("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")):
        if section in _text(place / name):
            return f"{section} in {name}"
    for folder in (".", *TEST_FOLDERS):
        if (place / folder / "conftest.py").is_file():
            return f"{Path(folder) / 'conftest.py'}"
    return ""


def _pytest_written(place: Path, files: list[Path]) -> str:
    """Tests that only pytest can run: functions, or an import of pytest."""
    for file in files:
        text = _text(file)
        if re.search(r"^(async )?def test_|^import pytest|^from pytest", text, re.M):
            return f"{_shown(file, place)} is written for pytest"
    return ""


def _test_files(place: Path) -> Iterator[Path]:
    count = 0
    for folder in (*TEST_FOLDERS, "."):
        pattern = "**/test*.py" if folder != "." else "test*.py"
        for file in sorted((place / folder).glob(pattern)):
            inside = file.relative_to(place).parts
            if file.is_file() and not SKIPPED & set(inside) and count < MOST:
                count += 1
                yield file


def _python_checks(
    place: Path, pyproject: dict[str, Any], has: Callable[[str], bool]
) -> Iterator[GateDef]:
    files = {"ruff": ("ruff.toml", ".ruff.toml"), "mypy": ("mypy.ini", ".mypy.ini")}
    for tool, kind, command in PIPELINES:
        own = next((f for f in files[tool] if (place / f).is_file()), "")
        if tool in pyproject.get("tool", {}):
            own = f"[tool.{tool}] in pyproject.toml"
        targets = pyproject.get("tool", {}).get("mypy", {})
        if tool == "mypy" and not {"files", "packages", "modules"} & set(targets):
            command = "mypy ."
        if own and has(tool):
            yield _gate(f"python -m {command}", own, kind=kind, name=kind)


def _others(place: Path, has: Callable[[str], bool]) -> Iterator[GateDef]:
    script = _json(place / "package.json").get("scripts", {}).get("test", "")
    if script and PLACEHOLDER not in script:
        yield _gate(
            "npm test --silent",
            f"scripts.test in package.json: {script[:60]}",
            kind="test",
            name="npm-test",
        )
    if (place / "go.mod").is_file() and has("go"):
        yield _gate("go test ./...", "go.mod", kind="test", name="go-test")
    if (place / "Cargo.toml").is_file() and has("cargo"):
        yield _gate("cargo test --quiet", "Cargo.toml", kind="test", name="cargo-test")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_text(path).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError:
        return {}


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(_text(path) or "{}")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
