"""The repository a command was started in: its git, its state on disk, its runs and inbox."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from donewhen.drivers.workspace import require_git
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout, state_home
from donewhen.store.runs import RunStore
from donewhen.system.git import Git


@dataclass(frozen=True)
class Repo:
    """Opened on demand: reading never creates a folder."""

    git: Git
    cwd: Path
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def root(self) -> Path:
        return self.git.root

    @cached_property
    def layout(self) -> Layout:
        return Layout.of(self.git.common_dir, state_home(self.environ))

    @cached_property
    def runs(self) -> RunStore:
        return RunStore(self.layout)

    @cached_property
    def inbox(self) -> Inbox:
        return Inbox(self.layout)


def open_repo(cwd: Path | None = None, environ: Mapping[str, str] | None = None) -> Repo:
    """The repository around `cwd`. Raises UsageError outside of one."""
    environ = dict(os.environ if environ is None else environ)
    here = (cwd or Path.cwd()).resolve()
    return Repo(require_git(here, environ), here, environ)
