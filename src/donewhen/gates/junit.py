"""JUnit XML: read as a stream, in bounded memory, with nothing of XML that can bite.

The report is written by a program that the agent can change: DOCTYPE and entities are refused,
sizes are capped, and a truncated file is an error, never a pass. Test runners that write JUnit
(pytest, unittest through our runner) use `outcome` for the last word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from donewhen.core.fingerprint import test_fp
from donewhen.core.verdict import Counts, Finding, GateState
from donewhen.gates.base import Completed, GateDef, Invocation, Reading

CAP = 100 << 20
PROLOG = 1 << 16  # a DOCTYPE can only stand before the first element
TEXT = 3000
MESSAGE = 300
RAISED = re.compile(
    r"^(?:E\s+)?([A-Za-z_][\w.]*(?:Error|Exception|Warning|Exit|Interrupt|Failed)\w*)\b", re.M
)
ENDED = re.compile(r"^\S+:\d+: ([A-Za-z_][\w.]*)$", re.M)  # how pytest closes a traceback
PLACE = re.compile(r"^(?P<path>[^\s:<>\"']+\.\w+):(?P<line>\d+):", re.M)
PLACE_PY = re.compile(r'File "(?P<path>[^"<>]+)", line (?P<line>\d+)')


class BadReport(Exception):
    """The report cannot be believed; the text says why."""


@dataclass(frozen=True)
class Case:
    """One test case: outcome is passed, failed, error, skipped or xfailed."""

    id: str
    outcome: str
    message: str = ""
    text: str = ""
    file: str = ""
    line: int = 0


@dataclass
class Report:
    cases: list[Case] = field(default_factory=list)

    def count(self, *outcomes: str) -> int:
        return sum(c.outcome in outcomes for c in self.cases)


def prepare(gate: GateDef, reports: Path) -> Invocation:
    """`{report}` in the command is where the report must be written."""
    report = reports / "report.xml"
    return Invocation(tuple(a.replace("{report}", str(report)) for a in gate.argv), report=report)


def read(gate: GateDef, done: Completed) -> Reading:
    try:
        report = parse(done.report)
    except BadReport as error:
        return Reading(GateState.ERROR, f"exit {done.code}, {error}")
    return outcome(gate, done, report)


def outcome(gate: GateDef, done: Completed, report: Report) -> Reading:
    """Exit code and report together: both must agree, and something must have run."""
    findings = tuple(
        _finding(gate, c, done.tree) for c in report.cases if c.outcome in {"failed", "error"}
    )
    ran = report.count("passed", "failed", "error", "xfailed")
    counts = Counts(tests=ran, failed=len(findings), skipped=report.count("skipped"), errors=0)
    passed = tuple(sorted(c.id for c in report.cases if c.outcome == "passed"))
    if findings:
        if done.code in gate.pass_codes:
            why = f"exit {done.code}, but the report has {len(findings)} failures"
            return Reading(GateState.ERROR, why, counts, findings, passed)
        why = f"{len(findings)} failed of {plural(ran)}"
        return Reading(GateState.FAIL, why, counts, findings, passed)
    if done.code not in gate.pass_codes:
        return Reading(GateState.ERROR, f"exit {done.code}, but no test failed", counts, (), passed)
    if ran == 0:
        return nothing_ran(gate, counts)
    return Reading(GateState.PASS, f"{plural(ran)} passed", counts, (), passed)


def plural(count: int) -> str:
    return f"{count} test{'s' * (count != 1)}"


def nothing_ran(gate: GateDef, counts: Counts) -> Reading:
    """No tests, or all skipped: its own state with an explicit policy."""
    why = f"all {plural(counts.skipped)} skipped" if counts.skipped else "no tests ran"
    if gate.empty == "pass":
        return Reading(GateState.PASS, f'{why} (empty = "pass")', counts, weak=True)
    return Reading(GateState.ERROR, why, counts)


def parse(path: Path | None) -> Report:
    """Read a report. Raises BadReport if it is missing, too large, broken or dangerous."""
    if path is None or not path.is_file():
        raise BadReport("no report was written")
    if path.stat().st_size > CAP:
        raise BadReport(f"the report is over {CAP >> 20} MB")
    with path.open("rb") as source:
        prolog = source.read(PROLOG).partition(b"<testsuite")
    if re.search(rb"<!\s*(DOCTYPE|ENTITY)", prolog[0], re.I):
        raise BadReport("the report has a DOCTYPE, which is refused")
    if not prolog[1]:
        raise BadReport("this is no JUnit report")
    try:
        return Report(list(_cases(path)))
    except ElementTree.ParseError as error:
        raise BadReport(f"the report is broken or cut off: {error}") from error


def _cases(path: Path) -> Iterator[Case]:
    root = ""
    for event, element in ElementTree.iterparse(path, events=("start", "end")):  # noqa: S314  # no DOCTYPE, capped
        root = root or element.tag
        if root not in {"testsuites", "testsuite"}:
            raise BadReport(f"<{root}> is no JUnit report")
        if event == "end" and element.tag == "testcase":
            if not element.get("name"):
                raise BadReport("a test began and never ended")
            yield _case(element)
        if event == "end" and element.tag in {"testcase", "testsuite", "system-out", "system-err"}:
            element.clear()
    if not root:
        raise BadReport("the report is empty")


def _case(element: ElementTree.Element) -> Case:
    kind, child = "passed", None
    for tag, found in (("error", "error"), ("failure", "failed"), ("skipped", "skipped")):
        node = element.find(tag)
        if node is not None:
            kind, child = found, node
            break
    if child is not None and kind == "skipped" and child.get("type") == "pytest.xfail":
        kind = "xfailed"
    message = (child.get("message") or "") if child is not None else ""
    text = ((child.text or "") if child is not None else "")[-TEXT * 4 :]
    return Case(
        case_id(element),
        kind,
        message[:2000],
        text,
        element.get("file") or "",
        int(element.get("line") or 0),
    )


def case_id(element: ElementTree.Element) -> str:
    """`path::Class::name` where the file is known, else `classname::name`."""
    name, classname = element.get("name") or "", element.get("classname") or ""
    file = element.get("file") or ""
    if not file:
        return f"{classname}::{name}" if classname else name
    module = re.sub(r"\.\w+$", "", file).replace("/", ".").replace("\\", ".")
    inner = classname.removeprefix(module).lstrip(".") if classname.startswith(module) else ""
    return "::".join(p for p in (file, *inner.split("."), name) if p)


def _finding(gate: GateDef, case: Case, tree: Path) -> Finding:
    path, line = place(case, tree)
    kind = raised(case)
    first = (case.message or case.text).strip().splitlines() or [""]
    return Finding(
        tool=gate.name,
        rule=kind,
        message=first[0][:MESSAGE],
        path=path,
        line=line,
        text=case.text[-TEXT:],
        test=case.id,
        fingerprint=test_fp(case.id, kind, source_line(tree, path, line)),
    )


def raised(case: Case) -> str:
    """The type of the exception, "failure" where the report does not say."""
    head = RAISED.match(case.message)
    if head:
        return head[1]
    ended = ENDED.findall(case.text)
    found = RAISED.findall(case.text)
    return str((ended or found or ["failure"])[-1])


def place(case: Case, tree: Path) -> tuple[str, int]:
    """Where it failed: the last line of the traceback that lies inside the tree."""
    best = (case.file, case.line)
    for pattern in (PLACE, PLACE_PY):
        for match in pattern.finditer(case.text):
            path = Path(match["path"])
            inside = path if not path.is_absolute() else _relative(path, tree)
            if inside is not None and (tree / inside).is_file():
                best = (inside.as_posix(), int(match["line"]))
    return best


def _relative(path: Path, tree: Path) -> Path | None:
    for root in (tree, tree.resolve()):
        if path.is_relative_to(root):
            return path.relative_to(root)
    return None


def source_line(tree: Path, path: str, line: int) -> str:
    """The text of a line, "" where there is none."""
    if not path or line < 1:
        return ""
    try:
        with (tree / path).open(encoding="utf-8", errors="replace") as source:
            for number, text in enumerate(source, 1):
                if number == line:
                    return text
    except OSError:
        return ""
    return ""
