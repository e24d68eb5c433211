"""A JUnit XML file into cases: read as a stream, in bounded memory, with nothing of XML that can bite.

The report is written by a program that the agent can change: DOCTYPE and entities are refused,
sizes are capped, links and pipes are not followed, and a truncated file is an error, never a pass.
What the cases mean together with an exit code is outcome.py's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from donewhen.core.fingerprint import digest
from donewhen.gates.reports import BadReport, chunks

__all__ = ["BadReport", "Case", "Report", "parse"]

CAP = 100 << 20
MOST_CASES = 1_000_000
TEXT = 1 << 16  # characters of one failure that are kept, from its end
MESSAGE = 2000
NAME = 1000
# The worst that a case holds counts: an error in teardown is one, even if the test failed too.
WORSE = {"passed": 0, "xfailed": 1, "skipped": 2, "failed": 3, "error": 4}
TAGS = {"failure": "failed", "error": "error", "skipped": "skipped"}
NOT_RUN = frozenset(
    {"notrun", "disabled", "skipped", "suppressed"}
)  # as googletest and ctest say it


@dataclass(slots=True)
class Case:
    """One test case: outcome is passed, failed, error, skipped or xfailed."""

    name: str
    classname: str = ""
    file: str = ""
    line: int = 0
    outcome: str = "passed"
    kind: str = ""  # the exception's type, where the report says it
    message: str = ""
    text: str = ""

    @property
    def bad(self) -> bool:
        return self.outcome in {"failed", "error"}


@dataclass
class Report:
    """`claimed`: failures and errors that the suites say they have, whatever their cases say.

    `unfinished`: a test began and never ended, so the rest of the suite did not run.
    """

    cases: list[Case] = field(default_factory=list)
    claimed: int = 0
    unfinished: bool = False

    def count(self, *outcomes: str) -> int:
        return sum(c.outcome in outcomes for c in self.cases)


def parse(path: Path | None) -> Report:
    """Read a report. Raises BadReport if it is missing, too large, broken or dangerous."""
    reader = _Reader()
    for chunk in chunks(path, CAP):
        reader.feed(chunk)
    return reader.finish()


class _Reader:
    """expat's events into cases. Bounded: what is no case, and most of a long text, is dropped."""

    def __init__(self) -> None:
        self.report = Report()
        self.depth = 0
        self.suites: list[str] = []
        self.case: Case | None = None
        self.kept: _Text | None = None
        self.inside = 0  # depth of the element whose text is kept
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        self.parser = parser

    def feed(self, chunk: bytes) -> None:
        self._parse(chunk, False)

    def finish(self) -> Report:
        self._parse(b"", True)
        return self.report

    def _parse(self, chunk: bytes, last: bool) -> None:
        try:
            self.parser.Parse(chunk, last)
        except (expat.ExpatError, ValueError, LookupError) as error:
            if not self.suites and not self.depth:
                raise BadReport(f"this is no JUnit report: {error}") from error
            raise BadReport(f"the report is broken or cut off: {error}") from error

    def _doctype(self, *_words: object) -> None:
        raise BadReport("the report has a DOCTYPE, which is refused")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(":")[2]
        if self.depth == 0 and tag not in {"testsuites", "testsuite"}:
            raise BadReport(f"<{tag[:40]}> is no JUnit report")
        self.depth += 1
        if tag == "testsuite":
            self.suites.append(attributes.get("name") or "")
            self.report.claimed += _number(attributes.get("failures"))
            self.report.claimed += _number(attributes.get("errors"))
        elif tag == "testcase":
            self._open(_case(attributes))
        elif tag in TAGS and self.kept is None:
            self._mark(TAGS[tag], attributes)

    def _open(self, case: Case) -> None:
        if len(self.report.cases) >= MOST_CASES:
            raise BadReport(f"the report has over {MOST_CASES:,} cases")
        if not case.name and not case.classname:
            # pytest leaves such a case where a test was ended half-way (pytest.exit, Ctrl-C).
            self.report.unfinished = True
            return
        self.case = case
        self.report.cases.append(case)

    def _mark(self, outcome: str, attributes: dict[str, str]) -> None:
        """A failure, error or skip: of the open case, or of a suite that could not even start."""
        case = self.case
        if case is None:
            if outcome == "skipped":
                return
            case = Case(name=_short((self.suites or [""])[-1]) or "suite")
            self.report.cases.append(case)
        if _xfail(outcome, attributes):
            outcome = "xfailed"
        if WORSE[outcome] <= WORSE[case.outcome]:
            return
        case.outcome = outcome
        case.kind = (attributes.get("type") or "")[:NAME]
        case.message = (attributes.get("message") or "")[:MESSAGE]
        self.kept, self.inside = _Text(case), self.depth

    def _characters(self, text: str) -> None:
        if self.kept is not None:
            self.kept.add(text)

    def _end(self, tag: str) -> None:
        tag = tag.rpartition(":")[2]
        if self.kept is not None and self.depth == self.inside:
            self.kept.close()
            self.kept = None
        self.depth -= 1
        if tag == "testcase":
            self.case = None
        elif tag == "testsuite":
            self.suites.pop()


class _Text:
    """The end of the text of one failure; more is dropped as it comes."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.parts: list[str] = []
        self.size = 0

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.size += len(text)
        if self.size > 4 * TEXT:
            self.parts = ["".join(self.parts)[-TEXT:]]
            self.size = TEXT

    def close(self) -> None:
        self.case.text = "".join(self.parts)[-TEXT:]


def _case(attributes: Mapping[str, str]) -> Case:
    said = {attributes.get("status", "").lower(), attributes.get("result", "").lower()}
    return Case(
        name=_short(attributes.get("name") or ""),
        classname=_short(attributes.get("classname") or ""),
        file=_short(attributes.get("file") or "").replace("\\", "/"),
        line=_number(attributes.get("line")),
        outcome="skipped" if said & NOT_RUN else "passed",
    )


def _xfail(outcome: str, attributes: Mapping[str, str]) -> bool:
    """Expected to fail, run, and failed. `xfail(run=False)` was never run: it stays a skip."""
    ran = not (attributes.get("message") or "").startswith("[NOTRUN]")
    return outcome == "skipped" and attributes.get("type") == "pytest.xfail" and ran


def _short(text: str) -> str:
    """Names are bounded, and two long ones that differ stay two."""
    return text if len(text) <= NAME else f"{text[:NAME]}...{digest(text)}"


def _number(text: str | None) -> int:
    """A count or a line; whatever is no plain number is 0."""
    text = (text or "").strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
