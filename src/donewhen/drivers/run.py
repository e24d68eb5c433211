"""One run on disk: its plan, journal and evidence, and the state that they add up to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from donewhen.core.commands import Command
from donewhen.core.contract import Contract
from donewhen.core.events import Fact
from donewhen.core.machine import initial, replay
from donewhen.core.state import LoopState
from donewhen.core.verdict import Purpose
from donewhen.drivers.plan import Plan, from_dict
from donewhen.drivers.repo import Repo
from donewhen.drivers.workspace import Base, Workspace, snapshot
from donewhen.errors import Corrupt
from donewhen.gates.env import tools_of
from donewhen.store.evidence import Evidence
from donewhen.store.journal import Journal
from donewhen.store.ledger import Page
from donewhen.store.records import event_record, facts, intent_record
from donewhen.system import clock, fs
from donewhen.system.git import push_refusal_env
from donewhen.system.redact import secrets
from donewhen.system.treekey import TreeKeeper


@dataclass
class Told:
    """What the journal's records add up to, fed one by one: the chain is read through once.

    `commits` by iteration, `verdicts` the digest of each iteration's verdict.json (0: the base's),
    `page` for the ledger.
    """

    commits: dict[int, str] = field(default_factory=dict)
    page: Page = field(default_factory=Page)
    verdicts: dict[int, str] = field(default_factory=dict)
    baseline: str = ""
    events: list[dict[str, Any]] = field(default_factory=list)
    judging: int = -1  # the iteration whose verdict is begun and not recorded
    _at: int = 0

    def opened(self, record: dict[str, Any]) -> None:
        """A record found when the journal is opened; the events among them are the run's state."""
        self.read(record)
        if record["kind"] == "event":
            self.events.append(record)

    def read(self, record: dict[str, Any]) -> None:
        self.page.read(record)
        match record["type"]:
            case "Record":
                self._at = record["data"]["iteration"]
            case "RunGates":
                self._at = self.judging = record["data"]["iteration"]
            case "Recorded":
                self.commits[self._at] = str(record["data"]["commit"])
            case "Judged":
                kept = str(record["data"]["summary"]["evidence"])
                self.verdicts[self._at], self.judging = kept, -1
                if record["data"]["purpose"] == Purpose.BASELINE and not self.baseline:
                    self.baseline = kept


@dataclass
class Run:
    """An opened run. `journal` is the only truth; everything else beside it is derived."""

    id: str
    repo: Repo
    plan: Plan
    base: Base
    journal: Journal
    evidence: Evidence
    workspace: Workspace
    told: Told

    @cached_property
    def no_push(self) -> dict[str, str]:
        """Environment under which no push of agent or gate succeeds."""
        return push_refusal_env(self.repo.git, self.dir / "gitconfig")

    @property
    def contract(self) -> Contract:
        return self.plan.contract

    @property
    def dir(self) -> Path:
        return self.repo.layout.run(self.id)

    @cached_property
    def opened_state(self) -> LoopState:
        """Where the journal says the run stood when it was opened."""
        events, self.told.events = self.told.events, []
        return replay(self.contract, facts(events))

    def append(self, fact: Fact, command: Command | None) -> None:
        """Journal what happened and, before it is performed, what comes next; one fsync."""
        records = [event_record(fact)]
        if command is not None:
            records.append(intent_record(command))
        self.journal.append(self.journal.seq, records)
        for record in records:
            self.told.read(record)

    def recorded(self, iteration: int) -> str:
        """The commit that the journal names for an iteration; refs can be moved by anybody."""
        if iteration not in self.told.commits:
            raise Corrupt(f"the journal of {self.id} records no commit for iteration {iteration}")
        return self.told.commits[iteration]

    def restore_journal(self) -> None:
        """Put journal and contract back as the mirror has them. Raises Corrupt if it has not."""
        layout = self.repo.layout
        layout.prepare()
        self.journal = Journal.restore_from_mirror(
            layout.journal(self.id), layout.mirror_journal(self.id), self.journal.head
        )
        fs.write_atomic(layout.contract(self.id), layout.mirror_contract(self.id).read_bytes())


def start(repo: Repo, plan: Plan) -> Run:
    """Make the run on disk: snapshot the base, freeze the contract, open an empty journal."""
    run_id = repo.runs.new_id(clock.now())
    keeper = TreeKeeper(repo.git, repo.layout.index("checkout"))
    base = snapshot(repo.git, keeper, run_id)
    created = clock.stamp(clock.now())
    repo.runs.create(run_id, plan.to_dict(run_id, base, created))
    return _opened(run_id, repo, plan, base)


def load(repo: Repo, run_id: str) -> Run:
    """Open a run that exists, by its full id."""
    plan, base = from_dict(repo.runs.contract(run_id))
    return _opened(run_id, repo, plan, base)


def _opened(run_id: str, repo: Repo, plan: Plan, base: Base) -> Run:
    layout = repo.layout
    place = plan.checkout if plan.in_place else layout.tree(run_id)
    told = Told()
    return Run(
        id=run_id,
        repo=repo,
        plan=plan,
        base=base,
        journal=Journal.open(layout.journal(run_id), layout.mirror_journal(run_id), told.opened),
        told=told,
        evidence=Evidence(layout.run(run_id), secrets(repo.environ)),
        workspace=Workspace(
            repo.git, place, run_id, base, layout.index(run_id), plan.provision.link
        ),
    )


def tools(run: Run) -> Path:
    """Where the project's tools are: in the worktree only if `setup` built them there."""
    built = run.plan.provision.setup
    return tools_of(run.workspace.path, run.plan.checkout) if built else run.plan.checkout


def fresh_state() -> LoopState:
    """The state before the first fact."""
    return initial()


def environment(run: Run) -> Mapping[str, str]:
    """The user's environment: as frozen at the start, with today's values of secrets."""
    now = run.repo.environ
    frozen = run.plan.environ
    return {**{k: v for k, v in now.items() if k not in frozen}, **frozen} if frozen else dict(now)
