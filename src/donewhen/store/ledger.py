"""ledger.json: what happened, iteration by iteration, derived from the journal; nothing reads it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from donewhen.system import fs

VERSION = 1


def write(path: Path, run: str, goal: str, records: Iterable[dict[str, Any]]) -> None:
    """Render the ledger anew."""
    fs.write_atomic(path, json.dumps(render(run, goal, records), indent=2).encode() + b"\n")


def render(run: str, goal: str, records: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Pure: the journal's records as a list of iterations."""
    iterations: dict[int, dict[str, Any]] = {}
    baseline: dict[str, Any] = {}
    now = baseline
    reason = ""
    for record in records:
        data = record["data"]
        match record["kind"], record["type"]:
            case "intent", "Anchor":
                now = iterations.setdefault(data["iteration"], {"iteration": data["iteration"]})
            case "event", "AgentEnded":
                now.setdefault("agent", []).append({"end": data["end"], "usage": data["usage"]})
            case "event", "Judged":
                summary = data["summary"]
                found = {k: summary[k] for k in ("state", "proof", "tree", "score")}
                now.setdefault("verdicts", {})[data["purpose"]] = found
            case "event", "Recorded":
                now["commit"] = data["commit"]
            case "intent", "Finish":
                reason = data["reason"]
    return {
        "version": VERSION,
        "derived": "from journal.jsonl; nothing is decided by this file",
        "run": run,
        "goal": goal,
        "reason": reason,
        "baseline": baseline.get("verdicts", {}).get("baseline"),
        "iterations": list(iterations.values()),
    }
