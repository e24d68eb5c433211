"""Integrity, first part: which protected files (tests and their configuration) a change touches.

Tests that were changed may have been weakened: the clean room runs their base versions too.
pyproject.toml is protected where the tables of what judges change, not where a dependency does.
"""

from __future__ import annotations

import os
import posixpath
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

from donewhen.gates.base import GateDef
from donewhen.gates.parse import unwrapped
from donewhen.judge.baseline import Baseline
from donewhen.judge.droppings import allowed
from donewhen.system.git import Git

TEST_FOLDERS = frozenset({"tests", "test", "__tests__", "spec"})
TEST_FILES = (
    "test_*.py",
    "*_test.py",
    "*.test.[jt]s",
    "*.test.[jt]sx",
    "*.spec.[jt]s",
    "*.spec.[jt]sx",
    "*_test.go",
)
CONFIG = (
    "conftest.py",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "mypy.ini",
    ".mypy.ini",
    "ruff.toml",
    ".ruff.toml",
    "tox.ini",
    "setup.cfg",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".coveragerc",
    "vitest.config.*",
    "vitest.workspace.*",
    "jest.config.*",
    "eslint.config.*",
    "biome.json",
    "biome.jsonc",
    ".oxlintrc.json",
    "tsconfig.json",
    "tsconfig.*.json",
    "sgconfig.yml",
    ".shellcheckrc",
)


@dataclass(frozen=True)
class TestChange:
    """Paths: `restore` have a base version to run with, `remove` are new configuration."""

    restore: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.restore or self.remove)

    @property
    def paths(self) -> tuple[str, ...]:
        return (*self.restore, *self.remove)


TABLES = ("pytest", "mypy", "ruff", "coverage")  # of pyproject.toml: what judges, not what is built
RUNNERS = frozenset({"pytest", "_pytest", "unittest", "pluggy"})
SCRIPTS = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "npm": ("package.json",),
    "jest": ("package.json",),  # its `jest` table
    "yarn": ("package.json",),
    "pnpm": ("package.json",),
    "just": ("justfile",),
    "nox": ("noxfile.py",),
}


@dataclass(frozen=True)
class Known:
    """What this run's own gates tell: files that judge, and names of the code under test.

    `patterns` are files that the configuration protects beside those.
    """

    files: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()

    def guards(self, path: str) -> bool:
        """Is this a test, or something that tests obey?"""
        return protected(path) or path in self.files or self.names(path)

    def names(self, path: str) -> bool:
        """Does the configuration name it?"""
        return allowed(path, self.patterns)


def known(
    gates: Iterable[GateDef],
    before: Baseline | None,
    packages: Iterable[str],
    prefix: str,
    patterns: tuple[str, ...] = (),
) -> Known:
    """The gates' own scripts, and the files that the tests of the baseline stood in."""
    files = {f for gate in gates for f in _scripts(gate)}
    for was in (before or {}).values():
        for test in was.failed | was.passed:
            file, _, name = test.partition("::")
            if "." not in name.partition("[")[0]:  # a doctest stands in the code under test
                files.add(posixpath.normpath(posixpath.join(prefix, file)))
    return Known(frozenset(files), frozenset(packages), patterns)


def _scripts(gate: GateDef) -> Iterator[str]:
    words = gate.argv[2].split() if gate.argv[:2] == ("sh", "-c") else list(unwrapped(gate.argv))
    while words and PurePosixPath(words[0]).name in {"sh", "bash", "env"}:
        words = words[1:]
    if words:
        own = SCRIPTS.get(PurePosixPath(words[0]).name, (words[0],))
        yield from (posixpath.normpath(posixpath.join(gate.cwd, name)) for name in own)


def shadows(path: str, names: frozenset[str]) -> bool:
    """Would this new file be imported instead of the test runner or of the code under test?"""
    parts = PurePosixPath(path).parts
    if any(p.endswith((".dist-info", ".egg-info")) for p in parts[:-1]):
        return True
    top = parts[1:] if parts[0] == "src" and len(parts) > 1 else parts
    if PurePosixPath(top[0]).stem in RUNNERS:
        return True
    inner = {PurePosixPath(p).stem for p in parts[1:]}
    return bool(TEST_FOLDERS & set(parts[:-1])) and bool(inner & names)


def protected(path: str) -> bool:
    """Is this a test, or configuration that tests obey?"""
    pure = PurePosixPath(path)
    in_tests = bool(TEST_FOLDERS & set(pure.parts[:-1]))
    return in_tests or _any(pure.name, TEST_FILES) or configuration(path)


def configuration(path: str) -> bool:
    return _any(PurePosixPath(path).name, CONFIG)


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def test_change(git: Git, base: str, tree: str, own: Known) -> TestChange:
    """What a change does to protected files. New tests weaken nothing; new configuration may."""
    restore, remove = [], []
    for status, name in git.changed_paths(base, tree):
        path = os.fsdecode(name)
        obeyed = configuration(path) or _tables_changed(git, base, tree, path)
        if status == "A":
            if obeyed or shadows(path, own.packages):
                remove.append(path)
        elif obeyed or own.guards(path):
            restore.append(path)
    return TestChange(tuple(restore), tuple(remove))


def _tables_changed(git: Git, base: str, tree: str, path: str) -> bool:
    """Do the tables that judge differ in this pyproject.toml?"""
    if PurePosixPath(path).name != "pyproject.toml":
        return False
    return _tables(git, base, path) != _tables(git, tree, path)


def _tables(git: Git, tree: str, path: str) -> object:
    """None where there are none; the text itself where it cannot be read as TOML."""
    text = git.run("cat-file", "blob", f"{tree}:{path}", check=False).decode("utf-8", "replace")
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError:
        return text
    if not isinstance(tool, dict):
        return None
    return {name: tool[name] for name in TABLES if name in tool} or None
