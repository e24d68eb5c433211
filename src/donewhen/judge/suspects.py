"""Code that behaves otherwise because it is watched, and marks that silence a tool. Pure.

Only what a change adds is looked at: what stood in the base, in whatever file, is the project's own.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

SILENCED, AWARE = "suppression", "self-aware"
RUNNERS = frozenset({"pytest", "_pytest", "unittest", "pluggy", "vitest", "jest"})
FRAMES = frozenset(
    {"sys._getframe", "inspect.stack", "inspect.currentframe", "sys._current_frames"}
)
EXITS = frozenset({"sys.exit", "exit", "quit", "os._exit"})
PATCHED = frozenset({"builtins", "time", "sys.modules"})
REASON = re.compile(r"[^\W\d_]{3,}.*[^\W\d_]{3,}")  # two words at least
# Which gates a mark silences, by a word of their command, and the mark.
MARKS: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = (
    (
        frozenset({"mypy", "pyright", "basedpyright", "ty", "pyrefly"}),
        re.compile(
            r"#\s*(type:\s*ignore|pyright:\s*(ignore|basic|off)|ty:\s*ignore|mypy:\s*ignore-errors)[^#]*"
        ),
    ),
    (
        frozenset({"ruff", "flake8", "pylint"}),
        re.compile(r"#\s*((ruff:\s*|flake8:\s*)?noqa|pylint:\s*disable)[^#]*"),
    ),
    (frozenset({"bandit", "ruff"}), re.compile(r"#\s*nosec[^#]*")),
    (frozenset({"coverage", "cov"}), re.compile(r"#\s*pragma:\s*no cover[^#]*")),
    (frozenset({"tsc", "tsgo", "vue-tsc"}), re.compile(r"@ts-(ignore|nocheck|expect-error)\b")),
    (
        frozenset({"eslint", "biome", "oxlint"}),
        re.compile(r"(eslint|oxlint)-disable[\w-]*((?!--).)*|biome-ignore[\w-]*\s*[^\s:]*"),
    ),
    (frozenset({"shellcheck"}), re.compile(r"#\s*shellcheck\s+disable=")),
    (frozenset({"golangci-lint", "staticcheck"}), re.compile(r"//\s*nolint\b")),
    (frozenset({"clippy", "cargo"}), re.compile(r"#!?\[allow\(")),
)  # fmt: skip
SCRIPT = re.compile(
    r"process\.env\.(VITEST|JEST_WORKER_ID)\b|process\.env\.NODE_ENV\s*={2,3}\s*['\"]test['\"]"
    r"|process\.(exit|reallyExit)\(\s*0?\s*\)|\bexpect\.extend\(|\bdelete require\.cache"
)


@dataclass(frozen=True)
class Suspect:
    """One line that a change added: where, which rule, what it is, and the line itself."""

    path: str
    line: int
    rule: str
    message: str
    text: str


def suspects(
    before: Mapping[str, str],
    after: Mapping[str, str],
    words: frozenset[str],
    is_test: Callable[[str], bool],
) -> list[Suspect]:
    """What the change from `before` to `after`, texts by path, added. `words` name the gates' tools."""
    found = [*_silenced(before, after, words)]
    code = {p: t for p, t in after.items() if not is_test(p)}
    was = {p: t for p, t in before.items() if not is_test(p)}
    found += _new(was, code, ".py", _python)
    found += _new(
        was, code, (".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), _script
    )
    return found


def _silenced(
    before: Mapping[str, str], after: Mapping[str, str], words: frozenset[str]
) -> Iterator[Suspect]:
    for tools, mark in MARKS:
        if not tools & words:
            continue
        was = Counter(m for text in before.values() for m in _marked(text, mark))
        for path, text in after.items():
            for number, line in enumerate(text.splitlines(), 1):
                hit = mark.search(line)
                if not hit:
                    continue
                key = line.strip()
                if was[key] > 0:
                    was[key] -= 1
                elif not REASON.search(line[hit.end() :]):
                    tool = ", ".join(sorted(tools & words))
                    what = f"silences {tool} with `{hit[0].strip()}` and does not say why"
                    yield Suspect(path, number, SILENCED, what, key)


def _marked(text: str, mark: re.Pattern[str]) -> Iterator[str]:
    return (line.strip() for line in text.splitlines() if mark.search(line))


def _new(
    before: Mapping[str, str],
    after: Mapping[str, str],
    suffix: str | tuple[str, ...],
    find: Callable[[str], Iterable[tuple[int, str, str]]],
) -> Iterator[Suspect]:
    """What `find` finds in the texts after and, as often, not in those before."""
    was = Counter(
        what
        for path, text in before.items()
        if path.endswith(suffix)
        for _n, _m, what in find(text)
    )
    for path, text in after.items():
        if not path.endswith(suffix):
            continue
        for number, message, what in find(text):
            if was[what] > 0:
                was[what] -= 1
            else:
                yield Suspect(path, number, AWARE, message, what)


def _script(text: str) -> Iterator[tuple[int, str, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if hit := SCRIPT.search(line):
            yield number, f"`{hit[0]}` lets code behave otherwise under test", line.strip()


def _python(text: str) -> Iterator[tuple[int, str, str]]:
    """(line, what is wrong, the code) of everything in a file that knows that it is tested."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if message := _aware(node):
            yield getattr(node, "lineno", 0), message, ast.unparse(node)[:500]
    for statement in tree.body:
        if message := _ends_the_import(statement):
            yield statement.lineno, message, ast.unparse(statement)[:500]


def _aware(node: ast.AST) -> str:
    match node:
        case ast.FunctionDef(name="__eq__" | "__ne__", body=body) if _constant_answer(body):
            return f"{node.name} answers the same whatever it is compared with"
        case ast.Attribute() if (name := ast.unparse(node)) in FRAMES:
            return f"{name} lets code see who called it"
        case ast.Call(func=func) if ast.unparse(func) == "os._exit":
            return "os._exit ends the test run without a report"
        case ast.Constant(value="PYTEST_CURRENT_TEST" | "PYTEST_VERSION" | "PYTEST_XDIST_WORKER"):
            return f"{ast.unparse(node)} tells code that it is tested"
        case ast.Compare(left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()]) if (
            name.partition(".")[0] in RUNNERS and "sys.modules" in ast.unparse(node.comparators[0])
        ):
            return f"looking for {name} in sys.modules tells code that it is tested"
        case ast.Import(names=names) if any(_root(n.name) == "_pytest" for n in names):
            return "the inside of pytest is imported by the code under test"
        case ast.ImportFrom(module=str(module)) if _root(module) in {
            "_pytest",
            "tests",
            "conftest",
        }:
            return f"{module} is imported by the code under test"
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            return next(filter(None, map(_patched, targets)), "")
        case ast.Call(func=ast.Name(id="setattr"), args=[first, *_]) if _foreign(
            ast.unparse(first)
        ):
            return f"something of {ast.unparse(first)} is replaced"
    return ""


def _patched(target: ast.expr) -> str:
    if isinstance(target, ast.Attribute | ast.Subscript):
        owner = ast.unparse(target.value)
        if _foreign(owner):
            return f"something of {owner} is replaced"
    return ""


def _foreign(owner: str) -> bool:
    return _root(owner) in RUNNERS or owner in PATCHED


def _root(name: str) -> str:
    return name.partition(".")[0]


def _constant_answer(body: list[ast.stmt]) -> bool:
    steps = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    match steps:
        case [ast.Return(value=ast.Constant(value=bool()))]:
            return True
    return False


def _ends_the_import(node: ast.stmt) -> str:
    """sys.exit(0) and the like at the top of a module: no error, and not what some main() returned."""
    value = node.exc if isinstance(node, ast.Raise) else getattr(node, "value", None)
    match value:
        case ast.Call(func=func, args=args) if all(_nothing(a) for a in args):
            ends = ast.unparse(func) in EXITS | {"SystemExit"}
        case ast.Name(id="SystemExit"):
            ends = True
        case _:
            ends = False
    if ends:
        return "importing this module ends the process"
    return ""


def _nothing(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value
