"""A SARIF 2.1.0 log into findings: rule, level, file, line, message. Pure.

Results that the tool itself takes back (suppressed, absent, not applicable) are left out. A log that
is of another version, that has no results at all or keeps them elsewhere cannot be judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from donewhen.core.verdict import Severity
from donewhen.gates import reports
from donewhen.gates.diagnostics import Found
from donewhen.gates.reports import BadReport, number, words
from donewhen.gates.severity import level

VERSION = "2.1.0"
NOT_FOUND = frozenset({"pass", "notApplicable"})
ARGUMENT = re.compile(r"\{(\d+)\}")
DRIVE = re.compile(r"/[A-Za-z]:/")


@dataclass(frozen=True)
class Log:
    """`failed` is what the log says went wrong with the tool itself, "" for nothing."""

    found: list[Found]
    failed: str = ""


def parse(data: Any) -> Log:
    """Raises BadReport for what is no complete SARIF 2.1.0 log."""
    version = reports.field(data, "version")
    if not isinstance(data, dict) or "runs" not in data:
        raise BadReport("its JSON is no SARIF log")
    if version != VERSION:
        raise BadReport(f"it is SARIF {str(version)[:20]!r}, and only {VERSION} is read")
    runs = reports.objects(data["runs"], "a SARIF log: runs")
    if not runs:
        raise BadReport("its SARIF log has no run, so nothing was looked at")
    found: list[Found] = []
    failed = ""
    for run in runs:
        if run.get("externalPropertyFileReferences"):
            raise BadReport("its SARIF log keeps results in other files")
        if run.get("results") is None:
            raise BadReport("its SARIF log has a run without results: it did not get to them")
        found += _Run.of(run).found(reports.objects(run["results"], "a SARIF log: results"))
        failed = failed or _failure(run)
    return Log(found, failed)


def _failure(run: Mapping[str, Any]) -> str:
    for said in run.get("invocations") or ():
        if reports.field(said, "executionSuccessful", default=True) is False:
            notes = reports.field(said, "toolExecutionNotifications", default=())
            texts = [words(reports.field(n, "message", "text")) for n in notes]
            more = next((t for t in texts if t), "")
            return f"the tool did not succeed{f': {more[:200]}' if more else ''}"
    return ""


@dataclass
class _Run:
    """One run of a log: its rules, files and folders are looked up by number and name."""

    rules: list[Any]
    extensions: list[Any]
    artifacts: list[Any]
    bases: Mapping[str, Any]
    by_id: dict[str, Any] = field(default_factory=dict)
    paths: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> _Run:
        rules = _list(reports.field(run, "tool", "driver", "rules"))
        extensions = [
            _list(reports.field(e, "rules"))
            for e in _list(reports.field(run, "tool", "extensions"))
        ]
        bases = run.get("originalUriBaseIds")
        every = [*rules, *(r for more in extensions for r in more)]
        return cls(
            rules,
            extensions,
            _list(run.get("artifacts")),
            bases if isinstance(bases, dict) else {},
            {words(reports.field(r, "id")): r for r in reversed(every)},
        )

    def found(self, results: list[dict[str, Any]]) -> Iterator[Found]:
        for result in results:
            if result.get("kind") in NOT_FOUND or result.get("baselineState") == "absent":
                continue
            if not _suppressed(result.get("suppressions")):
                yield self._one(result)

    def _one(self, result: dict[str, Any]) -> Found:
        rule = self._rule(result)
        places = _list(result.get("locations"))
        place = reports.field(places[0] if places else {}, "physicalLocation")
        region = reports.field(place, "region", default={})
        return Found(
            rule=self._name(result, rule),
            message=_message(result, rule),
            path=self._path(reports.field(place, "artifactLocation", default={})),
            line=number(reports.field(region, "startLine")),
            col=number(reports.field(region, "startColumn")),
            severity=_level(result, rule),
            security=_security(rule) or _security(result),
        )

    def _rule(self, result: Mapping[str, Any]) -> Any:
        said = reports.field(result, "rule", default={})
        at = reports.field(result, "ruleIndex", default=reports.field(said, "index"))
        owner = reports.field(said, "toolComponent", "index")
        if isinstance(at, int) and at >= 0:
            rules = self.rules
            if isinstance(owner, int):
                rules = self.extensions[owner] if 0 <= owner < len(self.extensions) else []
            if at < len(rules):
                return rules[at]
        return self.by_id.get(words(result.get("ruleId")) or words(reports.field(said, "id")), {})

    def _name(self, result: Mapping[str, Any], rule: Any) -> str:
        own = words(result.get("ruleId")) or words(reports.field(result, "rule", "id"))
        return own or words(reports.field(rule, "id")) or "finding"

    def _path(self, where: Any) -> str:
        at = reports.field(where, "index")
        if (
            not reports.field(where, "uri")
            and isinstance(at, int)
            and 0 <= at < len(self.artifacts)
        ):
            where = reports.field(self.artifacts[at], "location", default={})
        key = (words(reports.field(where, "uri")), words(reports.field(where, "uriBaseId")))
        if key not in self.paths:
            self.paths[key] = _local(self._joined(*key))
        return self.paths[key]

    def _joined(self, uri: str, base: str) -> str:
        """With the folders that it is relative to; one that the log does not tell is the project's."""
        seen: set[str] = set()
        while base and base not in seen and not _split(uri)[0] and not uri.startswith("/"):
            seen.add(base)
            folder = self.bases.get(base)
            above = words(reports.field(folder, "uri"))
            if above:
                uri = f"{above.rstrip('/')}/{uri}"
            base = words(reports.field(folder, "uriBaseId"))
        return uri


def _split(uri: str) -> tuple[str, str]:
    """(scheme, path); no scheme where it is no URI at all."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return "", uri
    if len(parts.scheme) == 1:  # C:/a is a path
        return "", uri
    return parts.scheme, parts.path if parts.scheme else uri.partition("#")[0]


def _local(uri: str) -> str:
    """The path of a file, "" for what lies elsewhere."""
    scheme, path = _split(uri)
    if scheme not in {"", "file"}:
        return ""
    path = unquote(path, errors="surrogateescape")
    return path[1:] if DRIVE.match(path) else path


def _suppressed(said: Any) -> bool:
    """Suppressed, if somebody did and nobody has yet to agree or refused."""
    states = [reports.field(s, "status", default="accepted") for s in said or ()]
    return bool(states) and all(state == "accepted" for state in states)


def _level(result: Mapping[str, Any], rule: Any) -> Severity:
    said = result.get("level") or reports.field(rule, "defaultConfiguration", "level")
    if result.get("kind", "fail") != "fail" or said == "none":
        return Severity.INFO
    return level(said, Severity.WARNING)


def _message(result: Mapping[str, Any], rule: Any) -> str:
    message = result.get("message")
    text = words(reports.field(message, "text")) or words(reports.field(message, "markdown"))
    if not text and (key := words(reports.field(message, "id"))):
        text = words(reports.field(rule, "messageStrings", key, "text"))
    text = text or words(reports.field(rule, "shortDescription", "text"))
    given = [str(a) for a in _list(reports.field(message, "arguments"))]
    if given:
        text = ARGUMENT.sub(lambda m: given[int(m[1])] if int(m[1]) < len(given) else m[0], text)
    return text


def _security(part: Any) -> bool:
    said = reports.field(part, "properties", default={})
    if "security-severity" in said:
        return True
    return "security" in _list(reports.field(said, "tags"))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
