"""What failed, as findings: which test, where in the project, what it said, and what makes it the
same failure in the next iteration. Text comes from programs the agent can change: all is bounded.
"""

from __future__ import annotations

import os
import posixpath
import re
from pathlib import Path, PurePosixPath

from donewhen.core.fingerprint import exit_fp, test_fp
from donewhen.core.verdict import Finding
from donewhen.gates.base import Completed, GateDef
from donewhen.gates.junitxml import Case

TEXT = 3000  # characters of one finding
ALL_TEXT = 400_000  # of all findings of a gate; later ones have their message only
OUTPUT = 4000
MESSAGE = 300
LARGEST = 4 << 20  # bytes of a source file that is looked at
FOREIGN = frozenset(
    {"site-packages", "dist-packages", "node_modules", ".venv", "venv", ".tox", ".nox"}
)
# How pytest closes a traceback, `path:line: Type`, and how Python writes a frame.
ENDED = re.compile(r"^(?![>E ] )[^\n]+:\d+: ([A-Za-z_][\w.]*)$", re.M)
PLACE = re.compile(r"^(?![>E ] )(?P<path>[^\s:<>\"'][^:<>\"'\n]*\.\w+):(?P<line>\d{1,7}):", re.M)
PLACE_PY = re.compile(r'File "(?P<path>[^"<>\n]+)", line (?P<line>\d{1,7})')
# A frame of JavaScript, the innermost first.
PLACE_JS = re.compile(r"(?:\(|at (?:async )?)(?:file://)?(?P<path>[^\s()]+):(?P<line>\d{1,7}):\d+")
RAISED = re.compile(r"^(?:E\s+)?([A-Za-z_][\w.]*)(?=:|$)", re.M)
PHASE = re.compile(r'failed on (?:setup|teardown) with "([A-Za-z_][\w.]*)')
PLAIN = re.compile(r"[A-Za-z_][\w.]*")


class Project:
    """The judged files, for telling which paths of a report are the project's own lines."""

    def __init__(self, tree: Path, cwd: str = ".") -> None:
        self.tree = tree
        # A runner names files from where it started or from its own root above that.
        folders = [PurePosixPath(cwd), *PurePosixPath(cwd).parents]
        self.bases = list(dict.fromkeys(posixpath.normpath(str(f)) for f in folders))
        self.roots = tuple(dict.fromkeys((str(tree), os.path.realpath(tree))))
        self.files: dict[str, list[str]] = {}

    def own(self, text: str) -> str:
        """The path from the top of the tree, "" for a file that is not the project's."""
        for root in self.roots:
            if text.startswith(root + os.sep):
                return self._own(text[len(root) + 1 :])
        if posixpath.isabs(text):
            return ""
        return next((p for base in self.bases if (p := self._own(posixpath.join(base, text)))), "")

    def _own(self, path: str) -> str:
        path = posixpath.normpath(path.replace("\\", "/"))
        if path.startswith("../") or FOREIGN & set(path.split("/")):
            return ""
        return path if os.path.isfile(os.path.join(self.tree, path)) else ""  # noqa: PTH113, PTH118  # never raises

    def line(self, path: str, number: int) -> str:
        """The text of a line, "" where there is none."""
        if not path or number < 1:
            return ""
        if path not in self.files:
            self.files[path] = self._read(path)
        lines = self.files[path]
        return lines[number - 1] if number <= len(lines) else ""

    def _read(self, path: str) -> list[str]:
        try:
            with (self.tree / path).open("rb") as source:
                return source.read(LARGEST).decode("utf-8", "replace").split("\n")
        except OSError:
            return []


