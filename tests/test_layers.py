"""Who may import whom, by reading the source; and what only some packages may touch."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src"
# Highest first; a package may import those below it, and siblings of one row never each other.
LAYERS = (
    ("ui",),
    ("api",),
    ("drivers",),
    ("judge",),
    ("gates", "agents", "store"),
    ("system",),
    ("spec", "config"),
    ("core",),
    ("errors",),
)
RANK = {name: number for number, row in enumerate(LAYERS) for name in row}
ALONE = {"hook", "testing"}  # imported by nobody
IMPURE = {
    "asyncio", "concurrent", "ctypes", "datetime", "fcntl", "getpass", "glob", "importlib", "io",
    "locale", "logging", "multiprocessing", "os", "pathlib", "platform", "random", "secrets",
    "select", "shutil", "signal", "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading",
    "time", "uuid", "warnings",
}  # fmt: skip
ONLY_SYSTEM = {"subprocess", "fcntl", "signal", "_signal", "time", "psutil", "socket"}
# Processes of their own, and the shipped tools for tests: they import nothing of ours.
PROCESSES = {"donewhen/agents/player.py", "donewhen/gates/assets/unittest_junit.py"}


def modules() -> list[Path]:
    return sorted((SRC / "donewhen").rglob("*.py"))


def package(path: Path, root: Path = SRC) -> str:
    parts = path.relative_to(root / "donewhen").parts
    return parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Absolute names of everything a module imports, wherever in the module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield node.module, node.lineno
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def ours(path: Path) -> Iterator[tuple[str, int]]:
    for name, line in imports(path):
        parts = name.split(".")
        if parts[0] == "donewhen" and len(parts) > 1 and not parts[1].startswith("__"):
            yield parts[1], line


def faults(path: Path, root: Path = SRC) -> list[str]:
    me = package(path, root)
    if me in {"__init__", "__main__"}:
        return []
    found = []
    for other, line in ours(path):
        if other == me or me == "testing":
            continue
        if other in ALONE or other not in RANK or RANK[other] <= RANK.get(me, -1):
            found.append(f"{path.relative_to(root)}:{line}: {me} imports {other}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SRC)))
def test_imports_go_down_only(path: Path) -> None:
    assert faults(path) == []


def test_the_check_itself_finds_an_import_that_goes_up(tmp_path: Path) -> None:
    bad = tmp_path / "donewhen" / "core" / "bad.py"
    bad.parent.mkdir(parents=True)
    bad.write_text("def f():\n    from donewhen.ui import view\n    return view\n")
    assert faults(bad, tmp_path) == ["donewhen/core/bad.py:2: core imports ui"] * 2


@pytest.mark.parametrize("path", sorted((SRC / "donewhen/core").glob("*.py")), ids=lambda p: p.name)
def test_the_core_is_pure(path: Path) -> None:
    used = {name.split(".")[0] for name, _ in imports(path)}
    assert not used & IMPURE
    calls = {
        n.func.id
        for n in ast.walk(ast.parse(path.read_text()))
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    assert not calls & {"open", "print", "input", "exec", "eval"}


def test_only_system_spawns_locks_and_reads_the_clock() -> None:
    found = [
        f"{path.relative_to(SRC)}:{line}: {name}"
        for path in modules()
        if package(path) not in {"system", "testing"}
        and str(path.relative_to(SRC)) not in PROCESSES
        for name, line in imports(path)
        if name in ONLY_SYSTEM
    ]
    assert found == []


def test_only_the_ui_prints_and_exits() -> None:
    found = []
    for path in modules():
        if package(path) in {"ui", "testing"} or str(path.relative_to(SRC)) in PROCESSES:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in {
                "print",
                "sys.exit",
                "exit",
            }:
                found.append(f"{path.relative_to(SRC)}:{node.lineno}")
    assert found == []


def test_no_import_cycles() -> None:
    graph: dict[str, set[str]] = {}
    for path in modules():
        name = ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module]
        graph[name] = {n.module for n in top if n.module and n.module.startswith("donewhen.")}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, f"cycle: {' -> '.join((*path, name))}"
        if name not in done:
            for other in graph.get(name, ()):
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SRC)))
def test_nothing_happens_at_import(path: Path) -> None:
    """At module level there are definitions and constants: no loop, no `with`, no bare call."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        work = isinstance(node, ast.For | ast.While | ast.With | ast.Try | ast.Delete)
        call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        assert not work, f"{path}:{node.lineno}: work at import"
        assert not call, f"{path}:{node.lineno}: a call at import"


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(SRC)))
def test_a_module_says_what_it_is_for_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 600
    if text.strip():
        assert ast.get_docstring(ast.parse(text)), f"{path} does not say what it is for"


def test_formats_and_agents_of_the_tables_exist() -> None:
    from donewhen import agents, gates
    from donewhen.config.formats import FORMATS

    for target in agents.TABLE.values():
        module, _, cls = target.partition(":")
        assert hasattr(__import__(module, fromlist=["x"]), cls)
    for name in FORMATS:
        adapter = gates.load(name)
        assert callable(adapter.prepare)
        assert callable(adapter.read)
