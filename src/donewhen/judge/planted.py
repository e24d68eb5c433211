"""Sight where nobody can be asked: with every source file broken, a test gate must turn red.

In a throw-away checkout each source file that is no test gets a line that no compiler takes. A gate
that stays green there does not read this tree, or reads none of its code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from donewhen.core.verdict import GateResult, GateState
from donewhen.gates.base import GateDef
from donewhen.gates.parse import program_of
from donewhen.judge.integrity import protected
from donewhen.system.git import Git

BREAK = b"\n}}} donewhen )))\n"
SOURCES = frozenset({
    ".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte", ".go", ".rs",
    ".java", ".kt", ".c", ".cc", ".cpp", ".cs", ".swift", ".rb", ".php", ".ex", ".zig",
})  # fmt: skip
ASKED = frozenset({"pytest", "unittest"})  # their interpreter says where code comes from


def doubtful(gates: Sequence[GateDef], results: Sequence[GateResult]) -> list[GateDef]:
    """Green test gates of which nobody can say what they read."""
    return [
        gate
        for gate, result in zip(gates, results, strict=True)
        if gate.kind == "test" and result.state is GateState.PASS and _opaque(gate)
    ]


def _opaque(gate: GateDef) -> bool:
    return gate.format not in ASKED and program_of(gate.argv) not in {"pytest", "py.test"}


def plant(git: Git) -> int:
    """Break the sources in the checkout of `git`; how many there are."""
    names = git.run("ls-files", "-z").decode("utf-8", "surrogateescape").split("\0")
    paths = [git.root / n for n in names if Path(n).suffix in SOURCES and not protected(n)]
    broken = [path for path in paths if path.is_file() and not path.is_symlink()]
    for path in broken:
        with path.open("ab") as out:
            out.write(BREAK)
    return len(broken)


def unmoved(broken: int) -> str:
    """Why a gate that stayed green is no gate."""
    files = "its source file is" if broken == 1 else f"all {broken} source files are"
    return f"it stays green when {files} broken, so it does not read the code of this tree"
