"""The environment of gates: the user's at the start minus a published deny list, and which tools.

The interpreter is the checkout's `.venv`, else VIRTUAL_ENV, else PATH, used in place.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

# What could bend a verdict, or is nobody's business in a test: docs/configuration.md lists it.
DENIED = (
    "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST", "PYTHONPATH", "PYTHONHOME",
    "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONSAFEPATH",
    "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "PERL5OPT", "BASH_ENV", "ENV", "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES", "COVERAGE_PROCESS_START", "FORCE_COLOR", "CLICOLOR_FORCE",
)  # fmt: skip
DENIED_LIKE = re.compile(
    r"GIT_|CLAUDE|ANTHROPIC|OPENAI|CODEX|GEMINI|GOOGLE_API|OPENCODE|QWEN|AIDER|COPILOT|DONEWHEN_"
    r"|.*_(API_KEY|AUTH_TOKEN)$"
)


def denied(name: str) -> bool:
    """Is this variable kept from gates?"""
    return name in DENIED or DENIED_LIKE.match(name) is not None


def gate_environment(
    environ: Mapping[str, str], checkout: Path, admitted: tuple[str, ...], extra: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment of a gate; `admitted` re-admits names, `extra` is set on top."""
    env = {k: v for k, v in environ.items() if k in admitted or not denied(k)}
    env["PATH"] = tool_path(checkout, environ)
    env["NO_COLOR"] = "1"
    return {**env, **extra}


def tool_path(checkout: Path, environ: Mapping[str, str]) -> str:
    """PATH with the project's own tools first."""
    path = environ.get("PATH") or os.defpath
    own = [checkout / ".venv" / "bin", checkout / "node_modules" / ".bin"]
    if not own[0].is_dir() and (active := environ.get("VIRTUAL_ENV")):
        own[0] = Path(active) / "bin"
    first = [str(p) for p in own if p.is_dir()]
    return os.pathsep.join([*first, path])


def program_exists(name: str, path: str) -> str:
    """Where a program is on that PATH, "" if it is not."""
    return shutil.which(name, path=path) or ""


@lru_cache(maxsize=32)
def has_module(path: str, name: str) -> bool:
    """Is `name` a program on that PATH, or a module of the interpreter that PATH names?

    A look into its site-packages; nothing is imported.
    """
    if program_exists(name, path):
        return True
    python = program_exists("python", path) or program_exists("python3", path)
    if not python:
        return False
    libs = Path(python).parent.parent / "lib"
    return any(libs.glob(f"python3*/site-packages/{name}"))
