"""Real gates on small real projects: files in, a GateResult out."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from donewhen.core.verdict import GateResult
from donewhen.gates.base import GateDef
from donewhen.gates.parse import parse_flag
from donewhen.gates.run import run_gate

DATA = Path(__file__).parent / "data"
Write = Callable[[Mapping[str, str]], Path]
Run = Callable[..., GateResult]


def write_files(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """write({"a.py": "..."}) -> the project's folder."""
    root = tmp_path / "the project"
    root.mkdir()
    return lambda files: write_files(root, files)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """run(folder, "pytest -q", timeout=5.0) -> the result of that gate there."""
    count = itertools.count(1)

    def run_it(
        root: Path,
        command: str | GateDef,
        environ: Mapping[str, str] | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        **changes: Any,
    ) -> GateResult:
        gate = parse_flag(command) if isinstance(command, str) else command
        return run_gate(
            replace(gate, **changes),
            root,
            tmp_path / "attempts of mine" / f"{next(count)}" / gate.name,
            os.environ if environ is None else environ,
            root,
            {},
            f"test-{tmp_path.name}-{next(count)}",
            cancelled,
        )

    return run_it
