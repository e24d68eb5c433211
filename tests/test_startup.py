"""What a start imports: counted in modules, never in milliseconds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest

from donewhen.system.spawn import SHIM
from tests.conftest import Project

HEAVY = {
    "rich",
    "psutil",
    "msgspec",
    "asyncio",
    "pydantic",
    "importlib.metadata",
    "xml.etree.ElementTree",
    "concurrent.futures",
}


def imported(project: Project, *args: str) -> set[str]:
    """The modules that a command has loaded when it ends."""
    code = (
        "import sys\nfrom donewhen.ui.cli import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    sys.stderr.write('\\n'.join(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *args], cwd=project.root, capture_output=True, text=True
    )
    return set(done.stderr.splitlines())


def test_version_loads_nothing_but_the_command_line(project: Project) -> None:
    loaded = imported(project, "--version")
    assert not loaded & HEAVY
    assert {m for m in loaded if m.startswith("donewhen.")} == {
        "donewhen.errors",
        "donewhen.ui",
        "donewhen.ui.cli",
        "donewhen.ui.streams",
    }


@pytest.mark.parametrize("args", [("status",), ("inbox",), ("doctor",)])
def test_reading_commands_stay_light(project: Project, args: tuple[str, ...]) -> None:
    loaded = imported(project, *args)
    assert "donewhen.store.runs" in loaded
    assert not loaded & HEAVY


def test_the_package_itself_does_no_work() -> None:
    code = "import sys, donewhen; print([m for m in sys.modules if m.startswith('donewhen.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_leaves_nothing_behind(make_project: Callable[..., Project]) -> None:
    fresh = make_project({"README": "x"})
    for command in ("status", "inbox", "doctor"):
        fresh.donewhen(command).expect(0)
    assert not (fresh.root / ".git/donewhen").exists()


def test_the_shim_loads_next_to_nothing() -> None:
    """It starts once for every agent and every gate."""
    code = f"{SHIM.rpartition(';')[0]}; print(*sys.modules)"
    start = [sys.executable, "-I", "-S", "-c"]
    bare, loaded = (
        set(
            subprocess.run(
                [*start, text], capture_output=True, text=True, check=True
            ).stdout.split()
        )
        for text in ("import sys; print(*sys.modules)", code)
    )
    ours = {f"donewhen.system.{name}" for name in ("below", "shim", "sink")}
    assert loaded - bare == {"donewhen", "donewhen.system", *ours, "errno", "select"} - bare
