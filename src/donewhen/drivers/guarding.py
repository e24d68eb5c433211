"""Watches what stands outside the worktree while the agent works and while gates run its code.

Refs and what git obeys are compared over each ACT, what git obeys also over each JUDGE, the user's
files from look to look. A change that is charged becomes the fact that ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from donewhen.core.events import Outside, Tampered
from donewhen.drivers import outside
from donewhen.drivers.act import Acted
from donewhen.drivers.charging import Case, Charge, charge, produced
from donewhen.drivers.outside import Change
from donewhen.drivers.reading import is_kept
from donewhen.drivers.run import Run, load
from donewhen.drivers.workspace import pin_of
from donewhen.errors import DonewhenError
from donewhen.system import clock, fs
from donewhen.system.treekey import TreeKeeper

QUIET = ("refs/donewhen/", "refs/heads/donewhen/")  # other runs at work
SAID_CAP = 2000  # characters of what is told about changes


class Guard:
    """One run's. `tell` is what a watcher hears of changes."""

    def __init__(self, run: Run, tell: Callable[[str], None]) -> None:
        self.run = run
        self.tell = tell
        self.git = run.repo.git.at(run.plan.checkout)
        self._keeper = TreeKeeper(self.git, run.repo.layout.index("checkout"))
        commits = {"base": run.base.commit} | {str(n): c for n, c in run.told.commits.items()}
        self._pins = {pin_of(run.id, what): commit for what, commit in commits.items()}
        self._whole: dict[str, object] = {}  # files of ours as they were when they were as recorded
        self._seen = outside.look(self.git, run.id)
        self._tree = self._files() if run.journal.seq else run.base.tree
        self._since = clock.stamp(clock.now())
        self._begun: set[str] = set()  # branches that appeared while the agent worked

    def pinned(self, iteration: int, commit: str) -> None:
        """A pin of ours, made just now."""
        self._pins[pin_of(self.run.id, str(iteration))] = commit

    def waited(self) -> None:
        """Time went by in which no agent worked: what the user did meanwhile is theirs."""
        self._tree = self._files()

    def turn_begins(self, note: Path) -> None:
        """Look, and keep it in `note`; a turn that another process began is compared with its look."""
        self._seen = outside.look(self.git, self.run.id, self._seen)
        kept = fs.read_bytes(note)
        if kept is not None and (seen := outside.Outside.from_json(kept)):
            self._seen, self._tree = seen, seen.tree
            return
        text = replace(self._seen, tree=self._tree).to_json()
        fs.write_atomic(note, text.encode("utf-8", "surrogateescape"), durable=False)

    def turn_ended(self, acted: Acted) -> Tampered | Outside | None:
        """What changed since `turn_begins`, if it is charged; the rest is told."""
        if fact := self._moved_pins() or self._other_verdict():
            return fact
        return self._compared(self._look(files=True), acted.said, acted.tool_events)

    def gates_ran(self, last: bool) -> Tampered | Outside | None:
        """What the agent's code did while gates ran it; the user's files are read before the end."""
        now = self._look(files=last)
        same_refs = replace(
            now, refs=self._seen.refs, remotes=self._seen.remotes, logs=self._seen.logs
        )
        moved = (self._moved_pins() or self._other_verdict()) if last else None
        return moved or self._compared(same_refs, "", True)

    # -- looking ----------------------------------------------------------------------------------

    def _files(self) -> str:
        return "" if self.run.workspace.in_place else outside.files(self._keeper)

    def _look(self, files: bool) -> outside.Outside:
        tree = self._files() if files else ""
        return replace(outside.look(self.git, self.run.id, self._seen), tree=tree)

    def _moved_pins(self) -> Tampered | None:
        """Our own refs must stand where the journal says; they are put back for who looks."""
        doubts = [name for name, commit in self._pins.items() if not self._stands(name, commit)]
        now = self.run.repo.git.refs(f"refs/donewhen/{self.run.id}/") if doubts else {}
        moved = [name for name in doubts if now.get(name) != self._pins[name]]
        for name in moved:
            self.run.repo.git.update_ref(name, self._pins[name])
        return (
            Tampered(clock.now(), f"{', '.join(moved)} did not stand as recorded")
            if moved
            else None
        )

    def _stands(self, name: str, commit: str) -> bool:
        """Is it in its own file, as it was set? Else git is asked: it may be packed."""
        place = self.run.repo.git.common_dir / name
        return self._as_before(
            place, lambda: (fs.read_bytes(place) or b"").strip() == commit.encode()
        )

    def _other_verdict(self) -> Tampered | None:
        for iteration, digest in self.run.told.verdicts.items():
            place = self.run.repo.layout.iteration(self.run.id, iteration) / "verdict.json"
            if iteration == self.run.told.judging or self._as_before(
                place,
                lambda p=place, d=digest: is_kept(p, d),  # type: ignore[misc]  # bound now
            ):
                continue
            return Tampered(clock.now(), f"{place} is not what was recorded")
        return None

    def _as_before(self, place: Path, whole: Callable[[], bool]) -> bool:
        """`whole()`, asked again only for a file that was written since."""
        try:
            info = place.stat()
        except OSError:
            return whole()
        stamp = (info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino)
        if self._whole.get(str(place)) != stamp:
            if not whole():
                return False
            self._whole[str(place)] = stamp
        return True

    # -- judging ----------------------------------------------------------------------------------

    def _compared(
        self, now: outside.Outside, said: str, tool_events: bool
    ) -> Tampered | Outside | None:
        before, since = replace(self._seen, tree=self._tree), self._since
        self._seen = now
        self._tree = now.tree or self._tree
        self._since = clock.stamp(clock.now())
        found = outside.changes(self.git, before, now)
        if not found:
            return None
        loud = [c for c in found if not c.what.startswith(QUIET)]
        if loud:
            where = "in the repository" if self.run.workspace.in_place else "outside the worktree"
            self.tell(f"{where}: {outside.told(loud)}")
        case = self._case(found, said, tool_events, since)
        self._begun |= {c.what for c in found if c.kind == "ref" and not c.where and not c.was}
        return _fact(charge(case, found))

    def _case(self, found: list[Change], said: str, tool_events: bool, since: str) -> Case:
        run = self.run
        made: frozenset[str] = frozenset()
        if any(c.kind == "file" for c in found):
            trees = (*self._pins.values(), run.workspace.keeper.key())
            made = produced(self.git, run.base.commit, trees)
        return Case(
            git=self.git,
            cwd=run.workspace.path / run.plan.prefix,
            said=said,
            tool_events=tool_events,
            base=run.base.commit,
            head=run.workspace.here.head() or "",
            made=made,
            brought=frozenset(_brought(run, found, since)),
            own=frozenset(self._begun),
            in_place=run.workspace.in_place,
        )


