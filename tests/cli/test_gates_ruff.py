"""ruff by its own report, through the command line, driven by the real ruff."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.conftest import Project

BAD = "import os\n\n\ndef broken(:\n"


def test_ruff_is_read_by_its_own_report(make_project: Callable[..., Project]) -> None:
    found = make_project({"ruff.toml": "", "a.py": "import os\n", "empty/x.txt": "x"})

    def gate(command: str, code: int) -> dict[str, Any]:
        ran = found.donewhen("judge", "--json", "--gate", command).expect(code).json()
        one: dict[str, Any] = ran["gates"][0]
        return one

    red = gate("ruff check -q .", 1)
    (finding,) = red["findings"]
    assert (finding["rule"], finding["path"], finding["line"]) == ("F401", "a.py", 1)
    assert not red["weak"]
    assert gate("ruff check --exit-zero .", 1)["state"] == "fail"
    assert "no file" in str(gate("ruff check --quiet empty", 3)["why"])
    assert "E902" in str(gate("ruff check nosuch.py", 1)["findings"])
    found.write({"a.py": BAD})
    assert "invalid-syntax" in str(gate("ruff check --output-format text .", 1)["findings"])
    found.write({"ruff.toml": "nonsense = 1\n"})
    assert gate("ruff check .", 3)["state"] == "error"
    found.write({"ruff.toml": "", "a.py": "x = 1\n"})
    assert gate("ruff check .", 0)["state"] == "pass"
