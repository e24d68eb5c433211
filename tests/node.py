"""The real JavaScript tools, as `make e2e` installs them from requirements/node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

E2E = Path(__file__).parents[1] / ".venv-e2e"
MODULES = E2E / "node" / "node_modules"
tools = pytest.mark.skipif(
    not MODULES.is_dir() and not os.environ.get("CI"), reason="no JavaScript tools: make e2e"
)


def link(root: Path) -> None:
    """What an install leaves in a project, shared."""
    assert MODULES.is_dir(), f"{MODULES} is not there: make e2e"
    (root / "node_modules").symlink_to(MODULES)
