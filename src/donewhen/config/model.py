"""The configuration as values. Every value knows who set it: default < file < flag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

from donewhen.core.contract import Limits


class Source(IntEnum):
    """Who set a value; the higher one wins. No key is read from the environment."""

    DEFAULT = 0
    FILE = 1
    FLAG = 2


@dataclass(frozen=True)
class AgentConfig:
    """One `[[agents]]` table: a rung of the ladder."""

    use: str
    after: int = 2
    permissions: str = "edit"
    env: tuple[str, ...] = ()
    auth: str = "key"


@dataclass(frozen=True)
class Workspace:
    """`[workspace]`: where the agent works, and what a fresh checkout needs."""

    mode: str = "worktree"
    setup: tuple[str, ...] = ()
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()


@dataclass(frozen=True)
class Integrity:
    """`[integrity]`: what else is guarded against weakening, and tests that no agent sees.

    `holdout` is a folder, absolute or relative to the configuration, "" for none.
    """

    protect: tuple[str, ...] = ()
    allow_test_changes: bool = False
    holdout: str = ""


@dataclass(frozen=True)
class Config:
    """`source` is the file it came from ("" for defaults); `gates` name -> values as checked.

    `origins` holds the dotted keys that somebody set; ask through `source_of`.
    """

    source: str = ""
    exit: str = "gates"
    baseline: str = "auto"
    limits: Limits = field(default_factory=Limits)
    workspace: Workspace = field(default_factory=Workspace)
    integrity: Integrity = field(default_factory=Integrity)
    gates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    agents: tuple[AgentConfig, ...] = ()
    origins: Mapping[str, Source] = field(default_factory=dict)

    def source_of(self, key: str) -> Source:
        """Who set `key`, e.g. "limits.wall_s" (a field of Limits) or "baseline"."""
        return self.origins.get(key, Source.DEFAULT)

    def with_flags(self, limits: Mapping[str, float | int], baseline: str | None = None) -> Config:
        """The same with what the command line said; flags win."""
        said = [f"limits.{name}" for name in limits] + (["baseline"] if baseline else [])
        return replace(
            self,
            baseline=baseline or self.baseline,
            limits=replace(self.limits, **dict(limits)),  # type: ignore[arg-type]  # checked by units
            origins={**self.origins, **dict.fromkeys(said, Source.FLAG)},
        )
