"""What a linter, type checker or compiler found, judged: exit code and report must agree.

Pass = the exit code is in the pass set, the report is complete, no finding is an error, and where
the tool says how many files it looked at, that is not none. An exit code that the tool does not
give for findings is an error: it broke.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePath

from donewhen.core.fingerprint import assigned
from donewhen.core.verdict import Counts, Finding, GateState, Severity
from donewhen.gates.base import Completed, GateDef, Reading
from donewhen.gates.findings import FOREIGN, MESSAGE, TEXT, Project, ended, of_exit
from donewhen.gates.outcome import said
from donewhen.gates.severity import OFF, mapped, table

MOST = 50_000  # findings of a gate; more are counted, not kept
PARTS = {"errors": Severity.ERROR, "warnings": Severity.WARNING, "info": Severity.INFO}


@dataclass(frozen=True, slots=True)
class Found:
    """One diagnostic as the tool has it: `path` in its own words, line and column from 1, 0 if none."""

    rule: str
    message: str
    path: str = ""
    line: int = 0
    col: int = 0
    severity: Severity = Severity.ERROR
    security: bool = False


def judged(
    gate: GateDef,
    done: Completed,
    found: Iterable[Found],
    *,
    codes: Collection[int] = (1,),
    files: int | None = None,
    weak: bool = False,
) -> Reading:
    """The reading of a finished tool. `codes` are its exit codes for "something was found".

    `files` is how many it looked at, None where it does not say.
    """
    place = _Places(Project(done.tree, gate.cwd))
    levels = table(gate.severity)
    kept: list[Finding] = []
    tally = dict.fromkeys([*PARTS, "security"], 0)
    spared = charged = 0  # taken down by the severity table; warnings of which it says nothing
    for one in found:
        says = mapped(levels, one.rule, one.severity)
        spared += says not in {None, "error"}
        charged += says is None
        if says == OFF:
            continue
        severity = Severity(says) if says else one.severity
        tally[next(name for name, level in PARTS.items() if level is severity)] += 1
        tally["security"] += one.security
        if len(kept) < MOST:
            kept.append(_finding(gate, one, severity, place))
    findings = assigned(kept, place.project.line, str(done.tree))
    reading = Reading(GateState.ERROR, "", Counts(**tally), findings, weak=weak)
    if place.outside:
        return replace(reading, why=f"its report speaks of another tree: {place.outside}")
    if done.code not in gate.pass_codes and done.code not in codes:
        return broken(gate, done, reading)
    return _decided(gate, done, reading, files, spared, charged)


def _decided(
    gate: GateDef,
    done: Completed,
    reading: Reading,
    files: int | None,
    spared: int,
    charged: int,
) -> Reading:
    passing, total = done.code in gate.pass_codes, counted(reading.counts)
    if reading.counts.errors:
        odd = f"{ended(done.code)}, but " if passing else ""
        return replace(reading, state=GateState.FAIL, why=f"{odd}{total}")
    if files == 0:
        return _nothing(gate, reading)
    if passing:
        looked = f" in {_many(files, 'file')}" if files else ""
        return replace(reading, state=GateState.PASS, why=f"{total or 'nothing found'}{looked}")
    if not spared and not charged:
        why = f"{ended(done.code)}, but its report names no finding{said(done)}"
        return replace(reading, why=why, findings=(of_exit(gate, done),))
    if gate.exit == "p1" or not charged:
        rule = 'exit = "p1"' if gate.exit == "p1" else "its severity table"
        why = f"{ended(done.code)}, {total or 'nothing that counts'}; by {rule} none decides"
        return replace(reading, state=GateState.PASS, why=why)
    return replace(reading, state=GateState.FAIL, why=f"{ended(done.code)}, {total}")


def broken(gate: GateDef, done: Completed, reading: Reading) -> Reading:
    """The tool itself failed: its exit code means no finding, or its report cannot be believed."""
    why = f"{ended(done.code)}, {reading.why}" if reading.why else ended(done.code)
    findings = reading.findings
    if done.code not in gate.pass_codes:
        findings = (*findings, of_exit(gate, done))
    return replace(reading, state=GateState.ERROR, why=f"{why}{said(done)}", findings=findings)


def _nothing(gate: GateDef, reading: Reading) -> Reading:
    """It looked at no file at all: the same policy as for no tests."""
    if gate.empty == "pass":
        why = 'it looked at no file (empty = "pass")'
        return replace(reading, state=GateState.PASS, why=why, weak=True)
    return replace(reading, state=GateState.ERROR, why="it looked at no file")


def counted(counts: Counts) -> str:
    """`3 errors, 1 warning`."""
    named = (
        (counts.errors, "error"),
        (counts.warnings, "warning"),
    )
    parts = [_many(number, what) for number, what in named if number]
    return ", ".join(parts + ([f"{counts.info} info"] if counts.info else []))


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


class _Places:
    """Paths of a report, from the top of the tree; `outside` is one that lies in another tree."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.outside = ""
        self.own = lru_cache(maxsize=1 << 16)(self._own)

    def _own(self, path: str) -> str:
        if own := self.project.own(path):
            return own
        if posixpath.isabs(path):
            if not FOREIGN & set(PurePath(path).parts) and not self._within(path):
                self.outside = self.outside or path
            return path
        return posixpath.normpath(posixpath.join(self.project.bases[0], path)) if path else ""

    def _within(self, path: str) -> bool:
        """A file of the tree that is not there any more, or the tree itself."""
        path = posixpath.normpath(path)
        return any(path == root or path.startswith(f"{root}/") for root in self.project.roots)


def _finding(gate: GateDef, one: Found, severity: Severity, place: _Places) -> Finding:
    first, _newline, more = one.message.strip().partition("\n")
    return Finding(
        tool=gate.name,
        rule=one.rule,
        message=first[:MESSAGE],
        severity=severity,
        path=place.own(one.path),
        line=one.line,
        col=one.col,
        text=more.strip("\n")[:TEXT],
    )
