"""A judge for tests: real repositories, real gates, one verdict at a time."""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.core.verdict import GateResult, GateState, Purpose, Verdict
from donewhen.gates.base import GateDef
from donewhen.gates.parse import from_command, unique
from donewhen.judge.baseline import Baseline, from_results
from donewhen.judge.cleanroom import decide
from donewhen.judge.judge import Request, judge
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper
from tests.conftest import Project

PYTEST = "python -m pytest -q"


def gate(command: str = PYTEST, source: str = "detected", **changes: Any) -> GateDef:
    return replace(from_command(command, source=source), **changes)


@dataclass
class Bench:
    """Judges one project: the baseline first, then whatever its tree has become."""

    project: Project
    scratch: Path
    gates: tuple[GateDef, ...] = (gate(),)
    mode: str = "auto"
    own: bool = False
    extra_env: dict[str, str] = field(default_factory=dict)
    before: Baseline | None = None
    base: str = ""
    count: itertools.count[int] = field(default_factory=itertools.count)

    def request(self, purpose: Purpose = Purpose.ITERATION) -> Request:
        git = Git(self.project.root)
        return Request(
            tree=self.project.root,
            checkout=self.project.root,
            gates=unique(list(self.gates)),
            folder=self.scratch / f"judged-{next(self.count)}",
            environ=dict(os.environ),
            keeper=TreeKeeper(git, self.scratch / "index"),
            base=self.base,
            purpose=purpose,
            mode=self.mode,
            before=self.before,
            extra_env=self.extra_env,
            own=self.own,
        )

    def baseline(self) -> Verdict:
        verdict = judge(self.request(Purpose.BASELINE))
        self.before = from_results(verdict.gates)
        self.base = verdict.tree
        return verdict

    def judge(self) -> Verdict:
        return judge(self.request())

    def decide(
        self, provide: Any = lambda _room: None, told: frozenset[str] = frozenset()
    ) -> Verdict:
        """The deciding verdict on the checkout's tree as it is now."""
        request = replace(self.request(Purpose.DECIDING), told=told)
        assert request.keeper
        git = request.keeper.git
        tree = request.keeper.key()
        commit = git.commit_tree(tree, [], b"delivered\n")
        room = self.scratch / "room"
        verdict = decide(request, git, tree, commit, room, provide)
        assert not room.exists()
        assert git.worktrees() == [self.project.root]
        assert verdict.tree == tree
        return verdict


def one(verdict: Verdict) -> GateResult:
    (result,) = verdict.gates
    return result


def states(verdict: Verdict) -> dict[str, str]:
    return {g.name: g.state.value for g in verdict.gates}


PASS, FAIL, ERROR = GateState.PASS, GateState.FAIL, GateState.ERROR
