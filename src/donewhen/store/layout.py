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

from donewhen.errors import NotFound, StoreError, UsageError
from donewhen.system import fs

RUN_ID = re.compile(r"r[0-9]{8}-[0-9]{6}-[0-9a-f]{4}")
# The worktree of a run, or one made for a single purpose of it.
TREE_NAME = re.compile(RUN_ID.pattern + r"(-[a-z]+)?")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,100}")
TEMP = ("/tmp", "/var/tmp", "/dev/shm", "/private/var/folders")  # noqa: S108  # places to avoid
MEND_STATE = "Set DONEWHEN_STATE to a folder of yours outside of any repository."
README = """This folder belongs to donewhen, which runs coding agents until the gates pass.

runs/           one folder a run: contract.json, journal.jsonl (the only truth), evidence
inbox/          results and questions that wait for a person
history.jsonl   one line for every run that ended
cache/          results of gates, to save running them on the same tree again
locks/, index/  for work in progress

Type `donewhen status` and `donewhen inbox` to see what is in it. It may be removed while no run is
active; that removes the history of all runs of this repository. The branches donewhen/* and the
refs under refs/donewhen/ stay, and so do the copies here: {mirror}
"""
STATE_README = """This folder belongs to donewhen, which runs coding agents until the gates pass.

trees/    worktrees of runs: work in progress, and results that wait in an inbox
mirror/   copies of the journals and contracts of runs, to find and mend losses
keys/     secrets that sign kept results and waivers
waivers/  what you allowed of what integrity found
repos/    state of repositories whose own folder could not be written

Type `donewhen inbox` in a repository to see what waits. It may be removed while no run is active;
results that were not accepted stay under refs/donewhen/ of their repositories. After that type
`git worktree prune` there.
"""


def state_home(environ: Mapping[str, str]) -> Path:
    """Where state of the user's lives: DONEWHEN_STATE as given, else the platform's own place.

    Raises UsageError where that is a temp folder (its worktrees would vanish) or in a repository
    (tools in a worktree would find the configuration of the wrong project).
    """
    if given := environ.get("DONEWHEN_STATE"):
        return Path(given).absolute()
    place = _default_state(environ)
    real = Path(os.path.realpath(place))
    temp = {os.path.realpath(t) for t in (*TEMP, environ.get("TMPDIR") or TEMP[0])} - {"/"}
    if inside := next((p for p in real.parents if str(p) in temp), None):
        raise UsageError(
            f"the state folder {place} is in the temp folder {inside}", hint=MEND_STATE
        )
    if repo := next((p for p in real.parents if (p / ".git").exists()), None):
        raise UsageError(f"the state folder {place} is in the repository {repo}", hint=MEND_STATE)
    return place


def _default_state(environ: Mapping[str, str]) -> Path:
    xdg, home = Path(environ.get("XDG_STATE_HOME", "")), Path(environ.get("HOME", ""))
    if xdg.is_absolute():  # a relative one is to be ignored, says its specification
        return xdg / "donewhen"
    home = home if home.is_absolute() else _home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "donewhen"
    return home / ".local" / "state" / "donewhen"


def _home() -> Path:
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError as error:
        raise UsageError("there is no home folder to keep state in", hint=MEND_STATE) from error


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
        """Where we write: in the repository; where that cannot be, below the user's state."""
        wanted = self._inside
        there = wanted if os.path.lexists(wanted) else self.common
        usable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
        return wanted if usable else self._elsewhere

    @cached_property
    def places(self) -> tuple[Path, ...]:
        """Where we read: `home`, and the other place if it holds what was written at another time."""
        others = (p for p in (self._inside, self._elsewhere) if os.access(p, os.R_OK | os.X_OK))
        return tuple(dict.fromkeys((self.home, *others)))

    @property
    def _inside(self) -> Path:
        return self.common / "donewhen"

    @property
    def _elsewhere(self) -> Path:
        return self.state / "repos" / self.repo

    def prepare(self) -> None:
        """Create the folders, private, with a page that says what they are."""
        text = README.format(mirror=self.state / "mirror" / self.repo)
        for place, page in ((self.home, text), (self.state, STATE_README)):
            try:
                fs.make_private_dir(place)
                if not (place / "README").exists():
                    fs.write_atomic(place / "README", page.encode("utf-8", "surrogateescape"))
            except StoreError as error:
                raise StoreError(error.message, hint=MEND_STATE) from error

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def inbox(self) -> Path:
        return self.home / "inbox"

    @property
    def history(self) -> Path:
        return self.home / "history.jsonl"

    @property
    def cache(self) -> Path:
        """Results of gates, by what they depend on."""
        return self.home / "cache"

    @property
    def cache_key(self) -> Path:
        """The secret that signs them."""
        return self.state / "keys" / f"cache-{self.repo}"

    @property
    def waivers(self) -> Path:
        """What a person allowed in this repository, out of its reach."""
        return self.state / "waivers" / f"{self.repo}.json"

    def lock(self, name: str) -> Path:
        return self.home / "locks" / named(name)

    def index(self, name: str) -> Path:
        return self.home / "index" / named(name)

    def run(self, run: str) -> Path:
        """The folder of a run, in whichever place it was made."""
        name = checked(run)
        found = (place / "runs" / name for place in self.places)
        return next((p for p in found if p.is_dir()), self.runs / name)

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
        """The worktree of a run, or `<run>-<purpose>`: one for a single purpose of it."""
        return self.state / "trees" / self.repo / _only(TREE_NAME, run)


def checked(run: str) -> str:
    """A run id that is nothing but one: people type them. Raises NotFound otherwise."""
    if not RUN_ID.fullmatch(run):
        raise NotFound(f"{run!r} is no run id", hint="Type: donewhen status")
    return run


def named(name: str) -> str:
    """A plain file name, no path. Raises StoreError otherwise."""
    return _only(NAME, name)


def _only(pattern: re.Pattern[str], name: str) -> str:
    if not pattern.fullmatch(name):
        raise StoreError(f"{name!r} is no name for a file of ours")
    return name
