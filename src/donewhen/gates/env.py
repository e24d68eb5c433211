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

from donewhen.errors import SpawnError
from donewhen.system import proc

# What could bend a verdict, or is nobody's business in a test: docs/configuration.md lists it.
DENIED = (
    "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_CURRENT_TEST", "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT", "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "PYTHONOPTIMIZE",
    "PYTHONWARNINGS", "PYTHONSAFEPATH", "PYTHONBREAKPOINT", "PYTHONPROFILEIMPORTTIME",
    "NODE_OPTIONS", "NODE_PATH", "RUBYOPT", "PERL5OPT", "BASH_ENV", "LD_PRELOAD",
    "DYLD_INSERT_LIBRARIES", "COVERAGE_PROCESS_START", "FORCE_COLOR", "CLICOLOR_FORCE",
    # `make -n`, or a job server of the make that started us, would reach a gate that is `make test`.
    "MAKEFLAGS", "GNUMAKEFLAGS", "MFLAGS", "MAKELEVEL", "AI_AGENT",
)  # fmt: skip
DENIED_PREFIXES = (
    "GIT_", "CLAUDE", "ANTHROPIC", "OPENAI", "CODEX", "GEMINI", "GOOGLE_API", "OPENCODE", "QWEN",
    "AIDER", "COPILOT", "CURSOR_", "GOOSE_", "AUGMENT_", "DONEWHEN_",
)  # fmt: skip
DENIED_SUFFIXES = ("API_KEY", "_AUTH_TOKEN")
DENIED_LIKE = re.compile(rf"({'|'.join(DENIED_PREFIXES)})|.*({'|'.join(DENIED_SUFFIXES)})$")
PROBE_S = 10.0
PROBE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
BIN = "Scripts" if os.name == "nt" else "bin"


def denied(name: str) -> bool:
    """Is this variable kept from gates?"""
    return name in DENIED or DENIED_LIKE.match(name) is not None


def gate_environment(
    environ: Mapping[str, str],
    checkout: Path,
    admitted: tuple[str, ...],
    extra: Mapping[str, str],
    cwd: str = ".",
) -> dict[str, str]:
    """The whole environment of a gate; `admitted` re-admits names, `extra` is set on top.

    `cwd` is the gate's folder, whose node_modules comes before that of the top.
    """
    env = {k: v for k, v in environ.items() if k in admitted or not denied(k)}
    env["PATH"] = tool_path(checkout, environ, cwd)
    return {**env, **extra}


def tools_of(tree: Path, checkout: Path) -> Path:
    """Where the project's own tools are: in the tree if its set-up built them, else the user's."""
    own = (tree / ".venv" / BIN, tree / "node_modules" / ".bin")
    built = any(place.is_dir() and not place.parent.is_symlink() for place in own)
    return tree if built else checkout


def tool_path(checkout: Path, environ: Mapping[str, str], cwd: str = ".") -> str:
    """PATH with the project's own tools first, those of the folder `cwd` in it before all."""
    path = environ.get("PATH") or os.defpath
    folders = dict.fromkeys((checkout / cwd, checkout))
    own = [checkout / ".venv" / BIN, *(place / "node_modules" / ".bin" for place in folders)]
    if not own[0].is_dir() and (active := environ.get("VIRTUAL_ENV")):
        own[0] = Path(active) / BIN
    first = [str(p) for p in own if p.is_dir()]
    return os.pathsep.join([*first, path])


def program_exists(name: str, path: str) -> str:
    """Where a program is on that PATH, "" if it is not."""
    return shutil.which(name, path=path) or ""


def has_module(path: str, name: str) -> bool:
    """Is `name` a program on that PATH, or (`-m NAME`) a module of the Python that PATH names?"""
    if name.startswith("-m "):
        return _importable(path, name[3:])
    return bool(program_exists(name, path))


@lru_cache(maxsize=64)
def _importable(path: str, name: str) -> bool:
    """A look into site-packages; where that is not beside the interpreter, it is asked itself."""
    python = program_exists("python", path) or program_exists("python3", path)
    if not python:
        return False
    prefix = Path(python).parent.parent
    if any(prefix.glob(f"[Ll]ib/python3*/site-packages/{name}")):
        return True
    if any(prefix.glob(f"[Ll]ib/python3*/site-packages/{name}.py")):
        return True
    try:
        # Started elsewhere: the project's own folders must not answer for its tools.
        env = {k: v for k, v in os.environ.items() if not denied(k)} | {"PATH": path}
        argv = (python, "-c", PROBE, name)
        code, _out, _err = proc.capture(argv, Path(python).parent, env, PROBE_S)
    except SpawnError:
        return False
    return code == 0
