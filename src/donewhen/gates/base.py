"""The door of the gates: what an adapter of one tool must offer.

A gate judges; it never edits files, never talks to an agent, and adapters never import one
another. An adapter turns a definition into a command line and its report into a GateResult.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from donewhen.core.verdict import Counts, Finding, GateState
from donewhen.system.output import Output

NAMED = ("flag", "config", "spec")  # sources that make a gate one of the goal's gates


@dataclass(frozen=True)
class GateDef:
    """A frozen gate definition, as it stands in contract.json.

    `argv` runs without a shell (an `sh:` command is `("sh", "-c", text)`); `format` names the
    adapter; `source` says who named it: detected, flag, config, spec, builtin.
    `cwd` is relative to the tree; `env` re-admits names from the deny list; seconds for `timeout`.
    """

    name: str
    argv: tuple[str, ...]
    format: str = "exit"
    source: str = "detected"
    kind: str = "other"  # test, lint, types, build, other
    why: str = ""  # why it was detected, for `init` and the banner
    timeout: float = 900.0
    cwd: str = "."
    required: bool = True
    weak: bool = False
    pass_codes: tuple[int, ...] = (0,)
    env: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hermetic: bool | None = None  # None: not said; a command that nothing is known of is not
    empty: str = "fail"  # fail | pass: what no tests at all means
    rule: str = "clean"  # clean | no-new: decided with the baseline
    exit: str = "gates"  # gates | p1: whether warnings can decide
    severity: tuple[str, ...] = ()  # "RULE=level": how bad this project takes a rule to be
    quarantine: tuple[str, ...] = ()  # "YYYY-MM-DD TEST-ID": not charged up to that day
    script: str = ""  # `npm test`: the script whose tool this is
    hidden: bool = False  # hold-out tests: no prompt names them or says what they found

    @property
    def named(self) -> bool:
        return self.source in NAMED

    @property
    def command(self) -> str:
        import shlex

        if self.argv[:2] == ("sh", "-c"):
            return f"sh: {self.argv[2]}"
        return shlex.join(self.argv)


@dataclass(frozen=True)
class Invocation:
    """How to start the gate once: its argv, extra environment, and where its report will be."""

    argv: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    report: Path | None = None


@dataclass(frozen=True)
class Completed:
    """What a finished gate process left: exit code (negative = signal), output, its report path.

    `stdout`/`stderr` are bounded (head and tail). `timed_out` excludes every pass. `tree` is the
    top of the judged tree, also where the gate runs in a folder of it.
    """

    code: int
    stdout: str
    stderr: str
    report: Path | None
    timed_out: bool = False
    spawn_error: str = ""
    tree: Path = Path()
    output: Output | None = None  # all of standard output; `stdout` is its two ends


@dataclass(frozen=True)
class Reading:
    """What the adapter read out of a finished process; the judge adds name, time, novelty."""

    state: GateState
    why: str
    counts: Counts = field(default_factory=Counts)
    findings: tuple[Finding, ...] = ()
    passed_tests: tuple[str, ...] = ()
    weak: bool = False


class Adapter(Protocol):
    """One file in `donewhen.gates` is one adapter; the module itself fits this protocol."""

    def prepare(self, gate: GateDef, reports: Path) -> Invocation:
        """The command line for one run; `reports` is a new, empty folder outside the tree."""

    def read(self, gate: GateDef, done: Completed) -> Reading:
        """Exit code and report, judged: pass, fail or error, never a guess."""
