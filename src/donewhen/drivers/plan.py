"""What a run promises, frozen into contract.json before anything starts.

Gates come from the user's checkout and the flags; the worktree is never read for configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from donewhen.agents.base import AgentSpec
from donewhen.config.model import Integrity
from donewhen.core.contract import Contract, Limits, Rung, Thresholds
from donewhen.drivers.provision import Provision
from donewhen.drivers.workspace import Base
from donewhen.errors import Corrupt
from donewhen.gates.base import GateDef

VERSION = 1


@dataclass(frozen=True)
class Plan:
    """One run's promises. `prefix` is where in the repository it was started ("." for the top).

    `templates` are those of the prompt; `environ` is the user's environment at the start, without
    denied names and secrets.
    """

    goal: str
    checkout: Path
    prefix: str
    gates: tuple[GateDef, ...]
    agents: tuple[AgentSpec, ...]
    rungs: tuple[Rung, ...]
    limits: Limits = field(default_factory=Limits)
    thresholds: Thresholds = field(default_factory=Thresholds)
    baseline: str = "auto"
    accept_no_regression: bool = False
    no_wait: bool = False
    provision: Provision = field(default_factory=Provision)
    integrity: Integrity = field(default_factory=Integrity)
    in_place: bool = False
    templates: Mapping[str, str] = field(default_factory=dict)
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def contract(self) -> Contract:
        """The part that the core decides by."""
        return Contract(
            rungs=self.rungs,
            limits=self.limits,
            thresholds=self.thresholds,
            gates=tuple(g.name for g in self.gates),
            accept_no_regression=self.accept_no_regression,
            no_wait=self.no_wait,
        )

    def to_dict(self, run: str, base: Base, created: str) -> dict[str, Any]:
        """contract.json."""
        return {
            "version": VERSION,
            "run": run,
            "created": created,
            "goal": self.goal,
            "roots": [{"path": str(self.checkout), "base": base.tree}],
            "base": base.to_dict(),
            "prefix": self.prefix,
            "gates": [asdict(g) for g in self.gates],
            "agents": [asdict(a) for a in self.agents],
            "rungs": [asdict(r) for r in self.rungs],
            "limits": asdict(self.limits),
            "thresholds": asdict(self.thresholds),
            "baseline": self.baseline,
            "accept_no_regression": self.accept_no_regression,
            "no_wait": self.no_wait,
            "provision": asdict(self.provision),
            "integrity": asdict(self.integrity),
            "in_place": self.in_place,
            "templates": dict(self.templates),
            "environ": dict(self.environ),
        }


def from_dict(data: Mapping[str, Any]) -> tuple[Plan, Base]:
    """Read a contract back. Raises Corrupt for another version or a missing part."""
    if data.get("version") != VERSION:
        raise Corrupt(
            f"contract.json has version {data.get('version')!r}; this donewhen reads {VERSION}",
            hint="Use the donewhen that started the run, or start a new one.",
        )
    try:
        return _plan(data), Base(**data["base"])
    except (KeyError, TypeError, IndexError) as error:
        raise Corrupt(
            f"contract.json lacks a part: {error}", hint="Type `donewhen doctor`."
        ) from error


def _plan(data: Mapping[str, Any]) -> Plan:
    return Plan(
        goal=data["goal"],
        checkout=Path(data["roots"][0]["path"]),
        prefix=data["prefix"],
        gates=tuple(GateDef(**_tuples(g)) for g in data["gates"]),
        agents=tuple(AgentSpec(**_tuples(a)) for a in data["agents"]),
        rungs=tuple(Rung(**r) for r in data["rungs"]),
        limits=Limits(**data["limits"]),
        thresholds=Thresholds(**data["thresholds"]),
        baseline=data["baseline"],
        accept_no_regression=data["accept_no_regression"],
        no_wait=data["no_wait"],
        provision=Provision(**_tuples(data["provision"])),
        integrity=Integrity(**_tuples(data.get("integrity", {}))),
        in_place=data["in_place"],
        templates=data["templates"],
        environ=data["environ"],
    )


def _tuples(data: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
