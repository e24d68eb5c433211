"""Which gates: flags replace configuration and detection, `+` adds, configuration beats detection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from donewhen.gates import node_project, scripts
from donewhen.gates.base import GateDef
from donewhen.gates.detect import detect
from donewhen.gates.parse import is_addition, parse_flag, unique


def select_gates(
    place: Path,
    flags: Sequence[str],
    configured: Sequence[GateDef],
    has: Callable[[str], bool],
) -> tuple[GateDef, ...]:
    """The gates of a run or verdict in `place`; `has` says whether a program or module is there."""
    parsed = [parse_flag(flag) for flag in flags]
    if parsed and not all(is_addition(flag) for flag in flags):
        found = parsed
    else:
        found = [*(configured or detect(place, has)), *parsed]
    return unique([_resolved(gate, place) for gate in found])


def _resolved(gate: GateDef, place: Path) -> GateDef:
    """`npm test` and the like as the tool that they start, where that is known."""
    if gate.format != "exit" or scripts.named(gate.argv) is None:
        return gate
    return scripts.through(gate, node_project.package(place / gate.cwd))
