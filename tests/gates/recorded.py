"""Reports recorded from the real tools: tests/data/gates/TOOL/{command, report.*}."""

from __future__ import annotations

from pathlib import Path

from donewhen.gates import load
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.parse import parse_flag

DATA = Path(__file__).parents[1] / "data" / "gates"


def gate_of(tool: str) -> GateDef:
    """The gate that the recorded command is, as a user types it."""
    command, version = (DATA / tool / "command").read_text("utf-8").splitlines()
    assert version.startswith(tool), "second line: tool, version, exit code"
    return parse_flag(command)


def text_of(tool: str, tree: Path) -> str:
    (report,) = (DATA / tool).glob("report.*")
    return report.read_text("utf-8").replace("{tree}", str(tree))


def reading(
    gate: GateDef, text: str, code: int, tree: Path, stderr: str = "", out: bool = True
) -> Reading:
    """What the adapter reads from this report: on standard output, or in a file (`out` False)."""
    report = None
    if not out:
        report = tree.parent / "report"
        report.write_text(text, "utf-8")
    done = Completed(code, text if out else "", stderr, report, tree=tree)
    return load(gate.format).read(gate, done)
