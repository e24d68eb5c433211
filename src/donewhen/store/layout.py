"""Every path name we write, in one place."""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from donewhen.errors import NotFound, StoreError
from donewhen.system import fs

RUN_ID = re.compile(r"r\d{8}-\d{6}-[0-9a-f]{4}")
README = """This folder belongs to donewhen (https://pypi.org/project/donewhen/).

runs/       one folder a run: contract.json, journal.jsonl (the only truth), evidence
inbox/      results and questions that wait for a person
locks/, index/  for work in progress

Type `donewhen status` to see what is in it. Removing the folder removes the history of all runs
of this repository; the branches donewhen/* and the refs under refs/donewhen/ stay.
"""


def state_home(environ: Mapping[str, str]) -> Path:
    """Where state of the user's lives: DONEWHEN_STATE as given, else the platform's own place.

    Raises StoreError where there is no home to derive it from.
    """
    if given := environ.get("DONEWHEN_STATE"):
        return Path(given).absolute()
    if xdg := environ.get("XDG_STATE_HOME"):
        return Path(xdg) / "donewhen"
    home = Path(environ["HOME"]) if environ.get("HOME") else _home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "donewhen"
    return home / ".local" / "state" / "donewhen"


def _home() -> Path:
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise StoreError(
            "there is no home folder to keep state in",
            hint="Set DONEWHEN_STATE to a folder of yours.",
        ) from error


@dataclass(frozen=True)
class Layout:
    """`home` is <git common dir>/donewhen; `state` the user's; `repo` a stable id of the repository."""

    common: Path
    state: Path
    repo: str

    @staticmethod
    def of(common_dir: Path, state: Path) -> Layout:
        real = os.path.realpath(common_dir)
        digest = hashlib.sha256(os.fsencode(real)).hexdigest()[:12]
        return Layout(common_dir, state, digest)

    @cached_property
    def home(self) -> Path:
        """In the repository; where that cannot be written, below the user's state."""
        wanted = self.common / "donewhen"
        if wanted.exists():
            return wanted if os.access(wanted, os.W_OK) else self._elsewhere
        return wanted if os.access(self.common, os.W_OK) else self._elsewhere

    @property
    def _elsewhere(self) -> Path:
        return self.state / "repos" / self.repo

    def prepare(self) -> None:
        """Create the folders, private, with a page that says what they are."""
        for place in (self.home, self.state):
            fs.make_private_dir(place)
            if not (place / "README").exists():
                fs.write_atomic(place / "README", README.encode())

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def inbox(self) -> Path:
        return self.home / "inbox"

    @property
    def history(self) -> Path:
        return self.home / "history.jsonl"

    def lock(self, name: str) -> Path:
        return self.home / "locks" / name

    def index(self, name: str) -> Path:
        return self.home / "index" / name

    def run(self, run: str) -> Path:
        return self.runs / checked(run)

    def contract(self, run: str) -> Path:
        return self.run(run) / "contract.json"

    def journal(self, run: str) -> Path:
        return self.run(run) / "journal.jsonl"

    def ledger(self, run: str) -> Path:
        return self.run(run) / "ledger.json"

    def iteration(self, run: str, number: int) -> Path:
        return self.run(run) / "iterations" / str(number)

    def runner_lock(self, run: str) -> Path:
        return self.run(run) / "runner.lock"

    def cancel(self, run: str) -> Path:
        return self.run(run) / "cancel"

    def mirror(self, run: str) -> Path:
        return self.state / "mirror" / self.repo / checked(run)

    def mirror_journal(self, run: str) -> Path:
        return self.mirror(run) / "journal.jsonl"

    def mirror_contract(self, run: str) -> Path:
        return self.mirror(run) / "contract.json"

    def tree(self, run: str) -> Path:
        """The worktree of a run."""
        return self.state / "trees" / self.repo / run


def checked(run: str) -> str:
    """A run id that is nothing but one. Raises NotFound otherwise."""
    if not RUN_ID.fullmatch(run):
        raise NotFound(f"{run!r} is no run id", hint="Type: donewhen status")
    return run
