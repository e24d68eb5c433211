"""JavaScript and TypeScript tools, by reports recorded from the real ones, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates.base import Reading
from donewhen.gates.parse import parse_flag
from tests.gates.recorded import gate_of, reading, text_of

FILES = ("src/a.ts", "src/b.js", "a.test.ts", "a.test.js", "b.test.ts", "b.test.js", "a.test.mjs",
         "b.test.mjs", "d.test.mjs", "e.test.mjs", "sub/c.test.mjs", "eslint.config.js", "package.json")  # fmt: skip
IN_FILE = {"eslint", "vitest", "jest", "node-test"}
PASS, FAIL, ERROR = GateState.PASS, GateState.FAIL, GateState.ERROR


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("import 'node:test';\n" if name[0] == "e" else "", "utf-8")
    return root


def read(tool: str, tree: Path, code: int, text: str | None = None, command: str = "") -> Reading:
    gate = parse_flag(command) if command else gate_of(tool)
    said = text_of(tool, tree) if text is None else text
    return reading(gate, said, code, tree, out=tool not in IN_FILE)


# tool, its exit code there, state, why, findings as path:line:rule or as test id
RECORDED = {
    "tsc": (2, FAIL, "1 error", ["src/a.ts:5:TS2322"]),
    "tsgo": (1, FAIL, "1 error", ["src/a.ts:5:TS2322"]),
    "eslint": (1, FAIL, "2 errors, 1 warning",
        ["src/b.js:2:no-unused-vars", "src/b.js:3:no-debugger", "src/b.js:4:use-isnan"]),
    "oxlint": (0, PASS, "6 warnings in 3 files", ["src/b.js:4:eslint(use-isnan)"]),
    "biome": (1, FAIL, "10 errors, 3 warnings",
        ["src/a.ts:3:lint/suspicious/noDebugger", "src/a.ts:0:format"]),
    "vitest": (1, FAIL, "2 failed of 4 tests", ["a.test.ts::outer::inner (x|y)", "b.test.ts::cannot be loaded"]),
    "jest": (1, FAIL, "2 failed of 3 tests", ["a.test.js::outer::inner (x|y)", "b.test.js::cannot be loaded"]),
    "node-test": (1, FAIL, "5 failed of 10 tests", ["a.test.mjs::wrong", "a.test.mjs::outer::inner bad",
        "d.test.mjs::parent::kid bad", "b.test.mjs", "e.test.mjs"]),
}  # fmt: skip


@pytest.mark.parametrize("tool", RECORDED)
def test_recorded_reports(tree: Path, tool: str) -> None:
    code, state, why, found = RECORDED[tool]
    said = read(tool, tree, code)
    assert (said.state, said.why) == (state, why)
    names = {f.test or f"{f.path}:{f.line}:{f.rule}" for f in said.findings}
    assert set(found) <= names
    assert all(f.fingerprint for f in said.findings)


@pytest.mark.parametrize("tool", [t for t in RECORDED if t not in {"tsc", "tsgo"}])
def test_half_a_report_is_an_error(tree: Path, tool: str) -> None:
    whole = text_of(tool, tree)
    for text in (whole[: len(whole) // 2], "", "{}\n", "[1]"):
        assert read(tool, tree, 0, text).state is ERROR, text[:10]


# The traps of each tool: (tool, command, exit code, report, state, part of why)
OPTION = "error TS5023: Unknown compiler option '--nope'.\n"
CONFIG = "tsconfig.json(3,5): error TS5023: Unknown compiler option 'nope'.\n"
IGNORED = [{"filePath": "{tree}/src/a.ts", "messages": [
    {"ruleId": None, "fatal": False, "severity": 1, "message": "File ignored because ..."}]}]  # fmt: skip
WARNED = [{"filePath": "{tree}/src/a.ts", "messages": [
    {"ruleId": "eqeqeq", "severity": 1, "message": "m", "line": 1, "column": 1}]}]  # fmt: skip
BROKEN = [{"filePath": "{tree}/src/a.ts", "messages": [
    {"ruleId": None, "fatal": True, "severity": 2, "message": "Parsing error", "line": 1, "column": 1}]}]  # fmt: skip
UNREAD = {"summary": {"changed": 0, "unchanged": 0, "errors": 1, "diagnosticsNotPrinted": 0},
    "diagnostics": [{"severity": "error", "message": "Cannot read file.", "category": "fs/cantRead",
    "location": {"path": "nope.js"}}], "command": "lint"}  # fmt: skip
HIDDEN = {"summary": {"changed": 0, "unchanged": 2, "diagnosticsNotPrinted": 3}, "diagnostics": []}
CLEAN = {"summary": {"changed": 0, "unchanged": 2, "diagnosticsNotPrinted": 0}, "diagnostics": []}
OX = {"diagnostics": [], "number_of_files": 0}
NONE = {"numTotalTests": 0, "numFailedTests": 0, "testResults": []}
PASSED = {"numTotalTests": 1, "numFailedTests": 0, "testResults": [{"name": "{tree}/a.test.js",
    "status": "passed", "assertionResults": [{"title": "t", "ancestorTitles": [], "status": "passed"}]}]}  # fmt: skip
SKIPPED = json.loads(json.dumps(PASSED).replace('"status": "passed"}]', '"status": "pending"}]'))
TRAPS: tuple[tuple[str, str, int, object, GateState, str], ...] = (
    ("tsc", "tsc --noEmit", 0, "", PASS, "nothing found"),
    ("tsc", "tsc --nope", 1, OPTION, ERROR, "TS5023"),
    ("tsc", "tsc --noEmit", 2, "error TS6053: File 'x.ts' not found.\n", ERROR, "TS6053"),
    ("tsc", "tsgo --noEmit", 1, CONFIG, ERROR, "TS5023"),
    ("tsc", "tsc --noEmit", 2, "", ERROR, "names no finding"),
    ("tsc", "tsc --noEmit", 134, "src/a.ts(1,1): error TS2322: m\n", ERROR, "exit 134"),
    ("tsc", "tsc --noEmit", 0, "src/a.ts(1,1): error TS2322: m\n", FAIL, "exit 0, but 1 error"),
    ("eslint", "eslint .", 2, "", ERROR, "exit 2"),
    ("eslint", "eslint .", 0, [], ERROR, "it looked at no file"),
    ("eslint", "eslint src/a.ts", 0, IGNORED, ERROR, "it looked at no file"),
    ("eslint", "eslint .", 0, WARNED, PASS, "1 warning in 1 file"),
    ("eslint", "eslint . --max-warnings 0", 1, WARNED, FAIL, "1 warning"),
    ("eslint", "eslint .", 1, BROKEN, FAIL, "1 error"),
    ("biome", "biome lint nope.js", 1, UNREAD, ERROR, "Cannot read file. nope.js"),
    ("biome", "biome lint", 0, HIDDEN, ERROR, "does not have all"),
    ("biome", "biome lint", 0, CLEAN, PASS, "nothing found in 2 files"),
    ("oxlint", "oxlint nope", 1, f"No files found to lint.\n{json.dumps(OX)}", ERROR, "no file"),
    ("oxlint", "oxlint", 0, {**OX, "number_of_files": 2}, PASS, "in 2 files"),
    ("jest", "jest", 0, NONE, ERROR, "no tests ran"),
    ("jest", "jest", 0, PASSED, PASS, "1 test passed"),
    ("jest", "jest", 0, SKIPPED, ERROR, "the only test was skipped"),
    ("vitest", "vitest run", 0, {**PASSED, "numTotalTests": 2}, ERROR, "says 2 tests and has 1"),
    ("vitest", "vitest run", 0, {**PASSED, "numFailedTests": 1}, ERROR, "but the report has 1 failure"),
    ("vitest", "vitest run", 1, PASSED, ERROR, "no test failed"),  # an unhandled error, coverage
    ("node-test", "node --test", 0, {"type": "end"}, ERROR, "no tests ran"),
    ("node-test", "node --test", 0, {"type": "test:pass", "name": "t", "nesting": 0}, ERROR, "cut off"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("tool", "command", "code", "report", "state", "why"), TRAPS, ids=[f"{t[1]}-{i}" for i, t in enumerate(TRAPS)]
)  # fmt: skip
def test_traps(
    tree: Path, tool: str, command: str, code: int, report: object, state: GateState, why: str
) -> None:
    text = report if isinstance(report, str) else json.dumps(report)
    said = read(tool, tree, code, text.replace("{tree}", str(tree)), command)
    assert (said.state, why in said.why) == (state, True), said.why


def test_a_solution_checks_nothing_without_build(tree: Path) -> None:
    (tree / "tsconfig.json").write_text('{ "files": [], /* all */ "references": [{"path": "a"}], }')
    assert "tsc -b" in read("tsc", tree, 0, "", "tsc --noEmit").why
    assert read("tsc", tree, 0, "", "tsc -b --noEmit").state is PASS


# What a process ended early leaves is the file as one passed test.
def test_a_file_that_exits_before_its_tests_is_found_out(tree: Path) -> None:
    row = {
        "type": "test:pass",
        "name": f"{tree}/e.test.mjs",
        "nesting": 0,
        "file": f"{tree}/e.test.mjs",
    }
    text = "\n".join(json.dumps(r) for r in (row, {"type": "end"}))
    said = read("node-test", tree, 0, text)
    assert said.state is ERROR
    assert "ended before its tests were reported" in said.findings[0].message
