"""config.lines: where in the text a key stands, in every way TOML can write it."""

from __future__ import annotations

import pytest

from donewhen.config.lines import Path, locate

TEXT = """\
# version = 7
version = 1

[limits]  # wall = "1h"
max_iterations = 3
"wall" = "2h"

[gates.tests]
run = '''
timeout = no key
[limits]
'''
timeout = "1m"
inputs = [
  "a",   # timeout
  "b",
]

[gates . "lint"]
run = "ruff"
timeout = "2m"

[[agents]]
use = "claude"

[[agents]]
use = "codex"
after = 3
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("version",), 2),
        (("limits",), 4),
        (("limits", "max_iterations"), 5),
        (("limits", "wall"), 6),
        (("gates", "tests"), 8),
        (("gates", "tests", "run"), 9),
        (("gates", "tests", "timeout"), 13),
        (("gates", "tests", "inputs"), 14),
        (("gates", "lint", "timeout"), 21),
        (("agents",), 23),
        (("agents", 0, "use"), 24),
        (("agents", 1), 26),
        (("agents", 1, "after"), 28),
        (("agents", 0, "after"), 0),
        (("nosuch",), 0),
    ],
)
def test_headers_and_keys(path: Path, line: int) -> None:
    assert locate(TEXT, path) == line


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nlimits.wall = 2", ("limits", "wall"), 2),
        ("a = 1\nlimits = {usd = 1, wall = 2}", ("limits", "wall"), 2),
        ('a = 1\nagents = [{use = "x"}, {use = "y", after = 0}]', ("agents", 1, "after"), 2),
        ("\n[tool.donewhen]\nx = 1", ("tool", "donewhen", "x"), 3),
        ("[tool]\ndonewhen = {x = 1}", ("tool", "donewhen", "x"), 2),
        ("[[tool.donewhen.agents]]\n\n\nuse = 3", ("tool", "donewhen", "agents", 0, "use"), 4),
        ("[limits]", ("limits",), 1),
        ("", ("limits",), 0),
    ],
)
def test_other_ways_to_write_it(text: str, path: Path, line: int) -> None:
    assert locate(text, path) == line
