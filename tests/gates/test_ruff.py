"""ruff check by a report recorded from the real tool, and what can go wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from tests.gates.recorded import gate_of, reading, text_of


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a.py").write_text("import os\n\n\ndef f(x):\n    return eval(x) == None\n", "utf-8")
    return root


def test_a_recorded_report(tree: Path) -> None:
    said = reading(gate_of("ruff"), text_of("ruff", tree), 1, tree, out=False)
    assert (said.state, said.why) == (GateState.FAIL, "3 errors")
    assert said.counts.security == 1
    assert [f"{f.path}:{f.line}:{f.rule}" for f in said.findings] == [
        "a.py:1:F401", "a.py:5:S307", "a.py:5:E711",
    ]  # fmt: skip
    assert all(f.fingerprint for f in said.findings)


def test_half_a_report_is_an_error(tree: Path) -> None:
    whole = text_of("ruff", tree)
    for text in (whole[: len(whole) // 2], "", "{}\n"):
        assert reading(gate_of("ruff"), text, 0, tree, out=False).state is GateState.ERROR, text[:9]
