"""Tests of our own among the project's: the runner must report each of them as it is.

Two files with random names are put beside the tests that passed, in a throw-away checkout. They
hold tests that must pass and tests that must fail; the runner collects everything (so that what
patches it on import is at work), runs the tests of the goal among ours, and its report is compared.
"""

from __future__ import annotations

import posixpath
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from donewhen.core.fingerprint import digest
from donewhen.core.verdict import Finding, GateResult, GateState
from donewhen.gates import picked
from donewhen.gates.base import GateDef
from donewhen.judge import canary_js

RULE = "canary"
FORMATS = frozenset({"pytest", "unittest"}) | canary_js.FORMATS
MOST = 10  # tests of the goal that run among ours
WORDS = (
    "parse", "split", "load", "total", "merge", "order", "cache", "retry", "limit", "shape", "range",
    "price", "route", "match", "index", "batch", "scale", "align", "width", "queue", "label", "depth",
)  # fmt: skip
TEXT = '''"""Checks of {topic}."""

import unittest


def {good}():
    assert {a} + {b} == {sum}


def {bad}():
    assert {a} + {b} == {wrong}


class {cls}(unittest.TestCase):
    def {well}(self):
        self.assertEqual({a} * {b}, {product})

    def {ill}(self):
        self.assertEqual({a} * {b}, {wrong})

    def {broken}(self):
        raise RuntimeError("{topic}")
'''


@dataclass(frozen=True)
class Canary:
    """One file: where it goes, what is in it, names of tests that must pass and that must fail."""

    path: str
    text: str
    good: tuple[str, ...]
    bad: tuple[str, ...]


def watch(
    gates: Sequence[GateDef],
    results: Sequence[GateResult],
    goal: Iterable[str],
    room: Path,
    run: Callable[[GateDef], GateResult],
    dice: random.Random,
) -> tuple[list[Finding], list[str]]:
    """(findings where a runner did not tell the truth, notes where it could not be asked).

    `goal` are test ids that were red before; `run` runs a definition in `room`, which is spoiled.
    """
    findings, notes = [], []
    for gate, result in zip(gates, results, strict=True):
        tried = gate.format in FORMATS and not gate.hidden
        if result.state is not GateState.PASS or not tried:
            continue
        canaries = nest(gate, result.passed_tests, room, dice)
        names = [name for c in canaries for name in (*c.good, *c.bad)]
        tests = [_named(gate, test) for test in list(goal)[:MOST]]
        chosen = picked(gate, [*names, *filter(None, tests)], [c.path for c in canaries], room)
        if not canaries or chosen is None:
            notes.append(f"{gate.name}: its runner could not be tried with tests of our own")
            continue
        for canary in canaries:
            (room / canary.path).write_text(canary.text, "utf-8")
        said = compared(gate, canaries, run(chosen))
        if said is None:
            notes.append(f"{gate.name}: tests of our own were not collected, so it was not tried")
        elif said:
            findings.append(_finding(gate, said))
        for canary in canaries:
            (room / canary.path).unlink(missing_ok=True)
    return findings, notes


def nest(gate: GateDef, tests: Sequence[str], room: Path, dice: random.Random) -> list[Canary]:
    """Two canaries beside tests that passed, named as those are; the first and last in order."""
    files = sorted({_file(gate, test, room) for test in tests} - {""})
    if not files:
        return []
    make = _canary_js if gate.format in canary_js.FORMATS else _canary
    return [
        make(gate, room, files[0], tests, "a", dice),
        make(gate, room, files[-1], tests, "z", dice),
    ]


def _file(gate: GateDef, test: str, room: Path) -> str:
    """The file of a test id; unittest names a module instead."""
    head = test.partition("::")[0]
    if (room / head).is_file():
        return head
    named = (posixpath.join(gate.cwd, word) for word in gate.argv)  # discover -s tests
    for folder in (gate.cwd, ".", *(one for one in named if (room / one).is_dir())):
        for words in (head, head.rpartition(".")[0]):
            path = posixpath.normpath(posixpath.join(folder, words.replace(".", "/") + ".py"))
            if words and (room / path).is_file():
                return path
    return ""