def test_id(case: Case, project: Project) -> str:
    """As pytest writes it where the file is known, `path::Class::name`, else `classname::name`.

    The file is where the function is defined, and for an inherited or decorated test that is not
    where it was collected: the class name, which begins with the collected module, decides.
    """
    if not case.file:
        return f"{case.classname}::{case.name}" if case.classname else case.name
    module = _dotted(case.file)
    if not case.classname:
        return case.file if case.name == module else f"{case.file}::{case.name}"
    if f"{case.classname}.".startswith(f"{module}."):
        return _joined(case.file, case.classname[len(module) + 1 :], case.name)
    parts = case.classname.split(".")
    for count in range(len(parts), 0, -1):
        path = f"{'/'.join(parts[:count])}.py"
        if project.own(path):
            return _joined(path, ".".join(parts[count:]), case.name)
    return f"{case.file}::{case.classname}::{case.name}"


def _dotted(file: str) -> str:
    return file.removesuffix(".py").replace("/", ".")


def _joined(file: str, inner: str, name: str) -> str:
    return "::".join(p for p in (file, *inner.split("."), name) if p)


def of_tests(gate: GateDef, cases: list[Case], project: Project) -> tuple[Finding, ...]:
    """One finding for each failed case; the first ones keep their text."""
    found = []
    room = ALL_TEXT
    for case in cases:
        finding = _of_test(gate, case, project, min(TEXT, room))
        room -= len(finding.text)
        found.append(finding)
    return tuple(found)


def _of_test(gate: GateDef, case: Case, project: Project, room: int) -> Finding:
    path, line = place(case, project)
    kind, test = raised(case), test_id(case, project)
    first = (case.message or case.text).strip().splitlines() or [""]
    return Finding(
        tool=gate.name,
        rule=kind,
        message=first[0][:MESSAGE],
        path=path,
        line=line,
        text=case.text[-room:] if room > 0 else "",
        test=test,
        fingerprint=test_fp(test, kind, project.line(path, line)),
    )


def raised(case: Case) -> str:
    """The type of the exception, without its module; "failure" where the report does not say."""
    if case.kind and PLAIN.fullmatch(case.kind) and case.kind not in {"failure", "error"}:
        return case.kind.rpartition(".")[2]
    message = case.message.partition("\n")[0]
    if said := PHASE.match(message):
        return said[1].rpartition(".")[2]
    if names := ENDED.findall(case.text):
        return str(names[-1]).rpartition(".")[2]
    if said := RAISED.match(message):
        return said[1].rpartition(".")[2]
    if message.startswith("assert "):
        return "AssertionError"
    names = [n for n in RAISED.findall(case.text) if n.endswith(("Error", "Exception", "Exit"))]
    return names[-1].rpartition(".")[2] if names else "failure"


def place(case: Case, project: Project) -> tuple[str, int]:
    """Where it failed: the last frame of the traceback in a file of the project's own."""
    best = (project.own(case.file) if case.file else "", case.line)
    for pattern in (PLACE, PLACE_PY):
        for match in pattern.finditer(case.text):
            if path := project.own(match["path"]):
                best = (path, int(match["line"]))
    if not best[1]:
        frames = ((project.own(m["path"]), m["line"]) for m in PLACE_JS.finditer(case.text))
        best = next(((path, int(line)) for path, line in frames if path), best)
    return best


def of_exit(gate: GateDef, done: Completed) -> Finding:
    """One finding for a command that failed: its code and last lines."""
    output = f"{done.stdout}\n{done.stderr}".strip()
    return Finding(
        tool=gate.name,
        rule=f"exit-{done.code}" if done.code >= 0 else f"signal-{-done.code}",
        message=last_line(done) or f"{ended(done.code)} without output",
        text=output[-OUTPUT:],
        fingerprint=exit_fp(gate.name, done.code, output, str(done.tree)),
    )


def ended(code: int) -> str:
    return f"exit {code}" if code >= 0 else f"killed by signal {-code}"


def last_line(done: Completed) -> str:
    """What the program said last, standard error first as that is where reasons go."""
    for text in (done.stderr, done.stdout):
        lines = [line for line in text.splitlines() if line.strip()]
        if lines:
            return lines[-1].strip()[:MESSAGE]
    return ""
