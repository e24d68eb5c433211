"""ledger.json: what happened, iteration by iteration, derived from the journal; nothing reads it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from donewhen.core.reasons import exit_code
from donewhen.system import fs

VERSION = 1


@dataclass
class Page:
    """What the records read so far add up to; `now` is the iteration they speak of."""

    reason: str = ""
    signal: int = 0
    usage: dict[str, Any] = field(default_factory=lambda: {"usd": 0.0, "tokens": 0, "known": False})
    baseline: dict[str, Any] = field(default_factory=dict)
    iterations: dict[int, dict[str, Any]] = field(default_factory=dict)
    now: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.now = self.baseline

    def write(self, path: Path, run: str, goal: str) -> None:
        """Render the ledger anew."""
        fs.write_atomic(path, json.dumps(self.render(run, goal)).encode() + b"\n")

    def render(self, run: str, goal: str) -> dict[str, Any]:
        """The ledger as JSON values."""
        return {
            "version": VERSION,
            "derived": "from journal.jsonl; nothing is decided by this file, and nothing reads it back",
            "run": run,
            "goal": goal,
            "reason": self.reason,
            "exit": exit_code(self.reason, self.signal) if self.reason else None,
            "usage": self.usage,
            "baseline": self.baseline.get("verdicts", {}).get("baseline"),
            "iterations": list(self.iterations.values()),
        }

    def read(self, record: dict[str, Any]) -> None:
        """The next record of the journal: its kind, type and data."""
        data = record["data"]
        match record["kind"], record["type"]:
            case "intent", "Anchor":
                number = data["iteration"]
                self.now = self.iterations.setdefault(number, {"iteration": number})
            case "event", "AgentEnded":
                self._agent(data)
            case "event", "Judged":
                summary = data["summary"]
                found = {k: summary[k] for k in ("state", "proof", "tree", "score")}
                self.now.setdefault("verdicts", {})[data["purpose"]] = found
            case "event", "Recorded":
                self.now["commit"] = data["commit"]
            case "event", "Interrupted":
                self.reason, self.signal = "interrupted", data["signal"]
            case "event", "Resumed":
                self.reason, self.signal = "", 0
            case "intent", "Finish":
                self.reason = data["reason"]

    def _agent(self, data: dict[str, Any]) -> None:
        used = data["usage"]
        self.now.setdefault("agent", []).append({"end": data["end"], "usage": used})
        self.usage["usd"] += used["usd"]
        self.usage["tokens"] += used["tokens"]
        self.usage["known"] = self.usage["known"] or used["known"]
