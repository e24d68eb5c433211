"""Gates of a JavaScript or TypeScript project, from its package.json and what configures its tools.

Its test script is what it says of itself; a runner is looked for only where there is none. Linters
and type checkers only where they are configured and installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from donewhen.config import bounded
from donewhen.gates.base import GateDef
from donewhen.gates.parse import from_command
from donewhen.gates.scripts import LOCKS, PLACEHOLDER

Has = Callable[[str], bool]
MOST = 4 << 20  # bytes of a file that is read whole
# tool, gate's name, kind, its arguments, files that configure it
ESLINT = tuple(f"eslint.config.{end}" for end in ("js", "mjs", "cjs", "ts", "mts", "cts"))
CHECKS = (
    ("eslint", "eslint", "lint", ".", ESLINT),
    ("biome", "biome", "lint", "check", ("biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc")),
    ("oxlint", "oxlint", "lint", "", (".oxlintrc.json", "oxlint.json", ".oxlintrc.jsonc")),
)  # fmt: skip
CONFIGS = ("js", "mjs", "cjs", "ts", "mts", "cts", "json")
COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.S)
TRAILING = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')


def package(place: Path) -> Mapping[str, Any]:
    """package.json of a folder, {} where there is none that can be read."""
    return json_file(place / "package.json")


def json_file(path: Path) -> Mapping[str, Any]:
    """A JSON object, comments and trailing commas allowed as in tsconfig.json; {} for none."""
    try:
        text = bounded.read(path, MOST).decode("utf-8-sig", "replace")
    except bounded.Unreadable:
        return {}
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        try:
            said = json.loads(TRAILING.sub(r"\1", COMMENT.sub(r"\1", text)))
        except (ValueError, RecursionError):
            return {}
    return said if isinstance(said, Mapping) else {}


def gates(place: Path, has: Has) -> Iterator[GateDef]:
    """What this project is checked by, each with the file that says so."""
    said = package(place)
    yield from _types(place, has, said)
    for tool, name, kind, arguments, files in CHECKS:
        own = next((file for file in files if (place / file).is_file()), "")
        if tool == "eslint" and not own and "eslintConfig" in said:
            continue  # an old one, which today's eslint does not read
        if own and has(tool):
            yield _gate(f"{tool} {arguments}".strip(), own, name=name, kind=kind)
    yield from _tests(place, has, said)


def _gate(command: str, why: str, **changes: Any) -> GateDef:
    return replace(from_command(command, source="detected"), why=why, **changes)


def _types(place: Path, has: Has, said: Mapping[str, Any]) -> Iterator[GateDef]:
    if not (place / "tsconfig.json").is_file():
        return
    preview = "@typescript/native-preview" in _dependencies(said) and has("tsgo")
    tool = "tsgo" if preview or not has("tsc") else "tsc"
    if not has(tool):
        return
    build = solution(place / "tsconfig.json")
    why = "tsconfig.json, which only names other projects" if build else "tsconfig.json"
    yield _gate(f"{tool} {'-b ' if build else ''}--noEmit", why, name=tool, kind="types")


def solution(path: Path) -> bool:
    """Does this tsconfig.json name other projects and no file of its own? `tsc` checks nothing then."""
    said = json_file(path)
    return bool(said.get("references")) and said.get("files") == [] and "include" not in said


def _dependencies(said: Mapping[str, Any]) -> set[str]:
    tables = (said.get(key) for key in ("dependencies", "devDependencies"))
    return {name for table in tables if isinstance(table, Mapping) for name in table}


def _tests(place: Path, has: Has, said: Mapping[str, Any]) -> Iterator[GateDef]:
    scripts = said.get("scripts")
    script = scripts.get("test") if isinstance(scripts, Mapping) else None
    if isinstance(script, str) and script.strip() and PLACEHOLDER not in script:
        why = f"scripts.test in package.json: {script.strip()[:60]}{_manager(place)}"
        # CI=1: runners that would watch files run once.
        yield _gate("env CI=1 npm test --silent", why, kind="test", name="npm-test")
        return
    for tool in ("vitest", "jest"):
        if why := _runner(place, tool, said):
            if has(tool):
                yield _gate("vitest run" if tool == "vitest" else tool, why)
            return


def _runner(place: Path, tool: str, said: Mapping[str, Any]) -> str:
    """Where the project says that it uses this runner, "" where it does not."""
    names = [f"{tool}.config.{end}" for end in CONFIGS]
    if own := next((name for name in names if (place / name).is_file()), ""):
        return own
    if tool == "jest" and "jest" in said:
        return "jest in package.json"
    return f"{tool} in package.json" if tool in _dependencies(said) else ""


def _manager(place: Path) -> str:
    """The package manager by its lock file, as it is shown."""
    for folder in (place, *place.parents):
        if lock := next((name for name in LOCKS if (folder / name).is_file()), ""):
            return f" ({LOCKS[lock]}, by {lock})"
        if (folder / ".git").exists():
            break
    return ""
