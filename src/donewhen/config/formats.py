"""The formats of gates: name and what it reads. The module `donewhen.gates.NAME` is its adapter.

A new one is a file there and a line here; a tool that is to get it by its command has one in
donewhen.gates.programs as well.
"""

from __future__ import annotations

FORMATS = {
    # any command that can write one of these
    "exit": "its exit code alone, shown as weak",
    "junit": "JUnit XML at the path that stands for {report} in the command",
    "sarif": "SARIF 2.1.0 at {report}, or on standard output",
    "lines": "one finding a line, as compilers and most linters print it",
    "tap": "TAP 12 to 14 at {report}, or on standard output",
    # a tool's own, chosen by its command
    "pytest": "pytest",
    "unittest": "python -m unittest",
    "ruff": "ruff check",
    "node-test": "node --test",
    "vitest": "vitest",
    "jest": "jest",
    "tsc": "tsc, tsgo, vue-tsc",
    "eslint": "eslint",
    "biome": "biome",
    "oxlint": "oxlint",
    "ast-grep": "ast-grep scan",
    "shellcheck": "shellcheck",
    "go-test": "go test",
    "go-vet": "go vet",
    "gofmt": "gofmt -l",
}
