"""Tests of our own for JavaScript runners: what they are called and what is in them. Pure.

They are written as their neighbour is: its suffixes, its module system, its way to get at `test`.
Each file is a world of its own there, so what the neighbour loads is loaded too: it may be the liar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import PurePosixPath

FORMATS = frozenset({"node-test", "vitest", "jest"})
MODULE = re.compile(r"^\s*(import|export)\b", re.M)
USED = re.compile(
    r"""(?:\bfrom|^\s*import|\bimport\(|\brequire\()\s*["'](\.{1,2}/[^"'\n]+)["']""", re.M
)
GLOBALS = re.compile(r"""["']@jest/globals["']""")
HEADS = {
    ("node-test", True): 'import test from "node:test";\nimport assert from "node:assert";\n',
    ("node-test", False): 'const test = require("node:test");\nconst assert = require("node:assert");\n',
    ("vitest", True): 'import { expect, test } from "vitest";\n',
    ("jest", True): 'import { expect, test } from "@jest/globals";\n',
    ("jest", False): 'const { expect, test } = require("@jest/globals");\n',
}  # fmt: skip
ASSERTS = {
    "node-test": ("assert.strictEqual({}, {})", "assert.deepStrictEqual([{}], [{}])"),
    "vitest": ("expect({}).toBe({})", "expect([{}]).toEqual([{}])"),
    "jest": ("expect({}).toBe({})", "expect([{}]).toEqual([{}])"),
}


def file_name(beside: str, own: str) -> str:
    """A name that the same patterns fit: `a.test.ts` -> `OWN.test.ts`, `test-a.js` -> `test-OWN.js`."""
    pure = PurePosixPath(beside)
    stem, dot, suffixes = pure.name.partition(".")
    for word in ("test", "spec"):
        for mark in "-_":
            if stem.endswith(f"{mark}{word}"):
                return str(pure.with_name(f"{own}{mark}{word}{dot}{suffixes}"))
            if stem.startswith(f"{word}{mark}"):
                return str(pure.with_name(f"{word}{mark}{own}{dot}{suffixes}"))
    return str(pure.with_name(f"{own}{dot}{suffixes}"))


def text(form: str, neighbour: str, name: str, values: Mapping[str, object]) -> str:
    """Two tests that must pass, three that must fail; `values` as for Python's."""
    module = name.endswith((".mjs", ".mts")) or (
        not name.endswith((".cjs", ".cts")) and MODULE.search(neighbour) is not None
    )
    head = HEADS[form, True] if form == "vitest" else HEADS[form, module]
    if form == "jest" and not GLOBALS.search(neighbour):
        head = ""  # they are globals there
    load = (
        "try {{ await import({}); }} catch {{}}\n"
        if module
        else "try {{ require({}); }} catch {{}}\n"
    )
    used = dict.fromkeys(USED.findall(neighbour))
    head += "".join(load.format(json.dumps(path)) for path in used)
    same, deep = ASSERTS[form]
    v = values
    bodies = {
        v["good"]: same.format(f"{v['a']} + {v['b']}", v["sum"]),
        v["bad"]: same.format(f"{v['a']} + {v['b']}", v["wrong"]),
        v["well"]: deep.format(f"{v['a']} * {v['b']}", v["product"]),
        v["ill"]: deep.format(f"{v['a']} * {v['b']}", v["wrong"]),
        v["broken"]: f'throw new TypeError("{v["topic"]}")',
    }
    tests = (f'test("{title}", () => {{\n  {body};\n}});\n' for title, body in bodies.items())
    return "\n".join([head, *tests]) if head else "\n".join(tests)
