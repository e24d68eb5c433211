"""Go, shell and ast-grep, by reports recorded from the real tools, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates.base import Reading
from donewhen.gates.parse import parse_flag
from tests.gates.recorded import gate_of, reading, text_of

FILES = ("calc.go", "calc_test.go", "sub/s.go", "a.sh", "a.js")
PASS, FAIL, ERROR = GateState.PASS, GateState.FAIL, GateState.ERROR


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("", "utf-8")
    (root / "go.mod").write_text("module example.org/calc\n", "utf-8")
    return root


# tool, its exit code there, state, why, findings as path:line:rule or as test id
RECORDED = {
    "ast-grep": (1, FAIL, "1 error, 1 warning", ["a.js:1:no-console", "a.js:2:no-eval"]),
    "shellcheck": (1, FAIL, "exit 1, 3 warnings, 4 info", ["a.sh:2:SC2086", "a.sh:3:SC2154"]),
    "gofmt": (0, FAIL, "exit 0, but 1 error", ["calc_test.go:0:format"]),
    "go-vet": (0, FAIL, "exit 0, but 1 error", ["calc.go:7:printf"]),
    "go-test": (1, FAIL, "2 failed of 4 tests", ["example.org/calc::TestAdd/two"]),
}


@pytest.mark.parametrize("tool", RECORDED)
def test_recorded_reports(tree: Path, tool: str) -> None:
    code, state, why, found = RECORDED[tool]
    said = reading(gate_of(tool), text_of(tool, tree), code, tree)
    assert (said.state, said.why) == (state, why)
    assert set(found) <= {f.test or f"{f.path}:{f.line}:{f.rule}" for f in said.findings}


def test_go_packages_that_do_not_build(tree: Path) -> None:
    """Whatever else is there, they have failed, where the compiler says."""
    text = text_of("go-test-build", tree)
    said = reading(parse_flag("go test ./..."), text, 1, tree)
    assert said.state is FAIL
    places = {(f.path, f.line, f.message) for f in said.findings}
    assert ("sub/s.go", 3, "undefined: nope") in places
    assert any(path == "calc.go" and line == 7 for path, line, _message in places)


def events(*rows: tuple[str, str]) -> str:
    made = [{"Action": "start", "Package": "p"}]
    made += [{"Action": a, "Package": "p", **({"Test": t} if t else {})} for a, t in rows]
    return "\n".join(map(json.dumps, made))


# tool's command, exit code, standard output, standard error, state, part of why
SCANNED = "sg: summary|file: scannedFileCount={},skippedFileCount=0\n"
TRAPS = {
    "go: passes": ("go test", 0, events(("run", "TestA"), ("pass", "TestA"), ("pass", "")), "", PASS, "1 test"),
    "go: no tests": ("go test", 0, events(("skip", "")), "", ERROR, "no tests ran"),
    "go: all skipped": ("go test", 0, events(("skip", "TestA"), ("pass", "")), "", ERROR, "skipped"),
    "go: exit 0 in a test": ("go test", 0, events(("run", "TestA")), "", ERROR, "never ended"),
    "go: cut off": ("go test", 0, events(("pass", "TestA"))[:-9], "", ERROR, "cut off"),
    "go: nothing": ("go test", 0, "", "", ERROR, "no report was written"),
    "go: no module": ("go test", 1, "", "go: go.mod file not found", ERROR, "go.mod file not found"),
    "vet: clean": ("go vet", 0, "", "# p\n{}\n", PASS, "nothing found"),
    "vet: old, on stderr": ("go vet", 0, "", '# p\n{\n"p": {"printf": [{"posn": "calc.go:7:2", "message": "m"}]}}\n', FAIL, "1 error"),
    "vet: does not compile": ("go vet", 1, "", "# p\nvet: ./calc.go:3:9: undefined: x\n", FAIL, "1 error"),
    "vet: broken": ("go vet", 1, "", "no such tool", ERROR, "exit 1"),
    "gofmt: clean": ("gofmt -l .", 0, "", "", PASS, "nothing found"),
    "gofmt: syntax": ("gofmt -l .", 2, "", "calc.go:3:9: expected '}'\n", FAIL, "1 error"),
    "gofmt: missing": ("gofmt -l no", 2, "", "stat no: no such file or directory\n", ERROR, "exit 2"),
    "gofmt: no list": ("gofmt .", 0, "package calc", "", ERROR, "needs -l"),
    "shellcheck: clean": ("shellcheck a.sh", 0, '{"comments":[]}', "", PASS, "nothing found"),
    "shellcheck: missing": ("shellcheck no.sh", 2, '{"comments":[]}', "no.sh: does not exist", ERROR, "exit 2"),
    "shellcheck: usage": ("shellcheck", 3, "", "No files specified.", ERROR, "exit 3"),
    "ast-grep: clean": ("ast-grep scan", 0, "", SCANNED.format(3), PASS, "in 3 files"),
    "ast-grep: no file": ("ast-grep scan", 0, "", SCANNED.format(0), ERROR, "it looked at no file"),
    "ast-grep: missing path": ("ast-grep scan no", 0, "", "ERROR: no: No such file\n", ERROR, "No such file"),
    "ast-grep: no rules": ("ast-grep scan", 3, "", "Error: No ast-grep project", ERROR, "exit 3"),
    "ast-grep: bad rule": ("ast-grep scan", 8, "", "Error: Cannot parse rule", ERROR, "exit 8"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRAPS)
def test_traps(tree: Path, case: str) -> None:
    command, code, out, err, state, why = TRAPS[case]
    said: Reading = reading(parse_flag(command), out, code, tree, err)
    assert (said.state, why in said.why) == (state, True), said.why
