"""A verdict for other programs: SARIF 2.1.0, JUnit XML, and GitHub's workflow commands. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

LEVELS = {"error": "error", "warning": "warning", "info": "note"}
COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
INFO_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"

Gate = Mapping[str, Any]
Finding = Mapping[str, Any]


def sarif(verdict: Mapping[str, Any], version: str) -> str:
    """One run a gate, integrity as one of its own; fingerprints are those of the verdict."""
    gates = [*verdict["gates"], *_integrity(verdict)]
    runs = [_sarif_run(gate, version) for gate in gates]
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs}, indent=1)


def _sarif_run(gate: Gate, version: str) -> dict[str, Any]:
    found = gate["findings"]
    rules = [{"id": rule} for rule in dict.fromkeys(f["rule"] or "finding" for f in found)]
    return {
        "tool": {
            "driver": {"name": f"donewhen/{gate['name']}", "version": version, "rules": rules}
        },
        "automationDetails": {"id": f"donewhen/{gate['name']}/"},
        "invocations": [{"executionSuccessful": gate["state"] != "error"}],
        "results": [_sarif_result(f) for f in found],
    }


def _sarif_result(finding: Finding) -> dict[str, Any]:
    name = f"{finding['test']}: " if finding["test"] else ""
    result: dict[str, Any] = {
        "ruleId": finding["rule"] or "finding",
        "level": LEVELS[finding["severity"]],
        "message": {"text": f"{name}{finding['message']}" or "finding"},
        "partialFingerprints": {"donewhen/v1": finding["fingerprint"]},
        "baselineState": "unchanged" if finding["novelty"] == "pre-existing" else "new",
    }
    if finding["path"]:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding["path"])}}
        if finding["line"]:
            columns = {"startColumn": finding["col"]} if finding["col"] else {}
            place["region"] = {"startLine": finding["line"], **columns}
        result["locations"] = [{"physicalLocation": place}]
    return result


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path, errors="surrogateescape")


def junit(verdict: Mapping[str, Any]) -> str:
    """One suite a gate: its tests, or for other tools one case that passed or failed."""
    suites = [_suite(gate) for gate in (*verdict["gates"], *_integrity(verdict))]
    return "\n".join(
        ['<?xml version="1.0" encoding="utf-8"?>', "<testsuites>", *suites, "</testsuites>", ""]
    )


def _suite(gate: Gate) -> str:
    cases = [*_bad_cases(gate), *(_case(name, "") for name in gate["passed_tests"])]
    if gate["state"] == "pass" and not gate["passed_tests"]:
        cases.append(_case(gate["name"], ""))
    elif gate["state"] == "error" or (gate["state"] != "pass" and not cases):
        text = f"<error message={_attribute(gate['why'])}/>"
        cases.append(_case(gate["name"], text))
    counts = {tag: sum(f"<{tag} " in case for case in cases) for tag in ("failure", "error")}
    head = (
        f"<testsuite name={_attribute(gate['name'])} tests='{len(cases)}' "
        f"failures='{counts['failure']}' errors='{counts['error']}' time='{gate['seconds']:.3f}'>"
    )
    return "\n".join([head, *cases, "</testsuite>"])


def _bad_cases(gate: Gate) -> Iterator[str]:
    for finding in gate["findings"]:
        if finding["severity"] != "error" or finding["rule"] == "gate-error":
            continue
        where = f"{finding['path']}:{finding['line']}" if finding["line"] else finding["path"]
        name = finding["test"] or " ".join(p for p in (where, finding["rule"]) if p)
        said = _attribute(finding["message"])
        kind = _attribute(finding["rule"] or "failure")
        body = escape(NOT_XML.sub("?", finding["text"]))
        yield _case(name or gate["name"], f"<failure message={said} type={kind}>{body}</failure>")


def _case(name: str, inner: str) -> str:
    group, _, last = name.rpartition("::")
    where = _attribute(group or "donewhen")
    return f"  <testcase classname={where} name={_attribute(last or name)}>{inner}</testcase>"


def _attribute(text: str) -> str:
    return quoteattr(NOT_XML.sub("?", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def github(verdict: Mapping[str, Any]) -> Iterator[str]:
    """Annotations for a workflow's log, then one line that says how it ended."""
    for gate in (*verdict["gates"], *_integrity(verdict)):
        shown = [f for f in gate["findings"] if gate["state"] != "pass" or f["severity"] != "error"]
        for finding in shown:
            yield _annotation(gate, finding)
        if gate["state"] != "pass" and not gate["findings"]:
            yield f"::error title={_property(gate['name'])}::{_data(gate['why'])}"
    passed = sum(g["state"] == "pass" for g in verdict["gates"])
    level = "notice" if verdict["verdict"] == "pass" else "error"
    total = len(verdict["gates"])
    yield f"::{level} title=donewhen::{verdict['verdict']}, {passed} of {total} gates pass"


def _annotation(gate: Gate, finding: Finding) -> str:
    title = " ".join(p for p in (gate["name"], finding["rule"]) if p)
    parts = [("file", finding["path"]), ("line", finding["line"]), ("col", finding["col"])]
    shown = [f"{key}={_property(str(value))}" for key, value in (*parts, ("title", title)) if value]
    said = f"{finding['test']}: " if finding["test"] else ""
    return (
        f"::{COMMANDS[finding['severity']]} {','.join(shown)}::{_data(said + finding['message'])}"
    )


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _integrity(verdict: Mapping[str, Any]) -> list[Gate]:
    """Integrity findings in the shape of a gate."""
    if not verdict["integrity"]:
        return []
    why = "tests or what judges was changed"
    return [
        {"name": "integrity", "state": "fail", "why": why, "findings": verdict["integrity"],
         "passed_tests": [], "seconds": 0.0}
    ]  # fmt: skip
