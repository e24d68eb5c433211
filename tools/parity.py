"""docs/parity.md from the `row` marks of the tests, and the check that the marks mean something.

python tools/parity.py           write docs/parity.md
python tools/parity.py --check   fail if it is stale
python tools/parity.py --kill    break the function each row names: its test must fail
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/parity.md"
HEAD = """# Parity

What four earlier systems offered or got wrong, and what donewhen does about it. The earlier systems
are vibe (V), uctm (U), the Ralph loop of JikiME-ADK (J) and jin-ralph (R); VB, UB, JB and RB are their
known defects, D what a better implementation must do. Each row names a test that goes through the
command line or a real client; `make parity` breaks the function that the row rests on and sees that
test fail. This page is written by `make docs`.

| row | there | here | enforced by | test |
|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Mark:
    """A test that proves a row; `kills` is `package.module:function` or `...:Class.method`."""

    row: str
    kills: str
    file: str
    test: str
    fixtures: tuple[str, ...]
    real: bool

    @property
    def id(self) -> str:
        return f"{self.file}::{self.test}"


def rows() -> dict[str, dict[str, str]]:
    """Row -> what, here, by; in the order of the file."""
    return tomllib.loads((ROOT / "tools/rows.toml").read_text(encoding="utf-8"))


def marks() -> list[Mark]:
    """Every `row` mark below tests/, read without importing anything."""
    return [m for path in sorted((ROOT / "tests").rglob("test_*.py")) for m in _of_file(path)]


def _of_file(path: Path) -> Iterator[Mark]:
    text = path.read_text(encoding="utf-8")
    if "mark.row(" not in text:
        return
    real = "pytest.mark.real(" in text
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            arguments = tuple(a.arg for a in node.args.args)
            for call in node.decorator_list:
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "pytest.mark.row":
                    row = ast.literal_eval(call.args[0])
                    kills = next(
                        (ast.literal_eval(k.value) for k in call.keywords if k.arg == "kills"), ""
                    )
                    yield Mark(row, kills, str(path.relative_to(ROOT)), node.name, arguments, real)


def page() -> str:
    by_row: dict[str, list[Mark]] = {}
    for mark in marks():
        by_row.setdefault(mark.row, []).append(mark)
    lines = []
    for row, told in rows().items():
        tests = "<br>".join(f"[{m.test}](../{m.file})" for m in by_row.get(row, ()))
        lines.append(f"| {row} | {told['what']} | {told['here']} | {told['by']} | {tests} |\n")
    return HEAD + "".join(lines)


def find(target: str, root: Path = ROOT) -> tuple[Path, ast.FunctionDef]:
    """The file and function that `kills` names. Raises LookupError."""
    module, _, name = target.partition(":")
    path = root / "src" / Path(*module.split(".")).with_suffix(".py")
    if not path.is_file():
        path = root / "src" / Path(*module.split(".")) / "__init__.py"
    scope: list[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    for part in name.split("."):
        node = next((n for n in scope if getattr(n, "name", "") == part), None)
        if isinstance(node, ast.FunctionDef):
            return path, node
        if not isinstance(node, ast.ClassDef):
            break
        scope = node.body
    raise LookupError(f"{target}: there is no such function")


def kill(target: str, root: Path) -> None:
    """Replace the function's body by a raise, in the copy at `root`."""
    path, node = find(target, root)
    lines = path.read_text(encoding="utf-8").splitlines()
    first, last = node.body[0].lineno - 1, node.end_lineno or 0
    indent = " " * (node.body[0].col_offset)
    lines[first:last] = [f'{indent}raise RuntimeError("killed: {target}")']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def passes(ids: list[str], root: Path) -> bool:
    """Do these tests pass with the source of `root`?"""
    env = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *ids]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, check=False)
    if done.returncode not in (0, 1):
        sys.stdout.write(done.stdout.decode())
        raise SystemExit(f"pytest itself ended with {done.returncode}")
    return done.returncode == 0


def survivors() -> int:
    """Kill each mark's function in a copy of its own; print what survived."""
    found = marks()
    if not passes([m.id for m in found], ROOT):
        raise SystemExit("the marked tests do not even pass unbroken")
    bad = 0
    for mark in found:
        with tempfile.TemporaryDirectory(prefix="parity-") as folder:
            shutil.copytree(ROOT / "src", Path(folder) / "src")
            kill(mark.kills, Path(folder))
            survived = passes([mark.id], Path(folder))
        bad += survived
        print(
            f"{'SURVIVED' if survived else 'killed':<9} {mark.row:<5} {mark.kills}  by {mark.test}",
            flush=True,
        )
    return bad


def main() -> int:
    if "--kill" in sys.argv:
        return 1 if survivors() else 0
    text = page()
    if "--check" in sys.argv:
        return 0 if PAGE.read_text(encoding="utf-8") == text else 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
