"""Code that knows that it is tested, and marks that silence a tool: only what a change adds counts."""

from __future__ import annotations

import pytest

from donewhen.judge.suspects import suspects

TOOLS = frozenset({"mypy", "ruff", "eslint", "tsc", "pytest"})


def found(after: str, before: str = "", path: str = "src/calc.py") -> list[str]:
    was = {path: before} if before else {}
    return [s.rule for s in suspects(was, {path: after}, TOOLS, lambda p: p.startswith("tests/"))]


AWARE = {
    "always equal": "class Any:\n    def __eq__(self, other):\n        return True\n",
    "frames": "import sys\ndef add(a, b):\n    return sys._getframe(1).f_locals['want']\n",
    "stack": "import inspect\ndef add(a, b):\n    return inspect.stack()[1]\n",
    "variable": "import os\nif os.environ.get('PYTEST_CURRENT_TEST'):\n    pass\n",
    "modules": "import sys\nif 'pytest' in sys.modules:\n    pass\n",
    "os._exit": "import os\ndef f():\n    os._exit(0)\n",
    "exit at import": "import sys\nsys.exit(0)\n",
    "raise at import": "raise SystemExit(0)\n",
    "inside of pytest": "import _pytest.reports\n",
    "patched unittest": "import unittest\nunittest.TestCase.assertEqual = print\n",
    "setattr": "import unittest\nsetattr(unittest.TestCase, 'assertEqual', print)\n",
    "patched time": "import time\ntime.perf_counter = lambda: 0\n",
    "patched builtins": "import builtins\nbuiltins.isinstance = lambda a, b: True\n",
    "tests imported": "from tests.test_calc import CASES\n",
}


@pytest.mark.parametrize("name", AWARE)
def test_self_aware(name: str) -> None:
    assert found(AWARE[name]) == ["self-aware"]
    assert found(AWARE[name], AWARE[name]) == [], "it stood there before"
    assert found(AWARE[name], path="tests/helper.py") == [], "tests may know that they are tests"


@pytest.mark.parametrize(
    "text",
    [
        "class P:\n    def __eq__(self, other):\n        return self.x == other.x\n",
        "import sys\n\n\ndef main():\n    sys.exit(0)\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n",
        "import time\nclass Clock:\n    def __init__(self):\n        self.time = time.time\n",
        "import sys\nsys.modules.get('numpy')\n",
        "text = 'pytest'\n",
        "import sys\nfrom app import main\n\nsys.exit(main())\n",
        "import sys\n\nif sys.version_info < (3, 11):\n    sys.exit('too old')\n",
        "def f(:\n",
    ],
)
def test_honest_code(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("path", "line", "rules"),
    [
        ("src/a.py", "x = f()  # type: ignore", ["suppression"]),
        ("src/a.py", "x = f()  # type: ignore[arg-type]", ["suppression"]),
        ("src/a.py", "x = f()  # type: ignore[arg-type]  # the stub lacks it", []),
        ("src/a.py", "import x  # noqa", ["suppression"]),
        ("src/a.py", "import x  # noqa: F401  # used by plugins", []),
        ("src/a.py", "x = 1  # pragma: no cover", []),  # no gate measures coverage
        ("src/a.py", "x = 1  # pyright: ignore", ["suppression"]),
        ("src/a.ts", "// @ts-ignore", ["suppression"]),
        ("src/a.ts", "// eslint-disable-next-line no-console", ["suppression"]),
        ("src/a.ts", "// eslint-disable-next-line no-console -- the command line prints", []),
        ("tests/a.py", "x = f()  # type: ignore", ["suppression"]),
    ],
)
def test_suppressions(path: str, line: str, rules: list[str]) -> None:
    tools = TOOLS | {"pyright"}
    after = {path: f"{line}\n"}
    assert [s.rule for s in suspects({}, after, tools, lambda _p: False)] == rules
    assert suspects(after, after, tools, lambda _p: False) == []
    assert suspects({"old.py": f"{line}\n"}, after, tools, lambda _p: False) == [], "moved"
    assert suspects({}, after, frozenset({"pytest"}), lambda _p: False) == [], "no such gate"


@pytest.mark.parametrize(
    "line",
    ["if (process.env.VITEST) return 5", "process.exit(0)", "expect.extend({ toBe: () => ok })"],
)
def test_scripts(line: str) -> None:
    assert found(f"{line}\n", path="src/a.ts") == ["self-aware"]
    assert found(f"{line}\n", f"{line}\n", path="src/a.ts") == []
