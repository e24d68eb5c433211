"""What the tests of one Python file assert, skip and mock, as its syntax tells. Pure; nothing is run."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "xfail", "expectedFailure", "importorskip"}
)
EXITS = frozenset({"skip", "xfail", "skipTest", "SkipTest", "exit", "importorskip"})
CLAIMS = ("assert", "fail")  # self.assertEqual, mock.assert_called_with, pytest.fail
CONTEXTS = frozenset({
    "raises", "warns", "deprecated_call", "assertRaises", "assertRaisesRegex", "assertWarns",
    "assertLogs",
})  # fmt: skip
UNASKED = (
    "setup",
    "teardown",
    "setUp",
    "tearDown",
    "pytest_",
    "load_tests",
)  # called by the runner
FIXTURES = frozenset({"fixture", "yield_fixture"})


@dataclass(frozen=True)
class Test:
    """One test function. `claims` are its assertions, normalised; `body` is all but its name.

    `off` is what skips it or expects it to fail; `mocks` the targets it replaces; `values` the
    constants of its decorators, where a parametrised test keeps what it expects.
    """

    name: str
    line: int
    body: str
    claims: tuple[str, ...]
    steps: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    mocks: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Look:
    """One file: its tests by `Class::function`, its imports, and everything else that they rest on."""

    tests: dict[str, Test] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()
    rest: tuple[str, ...] = ()
    off: tuple[str, ...] = ()  # what skips the whole file
    helpers: frozenset[str] = frozenset()  # names of classes, and of functions that are no tests
    automatic: tuple[str, ...] = ()  # what the runner calls without any test asking for it


def look(source: str, names: Iterable[str] = ()) -> Look | None:
    """None where the file cannot be read as Python; `names` are tests that are not called test*."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    try:
        return _looked(tree, frozenset(names))
    except RecursionError:
        return None


def _looked(tree: ast.Module, names: frozenset[str]) -> Look:
    tests: dict[str, Test] = {}
    imports, rest, off, helpers, automatic = [], [], [], set(), []
    for node in _without_docstring(tree.body):
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports += [ast.unparse(one) for one in _one_by_one(node)]
        elif isinstance(node, Function) and _is_test(node, names):
            tests[node.name] = _test(node.name, node)
        elif isinstance(node, ast.ClassDef):
            helpers.add(node.name)
            inner, shell, skipped = _class(node, names)
            tests |= inner
            off += skipped
            rest.append(shell)
        else:
            if isinstance(node, Function):
                helpers.add(node.name)
                automatic += [node.name] if _is_automatic(node) else []
            off += _module_off(node)
            rest.append(ast.unparse(node))
    return Look(
        tests, frozenset(imports), tuple(rest), tuple(off), frozenset(helpers), tuple(automatic)
    )


def _class(node: ast.ClassDef, names: frozenset[str]) -> tuple[dict[str, Test], str, list[str]]:
    """Its tests, what is left of it without them, and what skips it."""
    tests, kept = {}, []
    for inner in _without_docstring(node.body):
        if isinstance(inner, Function) and _is_test(inner, names):
            name = f"{node.name}::{inner.name}"
            tests[name] = _test(name, inner)
        else:
            kept.append(ast.unparse(inner))
    off = [ast.unparse(d) for d in node.decorator_list if _last(d) in SKIPS]
    off += [
        text for line in kept if (text := line) and line.startswith("pytestmark") and _skips(line)
    ]
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    marks = [ast.unparse(d) for d in node.decorator_list]
    return tests, "\n".join([*marks, f"class {node.name}({bases}):", *kept]), off


def _is_test(node: Function, names: frozenset[str]) -> bool:
    return (node.name.startswith("test") or node.name in names) and not any(
        _last(d) in FIXTURES for d in node.decorator_list
    )


def _is_automatic(node: Function) -> bool:
    if node.name.startswith(UNASKED):
        return True
    calls = (d for d in node.decorator_list if isinstance(d, ast.Call) and _last(d) in FIXTURES)
    return any(k.arg == "autouse" for call in calls for k in call.keywords)


def _module_off(node: ast.stmt) -> list[str]:
    """pytestmark = pytest.mark.skip, pytest.skip(allow_module_level=True), sys.exit() ..."""
    text = ast.unparse(node)
    if isinstance(node, ast.Assign) and text.startswith("pytestmark") and _skips(text):
        return [text]
    if (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and _last(node.value) in EXITS
    ):
        return [text]
    return [text] if isinstance(node, ast.Assign) and text.startswith("__test__ = False") else []


def _skips(text: str) -> bool:
    return any(word in text for word in (".skip", ".xfail"))


def _test(name: str, node: Function) -> Test:
    body = _without_docstring(node.body)
    off = [ast.unparse(d) for d in node.decorator_list if _last(d) in SKIPS]
    off += [
        ast.unparse(s)
        for s in body
        if isinstance(s, ast.Expr | ast.Raise | ast.Return) and _leaves(s)
    ]
    return Test(
        name,
        node.lineno,
        "\n".join([ast.unparse(node.args), *map(ast.unparse, body)]),
        tuple(_claims(body)),
        tuple(ast.unparse(s) for s in body),
        tuple(off),
        frozenset(_mocks(node)),
        frozenset(_constants(node.decorator_list)),
    )


def _leaves(node: ast.stmt) -> bool:
    """Does this statement of a test's own block end it without a verdict?"""
    if isinstance(node, ast.Return):
        return True
    value = node.exc if isinstance(node, ast.Raise) else getattr(node, "value", None)
    return value is not None and _last(value) in EXITS


def _claims(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Assert):
                yield ast.unparse(node.test)
            elif isinstance(node, ast.Call):
                word = _last(node)
                if word.startswith(CLAIMS) or word in CONTEXTS:
                    yield ast.unparse(node)


def _mocks(node: Function) -> Iterator[str]:
    """patch("calc.add"), monkeypatch.setattr(calc, "add", ...), mocker.patch.object(calc, "add")."""
    for inner in ast.walk(node):
        if not isinstance(inner, ast.Call) or not inner.args:
            continue
        words = ast.unparse(inner.func).split(".")
        if "patch" not in words and words[-1] not in {"setattr", "setitem"}:
            continue
        first = inner.args[0]
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value
        elif len(inner.args) > 1 and isinstance(inner.args[1], ast.Constant):
            yield f"{ast.unparse(first)}.{inner.args[1].value!s}"


def _constants(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Constant):
                yield repr(inner.value)


def _last(node: ast.AST) -> str:
    """`skip` of `@pytest.mark.skip(...)`: the last word of what is named or called."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _one_by_one(node: ast.Import | ast.ImportFrom) -> list[ast.stmt]:
    if isinstance(node, ast.Import):
        return [ast.Import([one]) for one in node.names]
    return [ast.ImportFrom(node.module, [one], node.level) for one in node.names]


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text and isinstance(first.value.value, str) else body  # type: ignore[union-attr]  # as is_text says