def _brought(run: Run, found: list[Change], since: str) -> Iterator[str]:
    """The changes that accepts of other runs explain, since that time."""
    git = run.repo.git
    for item in run.repo.inbox.items(open_only=False):
        said = (h for h in item["history"] if h["what"] == "accepted")
        if item["run"] == run.id or not any(h["at"] >= since for h in said):
            continue
        try:
            base = load(run.repo, item["run"]).base.commit
        except DonewhenError:
            continue
        pins = set(git.refs(f"refs/donewhen/{item['run']}/").values()) - {base}
        for pin in pins:
            yield from (f"file:{os.fsdecode(path)}" for path, _ in git.changed_blobs(base, pin))
        for change in found:
            if change.kind == "ref" and change.now and _holds(run, change.now, pins, item["run"]):
                yield f"ref:{change.what}"


def _holds(run: Run, commit: str, pins: set[str], other: str) -> bool:
    """Is it a state of that run, a merge of one, or one that was squashed?"""
    git = run.repo.git
    words = git.text("log", "-1", "--format=%B", commit, check=False)
    return f"donewhen run {other}" in words or any(git.is_ancestor(pin, commit) for pin in pins)


def _fact(found: Charge) -> Tampered | Outside | None:
    sure = [*found.tampered, *found.guilty]
    words = [f"{outside.told(sure)}: named by the agent, or holding what it made"] if sure else []
    if found.unclear:
        words.append(f"{outside.told(list(found.unclear))}: yours or the agent's")
    if not words:
        return None
    what = "; ".join(words)[:SAID_CAP]
    return Tampered(clock.now(), what) if found.tampered else Outside(clock.now(), what)
