"""Gate results and the verdict they add up to: values only, no I/O.

The shapes are the ones of `donewhen judge --json` and of `verdict.json`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

VERSION = 1


class GateState(StrEnum):
    """Three-valued: an error is never a pass."""

    PASS = "pass"  # noqa: S105
    FAIL = "fail"
    ERROR = "error"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Proof(StrEnum):
    """What a green verdict proves: that the goal was reached, or only that nothing broke."""

    GOAL = "goal"
    NO_REGRESSION = "no-regression"
    NONE = "none"


class Novelty(StrEnum):
    """A finding compared with the baseline of the same gate."""

    NEW = "new"
    PRE_EXISTING = "pre-existing"
    FIXED = "fixed"


class Purpose(StrEnum):
    """Why gates run: the baseline is no iteration; the deciding verdict is measured in a clean room."""

    BASELINE = "baseline"
    ITERATION = "iteration"
    DECIDING = "deciding"


@dataclass(frozen=True)
class Finding:
    """One thing a tool found. `path` is relative to the judged tree, lines and columns count from 1.

    `fingerprint` is what makes it the same finding in the next iteration (core.fingerprint);
    `text` is the bounded detail shown to a person or the agent (a traceback, an output excerpt).
    `test` is the test id where the finding is a failed test.
    """

    tool: str
    rule: str
    message: str
    severity: Severity = Severity.ERROR
    path: str = ""
    line: int = 0
    col: int = 0
    text: str = ""
    test: str = ""
    fingerprint: str = ""
    novelty: Novelty = Novelty.NEW


@dataclass(frozen=True)
class Counts:
    """What a gate measured. `tests` counts executed tests (skipped ones are not executed)."""

    tests: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0
    warnings: int = 0
    info: int = 0
    security: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(**{k: getattr(self, k) + getattr(other, k) for k in asdict(self)})


@dataclass(frozen=True)
class GateResult:
    """One gate on one tree. `blocks` is false for a gate whose findings are all excused (no-new).

    `passed_tests`: ids of the tests that ran and passed (evidence for baseline and ratchets).
    `seconds` is wall time; `log` the path of the full output, relative to the run folder.
    """

    name: str
    state: GateState
    why: str
    command: str = ""
    weak: bool = False
    required: bool = True
    counts: Counts = field(default_factory=Counts)
    findings: tuple[Finding, ...] = ()
    passed_tests: tuple[str, ...] = ()
    seconds: float = 0.0
    cached_from: str = ""
    log: str = ""
    origin: str = ""  # why there is this gate: the file that it was detected by, or who named it
    program: str = ""  # the file that was started
    read: str = ""  # what the result was read from: exit code, report
    start_failed: bool = False  # the tool could not be started at all
    blind: bool = False  # the gate does not see the tree it judges
    skipped: bool = False  # not run: a quick gate was red already; never so for a last verdict
    rule: str = "clean"  # or no-new: findings of the baseline are excused
    hidden: bool = False  # hold-out tests: an agent learns how many fail, nothing else


def deciding(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What a red gate is red for: its errors; where it has none, all that it found."""
    found = tuple(findings)
    return tuple(f for f in found if f.severity is Severity.ERROR) or found


@dataclass(frozen=True)
class Verdict:
    """All gate results of one tree. `state` is what the gates say, `proof` what a pass proves.

    `tree` is the content hash of tracked and untracked-not-ignored files (a git tree id).
    `exit` is the exit code of `donewhen judge`: 0 pass, 1 fail, 3 error.
    """

    tree: str
    base: str
    state: GateState
    proof: Proof
    gates: tuple[GateResult, ...]
    integrity: tuple[Finding, ...] = ()
    purpose: Purpose = Purpose.ITERATION
    notes: tuple[str, ...] = ()
    review: bool = False  # what integrity found is for a person to decide

    @property
    def exit(self) -> int:
        return {GateState.PASS: 0, GateState.FAIL: 1, GateState.ERROR: 3}[self.state]

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON values; the public shape of `verdict.json`."""
        return {
            "version": VERSION,
            "tree": self.tree,
            "base": self.base,
            "verdict": self.state.value,
            "proof": self.proof.value,
            "purpose": self.purpose.value,
            "gates": [asdict(g) for g in self.gates],
            "integrity": [asdict(f) for f in self.integrity],
            "notes": list(self.notes),
            "review": self.review,
            "exit": self.exit,
        }


@dataclass(frozen=True)
class Score:
    """How far from done, compared lexicographically; smaller is better."""

    errors: int = 0
    failing: int = 0
    security: int = 0
    uncovered: int = 0
    warnings: int = 0

    def key(self) -> tuple[int, int, int, int, int]:
        return (self.errors, self.failing, self.security, self.uncovered, self.warnings)


@dataclass(frozen=True)
class Summary:
    """The part of a verdict that the machine decides on and the journal records.

    `fingerprints`: sorted, unique fingerprints of blocking findings, gate errors included.
    `errors_only`: nothing is red but gates in state error (their names in `error_gates`).
    `fatal_gate`: a required gate whose tool cannot start or that has no sight ("" for none).
    `integrity`: only integrity findings are left. `unclear_tests`: and a person has to decide on
    them. `evidence`: content hash of the stored verdict.json.
    """

    state: GateState
    proof: Proof
    tree: str
    fingerprints: tuple[str, ...] = ()
    score: Score = field(default_factory=Score)
    gates: int = 0
    error_gates: tuple[str, ...] = ()
    errors_only: bool = False
    fatal_gate: str = ""
    integrity: bool = False
    unclear_tests: bool = False
    evidence: str = ""
