"""What a green verdict does not show: did the change weaken what judges it, or hide from it?

Findings go to the agent once, who may put back what they name. What it leaves as it is, is for a
person to decide, as is what the syntax cannot tell and the base versions of the tests refuse.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Finding, GateState, Proof, Verdict
from donewhen.core.waiver import parted
from donewhen.gates.base import GateDef
from donewhen.judge.glance import MARK, unresolved
from donewhen.judge.integrity import Known, TestChange, configuration, protected, test_change
from donewhen.judge.judge import Request
from donewhen.judge.ratchet import function, vanished
from donewhen.judge.strength import ALWAYS, Compared, Weakening, compare
from donewhen.judge.suspects import Suspect, suspects
from donewhen.system.git import Git

UNCLEAR = "test-change"  # only the changed tests pass, and nothing says that they are weaker
MOST = 1 << 20  # bytes of a file that is looked into
CODE = frozenset({
    ".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".sh",
})  # fmt: skip


@dataclass(frozen=True)
class Looked:
    """`change`: protected files to judge with their base versions. `files`: all that changed."""

    change: TestChange
    compared: Compared
    suspects: tuple[Suspect, ...]
    files: frozenset[str]
    prefix: str


def look(git: Git, request: Request, tree: str, own: Known, prefix: str) -> Looked:
    """The change from the base to `tree`, as its texts tell."""
    change = test_change(git, request.base, tree, own)
    if request.rules.allow_test_changes:
        change = replace(change, restore=tuple(p for p in change.restore if not _free(p, own)))
    before, after, files = _texts(git, request.base, tree)
    names = frozenset(_base_tests(request))
    tests = [p for p in change.restore if p.endswith(".py") and p in before and _is_test(p, own)]
    compared = compare(
        {p: before[p] for p in tests},
        {p: t for p, t in after.items() if p.endswith(".py") and _is_test(p, own)},
        own.packages,
        names,
    )
    kept = {p for p in compared.kept if not configuration(p) and not own.names(p)}
    change = replace(change, restore=tuple(p for p in change.restore if p not in kept))
    found = suspects(before, after, _words(request.gates), lambda p: _is_test(p, own))
    marks = unresolved(git, request.base, tree)
    found += [Suspect(f.path, f.line, f.rule, f.message, f.text.partition("\n")[0]) for f in marks]
    return Looked(change, compared, tuple(found), files, prefix)


def decided(found: Verdict, before: Verdict | None, looked: Looked, request: Request) -> Verdict:
    """A green verdict with what the look found; `before` is the one with the base versions."""
    names = ", ".join(looked.change.paths[:8])
    notes, findings = list(found.notes), list(_certain(found, looked, request))
    if request.rules.allow_test_changes:
        notes.append("allow_test_changes: tests were not held to their base versions")
    unclear: list[Finding] = []
    if before is not None and before.state is GateState.PASS:
        notes.append(f"the base versions of {names} pass too")
        if before.proof is Proof.GOAL:  # also where the goal's tests are called otherwise now
            found = replace(found, proof=Proof.GOAL)
    elif before is not None:
        red = ", ".join(
            g.name for g in before.gates if g.required and g.state is not GateState.PASS
        )
        notes.append(f"the base versions of {names} ran too, and {red} is red with them")
        findings += [_weaker(w) for w in looked.compared.weaker if w.rule not in ALWAYS]
        known = {f.path for f in findings}
        unclear = [_unclear(p, red) for p in looked.change.paths if p not in known]
    findings, allowed = parted(findings, request.waivers)
    unclear, also = parted(unclear, request.waivers)
    notes += [*allowed, *also]
    if not findings and not unclear:
        return replace(found, notes=tuple(notes))
    return replace(
        found,
        state=GateState.FAIL,
        integrity=(*findings, *unclear),
        notes=tuple(notes),
        review=all(f.fingerprint in request.told for f in findings),
    )


def against_base(
    git: Git, request: Request, found: Verdict, own: Known, prefix: str
) -> list[Finding]:
    """What the change from the base to the judged tree weakens, by its texts alone: no test of the
    base has run."""
    looked = look(git, request, found.tree, own, prefix)
    weaker = [_weaker(w) for w in looked.compared.weaker]
    # Conflicts are a gate of their own there.
    return [*weaker, *(_suspect(s) for s in looked.suspects if s.rule != MARK)]


def _certain(found: Verdict, looked: Looked, request: Request) -> Iterator[Finding]:
    """What is found whether or not the base versions of the tests pass."""
    yield from (_weaker(w) for w in looked.compared.weaker if w.rule in ALWAYS)
    yield from (_suspect(s) for s in looked.suspects)
    if request.rules.allow_test_changes:
        return

    def same(file: str) -> bool:
        return posixpath.normpath(posixpath.join(looked.prefix, file)) not in looked.files

    for gone in vanished(found.gates, request.before or {}, same):
        path = gone.test.partition("::")[0]
        mark = digest("integrity", gone.rule, gone.gate, gone.test)
        yield Finding("integrity", gone.rule, gone.message, path=path, fingerprint=mark)


def _weaker(one: Weakening) -> Finding:
    return Finding(
        "integrity",
        one.rule,
        one.message,
        path=one.path,
        line=one.line,
        text=_before_after(one.before, one.after),
        test=f"{one.path}::{one.test}" if one.test else "",
        fingerprint=digest("integrity", one.rule, one.path, one.test, one.before),
    )


def _suspect(one: Suspect) -> Finding:
    mark = digest("integrity", one.rule, one.path, one.text)
    text = _before_after("", one.text)
    return Finding(
        "integrity",
        one.rule,
        one.message,
        path=one.path,
        line=one.line,
        text=text,
        fingerprint=mark,
    )


def _unclear(path: str, red: str) -> Finding:
    return Finding(
        "integrity",
        UNCLEAR,
        f"passes only with the changed tests; with their base versions {red} is red",
        path=path,
        fingerprint=digest("integrity", UNCLEAR, path),
    )


def _before_after(before: str, after: str) -> str:
    rows = [f"- {line}" for line in before.splitlines()]
    return "\n".join([*rows, *(f"+ {line}" for line in after.splitlines())])


def _texts(
    git: Git, base: str, tree: str
) -> tuple[Mapping[str, str], Mapping[str, str], frozenset[str]]:
    """Code that changed, before and after, by path; and the paths of everything that changed."""
    pairs = [(os.fsdecode(p), old, new) for p, old, new in git.changed_pairs(base, tree)]
    code = [row for row in pairs if PurePosixPath(row[0]).suffix in CODE]
    blobs = git.blobs((i for row in code for i in row[1:] if i), MOST)
    texts = {i: data.decode("utf-8", "replace") for i, data in blobs.items()}
    before = {path: texts[old] for path, old, _new in code if old in texts}
    after = {path: texts[new] for path, _old, new in code if new in texts}
    return before, after, frozenset(path for path, _old, _new in pairs)


def _free(path: str, own: Known) -> bool:
    """A test that the configuration lets the agent change: no configuration, not named as guarded."""
    return protected(path) and not configuration(path) and not own.names(path)


def _is_test(path: str, own: Known) -> bool:
    return protected(path) or path in own.files


def _base_tests(request: Request) -> Iterator[str]:
    """Names of functions that were tests for the runner, whatever they are called."""
    for was in (request.before or {}).values():
        for test in was.passed | was.failed:
            name = function(test).rpartition("::")[2]
            if name.isidentifier():
                yield name


def _words(gates: Iterable[GateDef]) -> frozenset[str]:
    """What a gate may be known by: its format, and the words of its command."""
    found: set[str] = set()
    for gate in gates:
        words = gate.argv[2].split() if gate.argv[:2] == ("sh", "-c") else gate.argv
        found |= {
            gate.format,
            *(PurePosixPath(w.lstrip("-").partition("=")[0]).name for w in words),
        }
    return frozenset(found)
