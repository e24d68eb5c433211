"""TAP 12 to 14 into cases: strict about what proves that all of it is there. Pure.

A plan must be there and met, and a bail-out is no result. Numbers decide nothing, since node itself
counts anew for each file. Test points of subtests are the cases; the point that closes a subtest is
one only if it says more than they do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from donewhen.core.fingerprint import COLOUR
from donewhen.gates.junitxml import MESSAGE, NAME, TEXT, Case, Report
from donewhen.gates.reports import BadReport

PLAN = re.compile(r"1\.\.(\d+)(?:\s*#\s*(.*))?")
POINT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*)")
DIRECTIVE = re.compile(r"(?<!\\)#\s*(skip(?:ped)?|todo)\b\S*\s*(.*)", re.I)
BAIL = re.compile(r"Bail out!\s*(.*)", re.I)
SUBTEST = re.compile(r"#\s*Subtest(?:: (.*))?")
CELL = re.compile(r"(message|error|name|at|location|file): *(.*)")
DEEPEST = 50


@dataclass
class _Level:
    """One stream of points: the top one, or a subtest."""

    name: str = ""
    plan: int | None = None
    skipped: str | None = None  # the plan says that all is skipped, and why
    seen: int = 0
    closed: bool = False  # the plan came after its points
    cases: list[Case] = field(default_factory=list)


def parse(text: str) -> Report:
    """Raises BadReport for what is no TAP, is cut off, or contradicts itself."""
    reader = _Reader()
    for line in text.splitlines():
        reader.line(COLOUR.sub("", line).expandtabs(4).rstrip())
    return reader.finish()


class _Reader:
    def __init__(self) -> None:
        self.levels = [_Level()]
        self.last: Case | None = None
        self.yaml: tuple[int, list[str]] | None = None  # indentation of an open block, its lines
        self.done: _Level | None = None  # the subtest that the next point closes
        self.pending: dict[int, str] = {}  # names given to subtests, by the depth of the comment

    def line(self, line: str) -> None:
        depth, words = _depth(line), line.strip()
        if self.yaml is not None:
            self._in_yaml(line, words)
        elif words == "---" and self.last is not None:
            self.yaml = (len(line) - len(line.lstrip()), [])
        elif match := BAIL.match(words):
            reason = f": {match[1][:MESSAGE]}" if match[1] else ""
            raise BadReport(f"it bailed out{reason}")
        elif match := SUBTEST.fullmatch(words):
            # At its parent's indentation or at its own: the points that follow decide.
            self.pending[depth] = match[1] or ""
        elif match := PLAN.fullmatch(words):
            self._plan(self._level(depth), int(match[1]), match[2])
        elif (match := POINT.fullmatch(words)) and depth <= DEEPEST:
            self._point(self._level(depth), bool(match[1]), match[3])

    def finish(self) -> Report:
        if self.yaml is not None:
            raise BadReport("it is cut off inside a diagnostic block")
        top = self._level(0)
        if self.done is not None:
            raise BadReport(f"it is cut off: the subtest {self.done.name!r} has no result")
        if top.plan is None:
            raise BadReport(
                "it is cut off: the plan (1..N) is missing" if top.seen else "it wrote no TAP"
            )
        self._met(top)
        if top.plan == 0 and top.skipped:
            top.cases.append(Case("all", outcome="skipped", message=top.skipped))
        return Report(top.cases)

    def _level(self, depth: int) -> _Level:
        """The stream at this indentation; deeper ones end, missing ones begin."""
        while len(self.levels) > depth + 1:
            ended = self.levels.pop()
            self._met(ended)
            self.done = ended if len(self.levels) == depth + 1 else None
            if self.done is None:
                raise BadReport(f"the subtest {ended.name!r} has no result")
        while len(self.levels) < depth + 1:
            here = len(self.levels)
            self.levels.append(_Level(self.pending.get(here - 1) or self.pending.get(here, "")))
        return self.levels[-1]

    def _plan(self, level: _Level, count: int, comment: str | None) -> None:
        if level.plan is not None:
            raise BadReport("it has two plans")
        level.plan, level.closed = count, level.seen > 0
        said = DIRECTIVE.match(f"# {comment}") if comment else None
        level.skipped = (said[2] or "skipped") if said and count == 0 else None

    def _point(self, level: _Level, bad: bool, rest: str) -> None:
        if level.closed:
            raise BadReport("it has test points after its closing plan")
        level.seen += 1
        case = _case(bad, level.seen, rest)
        subtest, self.done = self.done, None
        self.last = case
        self.pending.pop(len(self.levels) - 1, None)
        if subtest is None:
            level.cases.append(case)
            return
        name = subtest.name or case.name
        for inner in subtest.cases:
            inner.classname = "::".join(filter(None, (name, inner.classname)))
        if case.outcome in {"skipped", "xfailed"}:  # said of the whole subtest
            for inner in subtest.cases:
                inner.outcome = case.outcome if inner.bad else inner.outcome
        level.cases += subtest.cases
        failed = any(inner.bad for inner in subtest.cases)
        if not subtest.cases or case.bad != failed:
            if failed:
                raise BadReport(f"the subtest {name!r} failed, but its test point says ok")
            level.cases.append(case)

    def _met(self, level: _Level) -> None:
        if level.plan is None:
            raise BadReport(f"the plan of the subtest {level.name!r} is missing")
        if level.plan != level.seen:
            raise BadReport(f"{level.plan} tests were planned, {level.seen} were reported")

    def _in_yaml(self, line: str, words: str) -> None:
        assert self.yaml is not None
        indent, rows = self.yaml
        if words == "..." and len(line) - len(line.lstrip()) <= indent:
            self.yaml = None
            if self.last is not None:
                _explain(self.last, rows)
        elif sum(map(len, rows)) < TEXT:
            rows.append(line[indent:])


def _depth(line: str) -> int:
    return (len(line) - len(line.lstrip(" "))) // 4


def _case(bad: bool, number: int, rest: str) -> Case:
    found = DIRECTIVE.search(rest)
    name = rest[: found.start()] if found else rest
    name = re.sub(r"\\([\\#])", r"\1", name).strip()[:NAME] or f"test {number}"
    case = Case(name, outcome="failed" if bad else "passed")
    if found is None:
        return case
    case.message = found[2][:MESSAGE]
    if found[1].lower() == "todo":
        case.outcome = "xfailed" if bad else "passed"
    elif not bad:  # `not ok # SKIP` is a failure
        case.outcome = "skipped"
    return case


def _explain(case: Case, rows: list[str]) -> None:
    """What the block says of a failure: a message and a type where it has them."""
    case.text = "\n".join(rows)
    for row in rows:
        if match := CELL.fullmatch(row):
            value = match[2].strip().strip("'\"")
            if match[1] in {"message", "error"} and value not in {"", "|", "|-", ">", ">-"}:
                case.message = case.message or value[:MESSAGE]
            elif match[1] == "name":
                case.kind = value
