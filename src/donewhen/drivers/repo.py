"""The repository a command was started in: its git, its state on disk, its runs and inbox."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from donewhen.errors import UsageError
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


def require_git(checkout: Path, environ: Mapping[str, str]) -> Git:
    """The repository around `checkout`. Raises UsageError where there is none."""
    top = Git.toplevel(checkout)
    if top is None and (bare := Git.repository(checkout)):
        if bare.name == ".git":
            raise UsageError(
                f"{checkout} is git's own folder, and no files of yours to work on are in it",
                hint=f"Type: cd {shlex.quote(str(bare.parent))}",
            )
        work = shlex.quote(f"{bare.with_suffix('')}-work")
        raise UsageError(
            f"{checkout} is a bare repository, which has no files to work on",
            hint=f"Type: git -C {shlex.quote(str(bare))} worktree add {work} && cd {work}",
        )
    if top is None:
        raise UsageError(
            f"{checkout} is not inside a git repository, so nothing could be undone",
            hint="Type `git init && git add -A && git commit -m start`.",
        )
    return Git(top, dict(environ))
