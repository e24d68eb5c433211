"""Gates as processes: time limits, what they leave behind, floods, order, secrets."""

from __future__ import annotations

import os
import time
from pathlib import Path

import psutil
import pytest

from donewhen.config.formats import FORMATS
from donewhen.core.verdict import GateResult, GateState
from donewhen.errors import UnknownName
from donewhen.gates import load
from donewhen.gates.base import GateDef
from donewhen.gates.parse import parse_flag
from donewhen.gates.run import run_gates
from tests.gates.conftest import Run, Write

PYTEST = "python -m pytest -q"


def alive(word: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if word in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def test_every_adapter_of_the_table_fits_the_door() -> None:
    for name in FORMATS:
        adapter = load(name)
        assert callable(adapter.prepare)
        assert callable(adapter.read)
    with pytest.raises(UnknownName, match="known: exit, junit, "):
        load("nosuch")


def test_a_test_that_waits_for_input_gets_none(write: Write, run: Run) -> None:
    text = "import os\ndef test_a(): assert os.read(0, 1) == b''\n"
    assert run(write({"test_a.py": text}), f"{PYTEST} -s", timeout=20.0).state is GateState.PASS


def test_a_daemon_that_a_test_leaves_behind_is_ended(write: Write, run: Run) -> None:
    word = f"daemon-of-{os.getpid()}"
    text = f"""import subprocess, sys
def test_a():
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "{word}"],
                     start_new_session=True)
"""
    started = time.monotonic()
    assert run(write({"test_a.py": text}), PYTEST).state is GateState.PASS
    assert time.monotonic() - started < 30
    assert alive(word) == []


def test_a_flood_of_output_is_bounded(write: Write, run: Run) -> None:
    result = run(
        write({"readme": ""}),
        "sh: yes 'all work and no play' | head -c 120000000; echo; echo end; exit 1",
    )
    (finding,) = result.findings
    assert finding.message == "end"
    assert len(finding.text) <= 4000
    kept = sum(p.stat().st_size for p in Path(result.log).parent.glob("stdout.*"))
    assert kept <= 72 << 20


def test_cancelled_is_no_verdict(write: Write, run: Run) -> None:
    result = run(write({"readme": ""}), "sh: sleep 30", cancelled=lambda: True)
    assert result.state is GateState.ERROR
    assert "ended before it could finish" in result.why


def test_its_folder_must_be_there_and_inside(write: Write, run: Run, tmp_path: Path) -> None:
    root = write({"readme": ""})
    assert run(root, "true", cwd="gone").why == "its folder gone is not there"
    (root / "link").symlink_to(tmp_path)
    assert run(root, "true", cwd="link").why == "its folder link lies outside the tree"


def test_what_lies_in_wait_for_the_attempt_is_not_read(
    write: Write, run: Run, tmp_path: Path
) -> None:
    """Somebody who knows where the next attempt goes puts a finished one there."""
    planted = tmp_path / "attempts of mine" / "1" / "gate"
    (planted / "reports").mkdir(parents=True)
    (planted / "result.json").write_text('{"code": 0}')
    (planted / "reports/report.xml").write_text("<testsuite><testcase name='a'/></testsuite>")
    gate = GateDef("gate", ("python", "-c", "import os; os._exit(0)", "{report}"), "junit")
    result = run(write({"readme": ""}), gate)
    assert result.state is GateState.ERROR
    assert "no report was written" in result.why


def test_secrets_do_not_stay_in_a_report(write: Write, run: Run) -> None:
    secret = "s3cret-s3cret-s3cret"
    text = "import os\ndef test_a(): assert os.environ['MY_TOKEN'] == ''\n"
    result = run(write({"test_a.py": text}), PYTEST, environ={**os.environ, "MY_TOKEN": secret})
    folder = Path(result.log).parent
    files = [p for p in folder.rglob("*") if p.is_file()]
    assert any(p.name == "report.xml" for p in files)
    for path in files:
        assert secret.encode() not in path.read_bytes(), path
        assert path.stat().st_mode & 0o077 == 0, path


def test_results_keep_the_order_of_the_gates_and_run_side_by_side() -> None:
    gates = tuple(parse_flag(f"g{n}=true") for n in range(6))
    running: list[int] = []
    most = 0

    def one(gate: GateDef) -> GateResult:
        nonlocal most
        running.append(1)
        most = max(most, len(running))
        time.sleep(0.3 if gate.name == "g0" else 0.05)
        running.pop()
        return GateResult(gate.name, GateState.PASS, "")

    assert [r.name for r in run_gates(gates, one, jobs=3)] == [g.name for g in gates]
    assert most in {2, 3}
