"""Did a change of tests make them weaker? Tests are matched, and what each of them claims is compared.

Formatting, comments, renames, moves, splits and parametrising weaken nothing. What cannot be told
from the syntax is not called weaker: for that the base versions run (see cleanroom).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from donewhen.judge.testcode import Look, Test, look

GONE, OFF, LOST, LOOSER, OTHER, WIDER, MOCKED = (
    "test-removed",
    "test-skipped",
    "assertion-removed",
    "assertion-loosened",
    "expectation-changed",
    "tolerance-widened",
    "unit-mocked",
)
ALWAYS = frozenset({GONE, OFF})  # a test that no longer runs, however green the base version is
NEGATED = {"assertEqual": "assertNotEqual", "assertTrue": "assertFalse"}
TOLERANCES = frozenset({"rel", "abs", "delta", "rel_tol", "abs_tol", "rtol", "atol"})
LESS = frozenset({"places", "decimal"})  # here a smaller number is the wider tolerance


@dataclass(frozen=True)
class Weakening:
    """One thing that became weaker: where, which rule, and the text before and after."""

    path: str
    rule: str
    test: str
    line: int
    before: str
    after: str = ""

    @property
    def message(self) -> str:
        said = {
            GONE: "is gone, and no other test has its body or its assertions",
            OFF: f"does not run any more: {self.after}",
            LOST: f"lost `{self.before}`",
            LOOSER: f"had `{self.before}`, and now the looser `{self.after}`",
            OTHER: f"expected `{self.before}`, and now `{self.after}`",
            WIDER: f"had `{self.before}`, and now the wider `{self.after}`",
            MOCKED: f"now replaces what it tests: {self.after}",
        }[self.rule]
        return f"{self.test or self.path} {said}"


@dataclass(frozen=True)
class Compared:
    """`weaker`: what was found. `kept`: files whose change weakens nothing, as far as syntax tells."""

    weaker: tuple[Weakening, ...] = ()
    kept: frozenset[str] = frozenset()


@dataclass
class _Pool:
    """What the whole change has in tests that are new or moved: bodies and assertions to match."""

    bodies: Counter[str] = field(default_factory=Counter)
    claims: Counter[str] = field(default_factory=Counter)
    shapes: dict[str, set[str]] = field(default_factory=dict)  # shape -> constants beside it
    skeletons: set[tuple[str, tuple[str, ...]]] = field(default_factory=set)


def compare(
    before: Mapping[str, str],
    after: Mapping[str, str],
    units: frozenset[str] = frozenset(),
    names: Iterable[str] = (),
) -> Compared:
    """Python test files before and after, by path; a path that `after` lacks was deleted.

    `units` are the packages under test, `names` functions that are tests though not called so.
    """
    names = frozenset(names)
    was = {path: look(text, names) for path, text in before.items()}
    now = {path: look(text, names) for path, text in after.items()}
    pool = _pool(was, now)
    weaker: list[Weakening] = []
    kept = set()
    for path, old in was.items():
        new = now.get(path) if path in after else Look()
        if old is None or new is None:
            continue
        found = _file(path, old, new, pool, units)
        weaker += found
        if not found and path in after and _harmless(old, new):
            kept.add(path)
    return Compared(tuple(weaker), frozenset(kept))


def _pool(was: Mapping[str, Look | None], now: Mapping[str, Look | None]) -> _Pool:
    """Bodies of tests that came, and assertions gained by tests and helpers."""
    pool = _Pool()
    for path, new in now.items():
        old = was.get(path) or Look()
        for name, test in (new or Look()).tests.items():
            known = old.tests.get(name)
            if known is None:
                pool.bodies[test.body] += 1
            gained = Counter(test.claims) - Counter(known.claims if known else ())
            pool.claims.update(gained)
            pool.skeletons |= {_skeleton(claim) for claim in gained}
            for claim in gained:
                pool.shapes.setdefault(_shape(claim), set()).update(test.values, _values(claim))
        for text in Counter((new or Look()).rest) - Counter(old.rest):
            _helper(text, new or Look(), pool)
    return pool


def _helper(text: str, file: Look, pool: _Pool) -> None:
    """What a new function asserts counts where tests call it, with the constants that they give."""
    name = text.partition("def ")[2].partition("(")[0]
    callers = [t for t in file.tests.values() if name and f"{name}(" in t.body]
    for claim in _claims_of(text) if callers else ():
        pool.claims[claim] += 1
        given = (v for t in callers for step in t.steps for v in _values(step))
        pool.shapes.setdefault(_shape(claim), set()).update(given, _values(claim))


def _file(path: str, old: Look, new: Look, pool: _Pool, units: frozenset[str]) -> list[Weakening]:
    found = [
        Weakening(path, OFF, "", 0, "", text) for text in (Counter(new.off) - Counter(old.off))
    ]
    for name, test in old.tests.items():
        here = new.tests.get(name)
        if here is None:
            if not _elsewhere(test, pool):
                found.append(Weakening(path, GONE, name, test.line, "\n".join(test.steps)))
        elif here != test:
            found += _weaker(path, test, here, pool, units)
    return found


def _elsewhere(test: Test, pool: _Pool) -> bool:
    """Renamed or moved as it was, or all that it asserted is asserted by tests that came."""
    if pool.bodies[test.body] > 0:
        pool.bodies[test.body] -= 1
        return True
    claims = Counter(test.claims)
    return bool(claims) and all(
        _found(claim, pool) or _skeleton(claim) in pool.skeletons for claim in claims
    )


def _found(claim: str, pool: _Pool) -> bool:
    if pool.claims[claim] > 0:
        return True
    values = _values(claim)
    return bool(values) and values <= pool.shapes.get(_shape(claim), set())


def _weaker(path: str, old: Test, new: Test, pool: _Pool, units: frozenset[str]) -> list[Weakening]:
    found = [
        Weakening(path, OFF, new.name, new.line, "", text)
        for text in Counter(new.off) - Counter(old.off)
    ]
    found += [
        Weakening(path, MOCKED, new.name, new.line, "", target)
        for target in sorted(new.mocks - old.mocks)
        if target.partition(".")[0] in units
    ]
    gained = list((Counter(new.claims) - Counter(old.claims)).elements())
    for claim in (Counter(old.claims) - Counter(new.claims)).elements():
        if _found(claim, pool):
            continue
        twin = next((g for g in gained if _subject(g) == _subject(claim)), "")
        if not twin and old.values < new.values and _shape(claim) in map(_shape, gained):
            continue  # parametrised in place: what it expected stands in the decorator now
        same = next((g for g in gained if not twin and _skeleton(g) == _skeleton(claim)), "")
        if same:  # what it calls has another name now
            gained.remove(same)
            continue
        if twin:
            gained.remove(twin)
        rule = _rule(claim, twin)
        if rule:
            found.append(Weakening(path, rule, new.name, new.line, claim, twin))
    return found


def _harmless(old: Look, new: Look) -> bool:
    """Everything that was there is there, unchanged; what came cannot reach it."""
    if old.imports - new.imports or new.off != old.off or new.automatic != old.automatic:
        return False
    bound = {_bound(text) for text in new.imports - old.imports}
    if bound & ({_bound(text) for text in old.imports} | old.helpers | new.helpers):
        return False
    if Counter(old.rest) - Counter(new.rest):
        return False
    added = Counter(new.rest) - Counter(old.rest)
    if not all(text.startswith(("def ", "async def ", "@", "class ")) for text in added):
        return False
    if new.helpers - old.helpers and any(
        helper in test.body for helper in new.helpers - old.helpers for test in old.tests.values()
    ):
        return False
    return all(_at_least(test, new.tests.get(name)) for name, test in old.tests.items())


def _at_least(old: Test, new: Test | None) -> bool:
    """The same test, or the same steps in order with assertions added."""
    if new is None:
        return False
    if (old.body, old.values) == (new.body, new.values):
        return True
    if old.body.partition("\n")[0] != new.body.partition("\n")[0] or old.values != new.values:
        return False
    if new.mocks - old.mocks or new.off != old.off:
        return False
    rest = iter(new.steps)
    between = [s for s in new.steps if s not in old.steps]
    return all(step in rest for step in old.steps) and all(s.startswith("assert ") for s in between)


# -- one assertion against another -----------------------------------------------------------------


def _rule(before: str, after: str) -> str:
    """How `after` is weaker than `before`; "" where it is not."""
    if not after:
        return LOST
    one, other = _parsed(before), _parsed(after)
    if isinstance(one, ast.Compare) and isinstance(other, ast.Compare):
        return _comparison(one, other)
    if isinstance(one, ast.Compare):
        return LOOSER
    if isinstance(other, ast.Compare):
        return ""  # a bare truth became a comparison
    if isinstance(one, ast.Call) and isinstance(other, ast.Call):
        return _call(one, other)
    return OTHER


def _comparison(one: ast.Compare, other: ast.Compare) -> str:
    a, b = type(one.ops[0]), type(other.ops[0])
    same = ast.unparse(one.comparators[0]) == ast.unparse(other.comparators[0])
    exact = (ast.Eq, ast.Is)
    if a in exact and b in exact:
        if _is_none(one):
            return OTHER
        if _is_none(other):
            return OTHER
        return "" if same else _expected(one.comparators[0], other.comparators[0])
    if a in exact:
        return LOOSER
    if b in exact:
        return ""
    if a is b:
        return "" if same else OTHER
    return LOOSER if _is_none(other) else OTHER


def _is_none(node: ast.Compare) -> bool:
    value = node.comparators[0]
    return isinstance(value, ast.Constant) and value.value is None


def _expected(one: ast.expr, other: ast.expr) -> str:
    """Two expected values: approx() with another tolerance, or something else."""
    if isinstance(other, ast.Call) and _name(other) == "approx":
        if not (isinstance(one, ast.Call) and _name(one) == "approx"):
            return WIDER
        same = [ast.unparse(a) for a in one.args] == [ast.unparse(a) for a in other.args]
        return _wider(one, other) or ("" if same else OTHER)
    return "" if isinstance(one, ast.Call) and _name(one) in {"approx", "ANY"} else OTHER


def _call(one: ast.Call, other: ast.Call) -> str:
    a, b = _name(one), _name(other)
    if a == b:
        if wide := _wider(one, other):
            return wide
        first = [ast.unparse(x) for x in one.args]
        second = [ast.unparse(x) for x in other.args]
        if a in {"raises", "assertRaises"} and second[:1] in (["Exception"], ["BaseException"]):
            return LOOSER if first != second else ""
        if len(second) < len(first) or len(other.keywords) < len(one.keywords):
            return LOOSER
        return OTHER
    if a in {"assertEqual", "assertIs", "assertDictEqual", "assertListEqual"}:
        return "" if b.endswith("Equal") and "Not" not in b and "Almost" not in b else LOOSER
    return "" if b in {"assertEqual", "assertIs"} else OTHER


def _wider(one: ast.Call, other: ast.Call) -> str:
    was = {k.arg: k.value for k in one.keywords}
    for keyword in other.keywords:
        if keyword.arg not in TOLERANCES | LESS:
            continue
        new, old = _number(keyword.value), _number(was.get(keyword.arg))
        if new is None:
            continue
        if old is None or (new < old if keyword.arg in LESS else new > old):
            return WIDER
    return ""


def _number(node: ast.expr | None) -> float | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    return None


def _subject(claim: str) -> str:
    """What an assertion is about: the left side, or the first argument; `x` of `x == 1`."""
    node = _parsed(claim)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node = node.operand
    if isinstance(node, ast.Compare):
        return ast.unparse(node.left)
    if isinstance(node, ast.Call) and _name(node).startswith("assert") and node.args:
        return ast.unparse(node.args[0])
    if isinstance(node, ast.Call) and _name(node) in {"isinstance", "len", "bool", "callable"}:
        return ast.unparse(node.args[0]) if node.args else claim
    if isinstance(node, ast.Call) and _name(node) in {"raises", "warns"}:
        return _name(node)
    return ast.unparse(node) if node is not None else claim


def _parsed(claim: str) -> ast.expr | None:
    try:
        return ast.parse(claim, mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None


def _name(call: ast.Call) -> str:
    func = call.func
    if isinstance(func, ast.Attribute):
        return func.attr
    return func.id if isinstance(func, ast.Name) else ""


def _shape(claim: str) -> str:
    """The assertion with a blank for every constant and plain name that is only given."""
    node = _parsed(claim)
    return claim if node is None else ast.unparse(_Blank().visit(node))


def _skeleton(claim: str) -> tuple[str, tuple[str, ...]]:
    """The assertion without any names, and its constants in order."""
    node = _parsed(claim)
    if node is None:
        return claim, ()
    constants = tuple(repr(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant))
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            inner.id = "_"
        elif isinstance(inner, ast.Attribute):
            inner.attr = "_"
    return ast.unparse(node), constants


class _Blank(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.copy_location(ast.Name("_", ast.Load()), node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        signed = isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)
        return self.visit(node.operand) if signed else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.copy_location(ast.Name("_", ast.Load()), node)


def _values(claim: str) -> set[str]:
    node = _parsed(claim)
    return {repr(n.value) for n in ast.walk(node) if isinstance(n, ast.Constant)} if node else set()


def _claims_of(text: str) -> tuple[str, ...]:
    found = look(f"def test():\n{_indented(text)}")
    return found.tests["test"].claims if found and "test" in found.tests else ()


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def _bound(text: str) -> str:
    """The name that one import binds."""
    return text.split(" as ")[-1].split()[-1].partition(".")[0]
