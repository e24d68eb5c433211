"""Gates from a project's own files: few files are read, and each gate says why it is there.

A test gate that the project clearly has is listed even where its tool is missing, since silence
would look like a pass; lint and type gates only where they are configured and the tool is there.
"""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

from donewhen.config import bounded
from donewhen.gates import node_project
from donewhen.gates.base import GateDef
from donewhen.gates.parse import from_command

Has = Callable[[str], bool]
TEST_FOLDERS = ("tests", "test")
MOST_FILES, MOST_FOLDERS, DEEPEST = 50, 400, 6
MOST = 4 << 20  # bytes of a file that is read whole
HEAD = 64 << 10  # bytes of a file that are looked at
SKIPPED = frozenset({
    "node_modules", "venv", "env", "__pycache__", "build", "dist", "target", "vendor", "site-packages",
    "data", "fixtures", "testdata",
})  # fmt: skip
USES = "uses unittest"
# tool, kind, its arguments, files that configure it, (file, section) that do
CHECKS = (
    ("ruff", "lint", "check .", ("ruff.toml", ".ruff.toml"), ()),
    ("mypy", "types", "", ("mypy.ini", ".mypy.ini"), (("setup.cfg", "mypy"),)),
)
PYTEST_SECTIONS = (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest"))
PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
FOR_PYTEST = re.compile(r"^(async )?def test_|^(import|from) pytest\b|^class Test\w*(\(\))?:", re.M)
FOR_UNITTEST = re.compile(r"^(import|from) (unittest|django\.test)\b|\bTestCase\b", re.M)


def detect(place: Path, has: Has) -> list[GateDef]:
    """The gates of the project in `place`.

    `has("go")`: is the program there? `has("-m pytest")`: has the project's Python the module?
    """
    project = _Project(place, has)
    found = [
        *_python_tests(project),
        *_python_checks(project),
        *_others(project),
        *_checks_of_any(project),
    ]
    return [replace(gate, source="detected") for gate in found]


@dataclass(frozen=True)
class _Project:
    """The few files that say what kind of project this is, read once."""

    place: Path
    has: Has

    @cached_property
    def python(self) -> str:
        return "python" if self.has("python") or not self.has("python3") else "python3"

    @cached_property
    def tools(self) -> Mapping[str, Any]:
        """[tool.*] of pyproject.toml."""
        return _table(_toml(self.place / "pyproject.toml").get("tool"))

    @cached_property
    def tests(self) -> list[str]:
        return list(_test_files(self.place))

    def first(self, *names: str) -> str:
        return next((n for n in names if (self.place / n).is_file()), "")

    def section(self, name: str, section: str) -> str:
        head = re.compile(rf"^\[{re.escape(section)}\]", re.M)
        return f"[{section}] in {name}" if head.search(_text(self.place / name)) else ""

    def tool(self, name: str) -> str:
        """How a Python tool is started here, "" if it is not there."""
        if self.has(f"-m {name}"):
            return f"{self.python} -m {name}"
        return name if self.has(name) else ""


def _gate(command: str, why: str, **changes: Any) -> GateDef:
    return replace(from_command(command, source="detected"), why=why, **changes)


def _python_tests(project: _Project) -> Iterator[GateDef]:
    pytest = project.tool("pytest")
    why = _pytest_configured(project) or _matching(project, FOR_PYTEST, "is written for pytest")
    case = "" if why else _matching(project, FOR_UNITTEST, USES)
    if why or (pytest and case):
        # Wanted but missing: the gate itself says so, as an error.
        yield _gate(f"{pytest or f'{project.python} -m pytest'} -q", why or case)
    elif case:
        test = case.removesuffix(f" {USES}")
        yield _gate(f"{project.python} -m unittest{_discovery(project, test)}", case)


def _pytest_configured(project: _Project) -> str:
    if "pytest" in project.tools:
        return "[tool.pytest] in pyproject.toml"
    if own := project.first(*PYTEST_FILES):
        return own
    for name, section in PYTEST_SECTIONS:
        if said := project.section(name, section):
            return said
    return project.first("conftest.py", *(f"{folder}/conftest.py" for folder in TEST_FOLDERS))


def _matching(project: _Project, pattern: re.Pattern[str], why: str) -> str:
    for name in project.tests:
        if pattern.search(_text(project.place / name)):
            return f"{name} {why}"
    return ""


def _discovery(project: _Project, test: str) -> str:
    """Arguments without which unittest does not look into a folder that is no package."""
    start = PurePosixPath(test).parent
    while start.parts and (project.place / start / "__init__.py").is_file():
        start = start.parent
    return f" discover -s {shlex.quote(str(start))}" if start.parts else ""


def _python_checks(project: _Project) -> Iterator[GateDef]:
    for tool, kind, arguments, files, sections in CHECKS:
        own = f"[tool.{tool}] in pyproject.toml" if tool in project.tools else project.first(*files)
        own = own or next((s for f, name in sections if (s := project.section(f, name))), "")
        command = project.tool(tool) if own else ""
        if command:
            arguments = arguments or _mypy_targets(project)
            yield _gate(f"{command} {arguments}".strip(), own, kind=kind, name=kind)


def _mypy_targets(project: _Project) -> str:
    """mypy without arguments needs a configuration that names what it checks."""
    keys = {"files", "packages", "modules"}
    if keys & set(_table(project.tools.get("mypy"))):
        return ""
    texts = (_text(project.place / n) for n in ("mypy.ini", ".mypy.ini", "setup.cfg"))
    named = any(re.search(r"^(files|packages|modules)\s*=", text, re.M) for text in texts)
    return "" if named else "."


def _others(project: _Project) -> Iterator[GateDef]:
    yield from node_project.gates(project.place, project.has)
    if project.first("go.mod"):
        yield from _go(project)
    if project.first("Cargo.toml"):
        yield _gate("cargo test --quiet", "Cargo.toml", kind="test", name="cargo-test")


def _go(project: _Project) -> Iterator[GateDef]:
    if project.has("gofmt"):
        yield _gate("gofmt -l .", "go.mod", name="gofmt")
    if project.has("go"):
        yield _gate("go vet ./...", "go.mod", name="go-vet")
    # Wanted but missing: the gate itself says so, as an error.
    yield _gate("go test ./...", "go.mod", name="go-test")


def _checks_of_any(project: _Project) -> Iterator[GateDef]:
    own = project.first("sgconfig.yml", "sgconfig.yaml")
    if own and project.has("ast-grep"):
        yield _gate("ast-grep scan", own, name="ast-grep")
    if project.has("shellcheck"):
        own = project.first(".shellcheckrc")
        scripts = sorted(p.name for p in project.place.glob("*.sh") if p.is_file())
        folders = ("scripts", "bin", "tools")
        scripts += sorted(
            f"{f}/{p.name}"
            for f in folders
            for p in (project.place / f).glob("*.sh")
            if p.is_file()
        )
        if own and scripts:
            yield _gate(shlex.join(["shellcheck", *scripts[:MOST_FILES]]), own, name="shellcheck")


def _test_files(place: Path) -> Iterator[str]:
    """Paths of the first test files; the usual folders before the rest."""
    count = folders = 0
    usual = [place / f for f in TEST_FOLDERS if (place / f).is_dir()]
    seen: set[str] = set()
    for start in (*usual, place):
        for folder, inner, files in os.walk(start):
            folders += 1
            here = Path(folder).relative_to(place)
            deep = len(here.parts) >= DEEPEST
            inner[:] = [] if deep else sorted(d for d in inner if _looked_into(Path(folder, d)))
            for name in sorted(files):
                path = (here / name).as_posix()
                if path not in seen and re.fullmatch(r"test.*\.py|.+_test\.py|tests\.py", name):
                    seen.add(path)
                    count += 1
                    yield path
            if count >= MOST_FILES or folders >= MOST_FOLDERS:
                return


def _looked_into(folder: Path) -> bool:
    """No dependencies, no build results, no other repository or virtual environment."""
    if folder.name.startswith(".") or folder.name in SKIPPED:
        return False
    return not ((folder / "pyvenv.cfg").exists() or (folder / ".git").exists())


def _text(path: Path) -> str:
    """The beginning of a file, "" for what is none."""
    if not path.is_file():  # opening a pipe would wait for ever
        return ""
    try:
        with path.open("rb") as source:
            return source.read(HEAD).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except OSError:
        return ""


def _whole(path: Path) -> str:
    try:
        return bounded.read(path, MOST).decode("utf-8-sig", "replace").replace("\r\n", "\n")
    except bounded.Unreadable:
        return ""


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_whole(path))
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