def _canary(
    _gate: GateDef, _room: Path, beside: str, tests: Sequence[str], first: str, dice: random.Random
) -> Canary:
    pure = PurePosixPath(beside)
    topic, *words = dice.sample(WORDS, 6)
    # Named as its neighbour is, since patterns of the project decide what is collected.
    stem = pure.stem
    own = _own_name(first, topic, dice)
    head = stem.partition("_")[0]
    name = f"{own}_test" if stem.endswith("_test") else f"{head}_{own}"
    verbs = [_function(t).partition("_")[0] for t in tests if "::" in t]
    verb = max(set(verbs), key=verbs.count) if verbs and all(verbs) else "test"
    good, bad, well, ill, broken = (
        f"{verb}_{word}_{topic}_{dice.randrange(100, 999)}" for word in words
    )
    values = _numbers(dice)
    cls = f"Test{topic.title()}{words[0].title()}"
    names = {"good": good, "bad": bad, "well": well, "ill": ill, "broken": broken}
    text = TEXT.format(topic=topic, cls=cls, **names, **values)
    return Canary(str(pure.with_name(f"{name}.py")), text, (good, well), (bad, ill, broken))


def _canary_js(
    gate: GateDef, room: Path, beside: str, _tests: Sequence[str], first: str, dice: random.Random
) -> Canary:
    topic, *words = dice.sample(WORDS, 6)
    good, bad, well, ill, broken = (f"{w}_{topic}_{dice.randrange(100, 999)}" for w in words)
    names = {"good": good, "bad": bad, "well": well, "ill": ill, "broken": broken}
    name = canary_js.file_name(beside, _own_name(first, topic, dice))
    neighbour = (room / beside).read_text("utf-8", "replace")
    text = canary_js.text(gate.format, neighbour, name, {"topic": topic, **names, **_numbers(dice)})
    return Canary(name, text, (good, well), (bad, ill, broken))


def _own_name(first: str, topic: str, dice: random.Random) -> str:
    return f"{first}{dice.choice('bcdfgklmnprst')}{topic}_{dice.randrange(100, 999)}"


def _numbers(dice: random.Random) -> dict[str, int]:
    a, b = dice.randrange(11, 99), dice.randrange(11, 99)
    return {"a": a, "b": b, "sum": a + b, "product": a * b, "wrong": a * b + a + b}


def _named(gate: GateDef, test: str) -> str:
    """What the runner picks a test of the goal by."""
    return test.rpartition("::")[2] if gate.format in canary_js.FORMATS else _function(test)


def _function(test: str) -> str:
    """The name of the function of a test id, without its parameters."""
    name = test.rpartition("::")[2].partition("[")[0]
    return name if name.isidentifier() else ""


def compared(gate: GateDef, canaries: Sequence[Canary], result: GateResult) -> str | None:
    """What is wrong with the report, "" for nothing; None where ours were not collected at all."""
    passed = {_function(test) for test in result.passed_tests}
    failed = {_function(f.test) for f in result.findings if f.test}
    cases = gate.format == "unittest"  # which takes no plain functions
    good = {name for c in canaries for name in (c.good[1:] if cases else c.good)}
    bad = {name for c in canaries for name in (c.bad[1:] if cases else c.bad)}
    if lied := bad & passed:
        return f"{len(lied)} of {len(bad)} tests that must fail were reported as passed"
    if not good & (passed | failed) and not bad & failed:
        return None if result.state is not GateState.ERROR else f"no report: {result.why}"
    if missing := bad - failed:
        return f"{len(missing)} of {len(bad)} tests that must fail were not reported"
    if good - passed:
        return (
            f"{len(good - passed)} of {len(good)} tests that must pass were not reported as passed"
        )
    return ""


def _finding(gate: GateDef, said: str) -> Finding:
    message = f"the test runner of {gate.name} does not tell the truth: {said}"
    return Finding("integrity", RULE, message, fingerprint=digest("integrity", RULE, gate.name))
