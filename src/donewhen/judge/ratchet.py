"""The tests that ran and passed on the base must run on: by what the runner reports, not by files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from donewhen.core.verdict import GateResult
from donewhen.judge.baseline import Baseline

VANISHED, FEWER = "test-vanished", "cases-lost"


@dataclass(frozen=True)
class Vanished:
    """One test function of a gate: how many of its cases passed on the base, and how many now."""

    gate: str
    test: str
    before: int
    now: int

    @property
    def rule(self) -> str:
        return FEWER if self.now else VANISHED

    @property
    def message(self) -> str:
        if self.now:
            return f"{self.test} ran {self.before} cases, and now {self.now}; its file is the same"
        return f"{self.test} passed before and does not run any more, though its file is the same"


def vanished(
    results: Sequence[GateResult], before: Baseline, same: Callable[[str], bool]
) -> Iterator[Vanished]:
    """Tests of the base that a green gate no longer reports. `same(file)`: did the file not change?"""
    for result in results:
        was = before.get(result.name)
        if was is None or not was.passed:
            continue
        steady = Counter(map(function, was.passed - was.flaky))
        now = Counter(function(t) for t in result.passed_tests)
        now.update(function(f.test) for f in result.findings if f.test)
        for test, count in sorted(steady.items()):
            if now[test] < count and same(test.partition("::")[0]):
                yield Vanished(result.name, test, count, now[test])


def function(test: str) -> str:
    """A test id without its parameters and sub-test."""
    return test.partition("[")[0].partition(" ")[0]
