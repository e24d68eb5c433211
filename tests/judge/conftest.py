"""bench(files, gates) -> a judge on a new repository, its baseline measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from donewhen.gates.base import GateDef
from tests.conftest import Project
from tests.judge.helpers import Bench, gate


@pytest.fixture
def bench(make_project: Callable[..., Project], tmp_path: Path) -> Callable[..., Bench]:
    def make(files: Mapping[str, str], *gates: GateDef, **options: Any) -> Bench:
        project = make_project(files)
        return Bench(project, tmp_path / "scratch", gates or (gate(),), **options)

    return make
