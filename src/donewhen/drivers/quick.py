"""`donewhen judge --quick PATH..`: what can be said of edited files within seconds, without a daemon.

In process what is cheaper there (conflict markers, syntax); else the linters of the project on these
files alone, and type checkers that are fast. No tests run, and nothing is decided by it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.verdict import Finding, GateResult, GateState, Proof, Severity, Verdict
from donewhen.drivers.prepare import gates_for
from donewhen.drivers.repo import Repo, open_repo
from donewhen.errors import UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.narrow import WHOLE, narrowed
from donewhen.gates.parse import program_of
from donewhen.gates.run import run_gates
from donewhen.judge import glance
from donewhen.judge.judge import Request, added_up, run_one
from donewhen.system.process import cores

BOUND_S = 10.0  # of one tool
KINDS = frozenset({"lint", "types", "format", "security"})
NOTE = "a quick look at single files: no tests ran, so this is no verdict on the work"


@dataclass(frozen=True)
class _File:
    name: str  # from the top of the repository, with slashes
    text: str


def quick(
    paths: Sequence[str],
    flags: Sequence[str] = (),
    watch: Callable[[GateResult], None] | None = None,
    cwd: Path | None = None,
) -> Verdict:
    """Diagnostics of `paths`. Raises UsageError for one that is no file of this repository."""
    repo = open_repo(cwd)
    files = [_file(repo, path) for path in paths]
    tell = watch or (lambda _result: None)
    names = [file.name for file in files]
    gates = [g for g in gates_for(repo, flags) if g.kind in KINDS and not g.hidden]
    some = [n for g in gates if (n := narrowed(g, names, repo.root)) is not None]
    own = [_inside("conflicts", files, glance.conflicts), _inside("syntax", files, glance.syntax)]
    for result in own:
        tell(result)
    results = (*own, *_tools(repo, some, set(names), tell))
    return Verdict("", "", added_up(results), Proof.NONE, results, notes=(NOTE,))


def _file(repo: Repo, path: str) -> _File:
    place = repo.cwd / path
    shown = f"--quick {path}"
    try:
        real = place.resolve()
        inside = real.relative_to(repo.root.resolve())
    except ValueError:
        raise UsageError(
            f"{shown} lies outside the repository {repo.root}", hint="Name a file of it."
        ) from None
    except (OSError, RuntimeError) as error:
        raise UsageError(f"{shown}: {error}", hint="Name a file of the repository.") from error
    if inside.parts[:1] == (".git",):
        raise UsageError(f"{shown} is git's own", hint="Name a file of the repository.")
    if real.is_dir():
        raise UsageError(f"{shown} is a folder", hint="Name files, or judge all: donewhen judge")
    if not real.is_file():
        raise UsageError(f"{shown}: there is no such file", hint="Type: git status")
    try:
        with real.open("rb") as source:
            text = source.read(glance.LARGEST).decode("utf-8", "replace")
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be read: {error.strerror}", hint="Name another file."
        ) from error
    return _File(inside.as_posix(), text.removeprefix("\ufeff"))


def _inside(
    name: str, files: Sequence[_File], look: Callable[[str, str], Iterator[Finding]]
) -> GateResult:
    """A check of our own on each file's text."""
    found = tuple(glance.marked(f for file in files for f in look(file.name, file.text)))
    count = f"{len(files)} file{'s' * (len(files) != 1)}"
    return glance.result(name, found, f"nothing found in {count}")


def _tools(
    repo: Repo, gates: Sequence[GateDef], names: set[str], tell: Callable[[GateResult], None]
) -> tuple[GateResult, ...]:
    folder = Path(tempfile.mkdtemp(prefix="donewhen-quick-"))

    def one(gate: GateDef) -> GateResult:
        request = Request(
            tree=repo.root, checkout=repo.root, gates=(gate,), folder=folder,
            environ=repo.environ, marker=f"quick-{os.getpid()}",
        )  # fmt: skip
        result = run_one(request, gate)
        if program_of(gate.argv) in WHOLE:
            result = _of_these(result, names)
        result = replace(result, log="")
        tell(result)
        return result

    try:
        # A file that a tool is told to pass over is no error of it.
        bounded = [
            replace(g, timeout=min(g.timeout, BOUND_S), required=True, empty="pass") for g in gates
        ]
        return run_gates(bounded, one, cores())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _of_these(result: GateResult, names: set[str]) -> GateResult:
    """Of a tool that looked at the whole project, what it said of these files."""
    if result.state is GateState.ERROR:
        return result
    kept = tuple(f for f in result.findings if f.path in names)
    errors = sum(f.severity is Severity.ERROR for f in kept)
    elsewhere = len(result.findings) - len(kept)
    why = f"{errors} error{'s' * (errors != 1)}" if errors else "nothing found in these files"
    also = f" ({elsewhere} elsewhere)" if elsewhere else ""
    state = GateState.FAIL if errors else GateState.PASS
    counts = replace(result.counts, errors=errors, warnings=len(kept) - errors, info=0)
    return replace(result, state=state, why=f"{why}{also}", findings=kept, counts=counts)
