"""Results of gates, kept by everything they depend on: definition, inputs, tools, environment.

Errors are never kept, nor a result that the tree did not stay the same for. The deciding verdict
never asks. An entry is signed with a key of the user's state folder, so that a file written by
anybody else is no result (tamper-evident: an agent that reads the key can forge, and the deciding
verdict is measured all the same).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from donewhen import __version__
from donewhen.core.codec import build, plain
from donewhen.core.verdict import GateResult, GateState
from donewhen.errors import Corrupt, GitError, StoreError
from donewhen.gates.base import GateDef
from donewhen.gates.env import BIN, gate_environment, program_exists
from donewhen.judge.droppings import allowed, dropped
from donewhen.store import signed
from donewhen.system import clock, fs
from donewhen.system.git import Git
from donewhen.system.redact import redact, secrets

VERSION = 1
NAMED = 64  # hex digits of an entry's name
MOST = 400  # entries; the oldest half goes when there are more
# What differs from shell to shell and bends no verdict, and what we set ourselves.
NOISE = re.compile(
    r"_|PWD|OLDPWD|SHLVL|TERM|TERM_.*|COLORTERM|COLUMNS|LINES|WINDOWID|TMUX.*|SSH_.*|XDG_SESSION.*|"
    r"DBUS_.*|DISPLAY|GPG_.*|VTE_.*|PS1|LS_COLORS|DONEWHEN_.*"
)
# How a definition is used, not what it measures.
NOT_MEASURED = frozenset({"required", "source", "why", "rule", "timeout", "inputs", "hermetic"})
HOOK = re.compile(r"\b__editable__\w+_finder\b")
FOLDER = re.compile(rb"['\"](/[^'\"\n]*)['\"]")
EXTERNAL = re.compile(r"^(/.*|[A-Za-z]:\\.*)$", re.M)  # lines of a .pth file that name a folder
# What npm, pnpm and yarn write when they have installed something; "." for what is new in it.
INSTALLED = (".", ".package-lock.json", ".modules.yaml", ".yarn-integrity", ".yarn-state.yml")


@dataclass(frozen=True)
class Place:
    """Where a gate is about to be measured: the tree's key, its folder, tools and environment."""

    git: Git
    tree: str
    checkout: Path
    environ: Mapping[str, str]
    extra_env: Mapping[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.git.root

    @cached_property
    def ignored(self) -> tuple[tuple[str, int, int], ...]:
        """Ignored files (not what lies in ignored folders) as path, size and time: gates see them."""
        words = ("--others", "--ignored", "--exclude-standard", "--directory", "-z", "--full-name")
        names = self.git.run("ls-files", *words, ":/").split(b"\0")
        paths = (os.fsdecode(n) for n in names if n and not n.endswith(b"/"))
        return tuple((p, *_stat(self.root / p)) for p in sorted(paths) if not dropped(p))

    @cached_property
    def blobs(self) -> tuple[tuple[str, str], ...]:
        """Every file of the tree as path and mode with content id."""
        rows = self.git.run("ls-tree", "-r", "-z", "--full-tree", self.tree).split(b"\0")
        cells = (os.fsdecode(row).partition("\t") for row in rows if row)
        return tuple((path, head) for head, _tab, path in cells)


@dataclass(frozen=True)
class Cache:
    """`folder` holds the entries, `key_file` the secret that signs them."""

    folder: Path
    key_file: Path

    def key(self, gate: GateDef, place: Place) -> str:
        """What the result of `gate` depends on, as one hash; "" where that cannot be told."""
        if not _cacheable(gate):
            return ""
        try:
            parts = _parts(gate, place)
        except (GitError, OSError):
            return ""
        return _digest(parts) if parts else ""

    def get(self, key: str, gate: GateDef) -> GateResult | None:
        """The kept result under today's definition, None where there is none that can be believed."""
        if not key:
            return None
        body = signed.read(self.folder / key, key, self.key_file)
        if body is None:
            return None
        try:
            result: GateResult = build(GateResult, json.loads(body))
        except (ValueError, Corrupt):
            return None
        return replace(result, required=gate.required, command=gate.command)

    def put(self, key: str, result: GateResult, environ: Mapping[str, str]) -> None:
        """Keep a pass or a failure; a place that cannot be written is no error."""
        if not key or result.state is GateState.ERROR or result.cached_from:
            return
        kept = replace(result, cached_from=clock.stamp(clock.now()), log="")
        body = redact(json.dumps(plain(kept)).encode(), secrets(environ))
        try:
            signed.write(self.folder / key, key, self.key_file, body, durable=False)
            self._tidy()
        except (StoreError, OSError):
            return

    def _tidy(self) -> None:
        entries = [e for e in os.scandir(self.folder) if len(e.name) == NAMED]
        if len(entries) > MOST:
            for entry in sorted(entries, key=lambda e: e.stat().st_mtime_ns)[: len(entries) // 2]:
                Path(entry.path).unlink(missing_ok=True)


def _cacheable(gate: GateDef) -> bool:
    """A command that nothing is known of may look anywhere: only if somebody says it does not."""
    if gate.hermetic is None:
        return gate.format not in {"exit", "lines"} or bool(gate.inputs)
    return gate.hermetic


def _parts(gate: GateDef, place: Place) -> dict[str, Any] | None:
    env = gate_environment(place.environ, place.checkout, gate.env, place.extra_env, gate.cwd)
    tools = _tools(gate, place, env)
    if tools is None:
        return None
    what = {k: v for k, v in asdict(gate).items() if k not in NOT_MEASURED}
    return {
        "version": [VERSION, __version__],
        "gate": what,
        "inputs": _inputs(gate, place),
        "ignored": [] if gate.inputs else place.ignored,
        "tools": tools,
        "env": {k: v for k, v in env.items() if not NOISE.fullmatch(k)},
    }


def _inputs(gate: GateDef, place: Place) -> str:
    if not gate.inputs:
        return place.tree
    return _digest([row for row in place.blobs if allowed(row[0], gate.inputs)])


def _tools(gate: GateDef, place: Place, env: Mapping[str, str]) -> list[Any] | None:
    """The program and what is installed beside it; None where it runs code from elsewhere."""
    word = gate.argv[0]
    program = (
        str(place.root / gate.cwd / word) if "/" in word else program_exists(word, env["PATH"])
    )
    if not program:
        return None
    found: list[Any] = [program, os.path.realpath(program), *_stat(Path(os.path.realpath(program)))]
    for prefix in dict.fromkeys(Path(p).parent for p in (program, *_own(env["PATH"]))):
        for site in sorted(prefix.glob("lib/python3*/site-packages")):
            if any(_outside(place, pth) for pth in site.glob("*.pth")):
                return None
            found += [str(site), *_stat(site)]
    for folder in dict.fromkeys((place.checkout, place.checkout / gate.cwd)):
        found += [_stat(folder / "node_modules" / name) for name in INSTALLED]
    return found


def _own(path: str) -> Iterator[str]:
    """The first folder of PATH stands for the project's own environment."""
    first = path.split(os.pathsep)[0]
    if first.endswith(f"{os.sep}{BIN}"):
        yield str(Path(first) / "python")


def _outside(place: Place, pth: Path) -> bool:
    """Does it bring in a folder (an editable install) that the tree does not hold?"""
    try:
        text = pth.read_text("utf-8", "replace")
    except OSError:
        return True
    roots = {os.path.realpath(p) for p in (place.root, place.checkout)}
    named = [line.strip() for line in EXTERNAL.findall(text)]
    for hook in HOOK.findall(text):  # the import hook of an editable install names its folders
        named += FOLDER.findall(fs.read_bytes(pth.parent / f"{hook}.py") or b"/")
    return any(not _within(os.path.realpath(os.fsdecode(name)), roots) for name in named)


def _within(path: str, roots: set[str]) -> bool:
    return any(path == root or path.startswith(f"{root}{os.sep}") for root in roots)


def _stat(path: Path) -> tuple[int, int]:
    try:
        info = path.stat()
    except OSError:
        return (-1, -1)
    return (info.st_size, info.st_mtime_ns)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii", "surrogateescape")).hexdigest()
