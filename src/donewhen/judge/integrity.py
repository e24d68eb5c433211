"""Integrity, first part: which protected files (tests and their configuration) a change touches.

Tests that were changed may have been weakened: the clean room runs their base versions too.
"""

from __future__ import annotations

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
        path = name.decode("utf-8", "surrogateescape")
        if status == "A":
            if configuration(path):
                remove.append(path)
        elif protected(path):
            restore.append(path)
    return TestChange(tuple(restore), tuple(remove))
