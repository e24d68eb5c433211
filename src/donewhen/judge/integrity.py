"""Integrity, first part: which protected files (tests and their configuration) a change touches.

Tests that were changed may have been weakened: the clean room runs their base versions too.
pyproject.toml is protected where its pytest tables change, not where a dependency does.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import PurePosixPath

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
    "tox.ini",
    "setup.cfg",
    "sitecustomize.py",
    "usercustomize.py",
    "*.pth",
    ".coveragerc",
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


def protected(path: str) -> bool:
    """Is this a test, or configuration that tests obey?"""
    pure = PurePosixPath(path)
    in_tests = bool(TEST_FOLDERS & set(pure.parts[:-1]))
    return in_tests or _any(pure.name, TEST_FILES) or configuration(path)


def configuration(path: str) -> bool:
    return _any(PurePosixPath(path).name, CONFIG)


def _any(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def test_change(git: Git, base: str, tree: str) -> TestChange:
    """What a change does to protected files. New tests weaken nothing; new configuration may."""
    restore, remove = [], []
    for status, name in git.changed_paths(base, tree):
        path = os.fsdecode(name)
        obeyed = configuration(path) or _pytest_changed(git, base, tree, path)
        if status == "A":
            if obeyed:
                remove.append(path)
        elif obeyed or protected(path):
            restore.append(path)
    return TestChange(tuple(restore), tuple(remove))


def _pytest_changed(git: Git, base: str, tree: str, path: str) -> bool:
    """Do the tables that pytest obeys differ in this pyproject.toml?"""
    if PurePosixPath(path).name != "pyproject.toml":
        return False
    return _pytest_tables(git, base, path) != _pytest_tables(git, tree, path)


def _pytest_tables(git: Git, tree: str, path: str) -> object:
    """None where there are none; the text itself where it cannot be read as TOML."""
    text = git.run("cat-file", "blob", f"{tree}:{path}", check=False).decode("utf-8", "replace")
    try:
        tool = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError:
        return text
    return tool.get("pytest") if isinstance(tool, dict) else None
