"""What of the user's environment reaches a gate, and which tools it finds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates.env import denied, gate_environment, has_module, program_exists, tool_path
from tests.gates.conftest import Run, Write

KEPT = [
    "HOME",
    "LANG",
    "ENV",
    "DATABASE_URL",
    "AWS_PROFILE",
    "CI",
    "NO_COLOR",
    "UV_CACHE_DIR",
    "DIGIT_X",
]
KEPT_AWAY = [
    "PYTEST_ADDOPTS", "PYTHONPATH", "PYTHONOPTIMIZE", "NODE_OPTIONS", "GIT_DIR", "GIT_INDEX_FILE",
    "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY", "CODEX_HOME", "GEMINI_API_KEY", "MISTRAL_API_KEY", "API_KEY",
    "HF_AUTH_TOKEN", "MAKEFLAGS", "DONEWHEN_STATE", "LD_PRELOAD",
]  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_kept(name: str) -> None:
    assert not denied(name)


@pytest.mark.parametrize("name", KEPT_AWAY)
def test_kept_away(tmp_path: Path, name: str) -> None:
    environ = {"PATH": "/bin", name: "x"}
    assert gate_environment(environ, tmp_path, (), {}) == {"PATH": "/bin"}
    assert gate_environment(environ, tmp_path, (name,), {}) == environ
    assert gate_environment(environ, tmp_path, (), {name: "ours"})[name] == "ours"


def test_the_projects_own_tools_come_first(tmp_path: Path) -> None:
    own, active = tmp_path / ".venv/bin", tmp_path / "active/bin"
    active.mkdir(parents=True)
    environ = {"PATH": "/bin", "VIRTUAL_ENV": str(active.parent)}
    assert tool_path(tmp_path, environ) == f"{active}:/bin"
    own.mkdir(parents=True)
    (tmp_path / "node_modules/.bin").mkdir(parents=True)
    assert tool_path(tmp_path, environ) == f"{own}:{tmp_path}/node_modules/.bin:/bin"
    assert tool_path(tmp_path / "other", {}) == os.defpath


def test_programs_and_modules(tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:/bin"
    assert program_exists("sh", path)
    assert has_module(path, "sh")
    assert not has_module(path, "-m sh")
    assert has_module(path, "-m pytest")
    assert not has_module(path, "-m nosuchmodule")
    assert not has_module(str(tmp_path), "-m pytest")
    # Not beside its site-packages, as a version manager's shim: it is asked itself.
    shim = tmp_path / "python"
    shim.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    shim.chmod(0o755)
    assert has_module(f"{tmp_path}:/bin", "-m pytest")
    assert not has_module(f"{tmp_path}:/bin", "-m nosuchmodule")


def test_it_is_the_environment_of_the_real_process(write: Write, run: Run) -> None:
    text = "import os\ndef test_a(): assert not {'PYTHONPATH', 'GIT_DIR'} & set(os.environ)\ndef test_b(): pass\n"
    bent = {**os.environ, "PYTEST_ADDOPTS": "-k nosuch", "PYTHONPATH": "/x", "GIT_DIR": "/x"}
    result = run(write({"test_a.py": text}), "python -m pytest -q", environ=bent)
    assert (result.state, result.counts.tests) == (GateState.PASS, 2)
    asserts = run(write({"test_a.py": "def test_a(): assert 0\n"}), "python -m pytest -q",
                  environ={**os.environ, "PYTHONOPTIMIZE": "1"})  # fmt: skip
    assert asserts.state is GateState.FAIL
