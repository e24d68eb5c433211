"""Which gate runs when: what failed last and what is quick comes first, the slow ones after.

What is known of earlier runs lies in a file of times; it decides the order and what an
intermediate verdict may leave out, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from donewhen.core.verdict import GateResult, GateState
from donewhen.errors import StoreError
from donewhen.gates.base import GateDef
from donewhen.system import fs

SLOW_S = 60.0  # a gate that took longer waits until the quick ones are through
MOST = 500  # gates that times are kept of
KINDS = ("format", "lint", "types", "build", "other", "test")  # cheap to expensive, as a rule


@dataclass(frozen=True)
class Last:
    """How a gate ended when it ran last: wall seconds, and whether it was red."""

    seconds: float
    red: bool


@dataclass(frozen=True)
class Times:
    """The last run of each gate, by its definition; `path` None remembers nothing."""

    path: Path | None
    known: Mapping[str, Last]

    @staticmethod
    def read(path: Path | None) -> Times:
        """What cannot be read is not known."""
        try:
            rows = json.loads((fs.read_bytes(path) if path else b"") or b"{}")
            known = {str(k): Last(float(s), bool(red)) for k, (s, red) in rows.items()}
        except (StoreError, ValueError, TypeError, AttributeError):
            known = {}
        return Times(path, known)

    def of(self, gate: GateDef) -> Last | None:
        return self.known.get(_mark(gate))

    def keep(self, gates: Sequence[GateDef], results: Sequence[GateResult]) -> None:
        """Remember what was measured now; a place that cannot be written is no error."""
        ran = {
            _mark(g): Last(r.seconds, r.state is not GateState.PASS)
            for g, r in zip(gates, results, strict=True)
            if r.seconds and not r.skipped and not r.cached_from
        }
        if self.path is None or not ran:
            return
        rows = list({**{k: v for k, v in self.known.items() if k not in ran}, **ran}.items())
        text = json.dumps({k: [v.seconds, v.red] for k, v in rows[-MOST:]})
        try:
            fs.make_private_dir(self.path.parent)
            fs.write_atomic(self.path, text.encode(), durable=False)
        except StoreError:
            return


def waves(gates: Sequence[GateDef], times: Times) -> tuple[list[GateDef], list[GateDef]]:
    """(the quick ones, the slow ones), each in the order to start them in."""

    def first(gate: GateDef) -> tuple[bool, float, int]:
        last = times.of(gate)
        kind = KINDS.index(gate.kind) if gate.kind in KINDS else len(KINDS)
        return (not (last and last.red), last.seconds if last else float(kind), kind)

    slow = {g.name for g in gates if (last := times.of(g)) and last.seconds > SLOW_S}
    ordered = sorted(gates, key=first)
    return [g for g in ordered if g.name not in slow], [g for g in ordered if g.name in slow]


def _mark(gate: GateDef) -> str:
    text = json.dumps([gate.name, gate.argv, gate.cwd])
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:16]
