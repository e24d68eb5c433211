"""The same gate for a few files alone, where its tool takes files: for a quick look at an edit.

Type checkers that need the whole project are run whole if they are fast, and only what they say of
these files counts; slow ones are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from donewhen.gates.base import GateDef
from donewhen.gates.command import program_at, program_of

PY = frozenset({".py", ".pyi"})
JS = frozenset({".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"})
WEB = JS | {".json", ".jsonc", ".css", ".graphql", ".html"}
SH = frozenset({".sh", ".bash", ".ksh", ".dash"})
# program -> (the suffixes that it reads, words of its command that are no paths); None: any file
FILES: dict[str, tuple[frozenset[str] | None, frozenset[str]]] = {
    "ruff": (PY, frozenset({"check", "format"})),
    "flake8": (PY, frozenset()),
    "ty": (PY, frozenset({"check"})),
    "eslint": (JS, frozenset()),
    "biome": (WEB, frozenset({"check", "lint", "format", "ci"})),
    "oxlint": (JS, frozenset()),
    "shellcheck": (SH, frozenset()),
    "ast-grep": (None, frozenset({"scan"})),
    "sg": (None, frozenset({"scan"})),
}
WHOLE = {"tsgo": JS}


def narrowed(gate: GateDef, files: Sequence[str], tree: Path) -> GateDef | None:
    """For `files` (from the top of the tree); None where this gate has nothing quick to say of them."""
    program, place = program_of(gate.argv), PurePosixPath(gate.cwd)
    inside = [PurePosixPath(f).relative_to(place) for f in files if _below(f, place)]
    if program in WHOLE:
        return gate if any(f.suffix in WHOLE[program] for f in inside) else None
    if program not in FILES or gate.argv[:2] == ("sh", "-c"):
        return None
    suffixes, commands = FILES[program]
    own = [str(f) for f in inside if suffixes is None or f.suffix in suffixes]
    if not own:
        return None
    at = program_at(gate.argv) + 1
    kept = [w for w in gate.argv[at:] if w in commands or not _path(w, tree / gate.cwd)]
    return replace(gate, argv=(*gate.argv[:at], *kept, *own))


def _below(file: str, place: PurePosixPath) -> bool:
    return place == PurePosixPath() or PurePosixPath(file).is_relative_to(place)


def _path(word: str, folder: Path) -> bool:
    return not word.startswith("-") and (folder / word).exists()
