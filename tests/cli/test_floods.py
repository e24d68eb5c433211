"""Floods through the command line: whatever comes, the runner's own memory stays small.

Measured is the peak of the process that runs `donewhen`, as the kernel has it at its end.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from donewhen.system import below
from tests.conftest import CALC, FIX, Project, Ran

pytestmark = pytest.mark.skipif(not below.LINUX, reason="reads the peak from /proc")
Script = Callable[..., Path]
GOAL = "make the tests pass"
MOST_KB = 100_000
WRITE_FIX = f"printf %s {shlex.quote(FIX['src/calc/__init__.py'])} > src/calc/__init__.py"
ONE_GB = "yes 0123456789abcde | head -c 1000000000"
LINE = "head -c 50000000 /dev/zero | tr '\\0' x; echo"
MEASURED = """
import sys
from donewhen.ui.cli import main
try:
    main(sys.argv[2:])
finally:
    peak = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
    open(sys.argv[1], "w").write(peak[0])
"""


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def measured(project: Project, *args: str, **env: str) -> Ran:
    """Run the command line, and assert that its peak of memory is under 100 MB."""
    peak = project.root.parent / "peak"
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(peak), *args],
        cwd=project.root,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
    )
    assert 10_000 < int(peak.read_text()) < MOST_KB, peak.read_text()
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode("utf-8", "replace"))


def run(project: Project, agent: str, *args: str, **env: str) -> dict[str, Any]:
    ran = measured(project, "run", GOAL, "--agent", agent, "--yes", "--json", *args, **env)
    result: dict[str, Any] = ran.expect(0).json()
    assert result["reason"] == "gates-passed", ran.err[-2000:]
    kept = project.root / f".git/donewhen/runs/{result['run']}/iterations/1/attempt-1"
    for stream in ("stdout", "stderr"):
        assert sum(p.stat().st_size for p in kept.glob(f"{stream}.*")) <= 64 << 20
    return result


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder / name


@pytest.mark.parametrize(
    "flood", [ONE_GB, LINE, f"({LINE}) >&2"], ids=["1 GB", "a line of 50 MB", "on stderr"]
)
def test_a_program_that_floods(project: Project, tmp_path: Path, flood: str) -> None:
    agent = program(tmp_path / "bin", "agent", f"#!/bin/sh\n{flood}\n{WRITE_FIX}\n")
    run(project, f"command:{agent}")


def test_a_script_that_floods_its_own_stream(project: Project, script: Script) -> None:
    flood = f"({LINE}; {ONE_GB.replace('1000000000', '200000000')}) > /proc/$PPID/fd/1"
    result = run(
        project, f"scripted:{script({'run': flood, 'write': FIX, 'usage': {'tokens': 7}})}"
    )
    assert result["usage"]["tokens"] == 7


CLIENT = """#!{python}
import json, os, sys
out = sys.stdout.buffer
def event(**what):
    out.write(json.dumps(what).encode() + b"\\n")
said = {{"type": "text", "text": "x" * 100_000}}
command = {{"type": "tool_use", "name": "Bash", "input": {{"command": "y" * 100_000}}}}
message = {{"id": "m", "content": [said, command], "usage": {{"input_tokens": 3}}}}
line = json.dumps({{"type": "assistant", "message": message}}).encode() + b"\\n"
for _ in range({size} // len(line)):
    out.write(line)
out.write(b'{{"type": "user", "content": "' + b"x" * 50_000_000 + b'"}}\\n')
for size in (1, 2, 4, 8):  # brackets are dear as objects
    brackets = b"[]," * ((size << 20) // 3 - 100)
    out.write(b'{{"type": "user", "content": [' + brackets + b"[]]}}\\n")
open("src/calc/__init__.py", "w").write({fix!r})
event(type="result", subtype="success", is_error=False, result="done", total_cost_usd=0.5,
      usage={{"input_tokens": 3, "output_tokens": 4}})
"""


def test_a_client_whose_stream_has_600_mb(project: Project, tmp_path: Path) -> None:
    text = CLIENT.format(python=sys.executable, size=600_000_000, fix=FIX["src/calc/__init__.py"])
    folder = program(tmp_path / "bin", "claude", text).parent
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    result = run(project, "claude", PATH=path)
    assert result["usage"] == {"usd": 0.5, "tokens": 7, "known": True}


@pytest.mark.parametrize(
    "flood",
    [ONE_GB, f"{LINE}; ({LINE}) >&2"],
    ids=["1 GB", "lines of 50 MB"],
)
@pytest.mark.parametrize("code", [0, 1])
def test_a_gate_that_floods(project: Project, flood: str, code: int) -> None:
    ran = measured(project, "judge", "--gate", f"loud=sh: {flood}; [ {code} = 0 ]", "--json")
    (gate,) = ran.expect(code).json()["gates"]
    assert gate["state"] == ("pass" if code == 0 else "fail")
    assert len(ran.out) < 100_000


def test_a_test_that_floods_keeps_its_verdict(make_project: Callable[..., Project]) -> None:
    """Captured by pytest, written into its report: what the report holds is bounded when read."""
    loud = "\n\ndef test_loud():\n    print('x' * 20_000_000)\n    assert 0, 'y' * 10_000_000\n"
    project = make_project(CALC)
    project.write({"tests/test_calc.py": project.read("tests/test_calc.py") + loud})
    ran = measured(project, "judge", "--json").expect(1)
    (gate,) = ran.json()["gates"]
    assert (gate["state"], gate["counts"]["failed"]) == ("fail", 2)
    assert len(ran.out) < 200_000


def test_an_agent_that_leaves_large_files_in_the_tree(project: Project, script: Script) -> None:
    large = (
        "yes 0123456789abcde | head -c 30000000 > big.txt; head -c 30000000 /dev/urandom > big.bin"
    )
    result = run(project, f"scripted:{script({'run': large, 'write': FIX})}")
    assert "big.bin" in project.git("ls-tree", "--name-only", result["branch"])
