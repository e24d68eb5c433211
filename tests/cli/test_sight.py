"""A run is judged on the code of its own worktree, wherever an editable install points."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CALC, FIX, Project
from tests.plain import pip_install_editable, site_packages

PYPROJECT = """[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "calc"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["src/calc"]
[tool.hatch.build]
dev-mode-dirs = ["src"]
[tool.pytest.ini_options]
"""
BREAK = {"src/calc/__init__.py": "def add(a, b):\n    return None\n"}


@pytest.fixture(params=["pip install -e", "linked .venv", "flat, in VIRTUAL_ENV"])
def editable(request: pytest.FixtureRequest, make_project: Callable[..., Project]) -> Project:
    """A project installed editable into a venv of the user's checkout, so that plain `pytest` works."""
    files = {**CALC, "pyproject.toml": PYPROJECT}
    flat = request.param.startswith("flat")
    if flat:
        files["calc/__init__.py"] = files.pop("src/calc/__init__.py")
    if request.param == "linked .venv":
        files["donewhen.toml"] = 'version = 1\n[workspace]\nlink = [".venv"]\n'
    made = make_project({**files, ".gitignore": "__pycache__/\n.venv\n.env\n"})
    place = ".env" if flat else ".venv"
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", place], cwd=made.root, check=True
    )
    site = next((made.root / place / "lib").glob("python3*/site-packages"))
    ours = site_packages()
    (site / "tools.pth").write_text(f"{ours}\n")  # pytest itself, as if it were installed here
    if request.param == "pip install -e":
        pip_install_editable(made.root, made.root / place)
    else:
        (site / "calc.pth").write_text(f"{made.root if flat else made.root / 'src'}\n")
    if flat:
        return Project(made.root, {"VIRTUAL_ENV": str(made.root / place)})
    return made


def fixing(project: Project, files: dict[str, str]) -> dict[str, str]:
    """The same change, wherever the package lies."""
    flat = (project.root / "calc").is_dir()
    return {name.removeprefix("src/") if flat else name: text for name, text in files.items()}


def test_no_false_red(editable: Project, script: Callable[..., Path]) -> None:
    """The fix is in the worktree only; the user's checkout, where the install points, is still red.

    What the agent runs itself sees the fix as the gates do.
    """
    own = "pytest -q -p no:cacheprovider && echo AGENT-GREEN"
    ran = editable.run("fix it", script({"write": fixing(editable, FIX), "run": own}))
    assert ran.expect(0).json()["reason"] == "gates-passed"
    assert "AGENT-GREEN" in ran.err
    assert editable.donewhen("judge").code == 1
    assert "re-pointed" in editable.donewhen("inbox", "show", ran.json()["run"]).out


def test_no_false_green(editable: Project, script: Callable[..., Path]) -> None:
    """The user's checkout is green in the meantime; the worktree, which was broken, is not."""
    good = editable.root / next(iter(fixing(editable, FIX)))
    heal = f"printf 'def add(a, b):\\n    return a + b\\n' > {good}"
    ran = editable.run(
        "fix it",
        script({"write": fixing(editable, BREAK)}),
        "--max-iter",
        "1",
        "--gate",
        f"sh: {heal}; pytest -q",
    )
    assert ran.expect(1).json()["reason"] == "max-iterations"


def test_a_gate_that_cannot_be_made_to_see_is_an_error(
    make_project: Callable[..., Project], script: Callable[..., Path]
) -> None:
    """An import hook that comes before every path: no PYTHONPATH re-points it."""
    project = make_project({**CALC, "pyproject.toml": PYPROJECT})
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=project.root, check=True
    )
    site = next((project.root / ".venv/lib").glob("python3*/site-packages"))
    ours = site_packages()
    (site / "hooked.py").write_text(
        "import sys, importlib.util\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'calc':\n"
        f"            return importlib.util.spec_from_file_location(name, {str(project.root / 'src/calc/__init__.py')!r},\n"
        f"                submodule_search_locations=[{str(project.root / 'src/calc')!r}])\n"
        "sys.meta_path.insert(0, Finder())\n"
    )
    (site / "tools.pth").write_text(f"{ours}\nimport hooked\n")
    ran = project.run("fix it", script({"write": FIX})).expect(3)
    assert ran.json()["reason"] == "gate-error:tests"
    assert str(project.root / "src/calc") in ran.err


def test_an_environment_that_setup_builds_is_the_one_that_counts(
    make_project: Callable[..., Project], script: Callable[..., Path]
) -> None:
    """The user's own .venv could not run the tests; the one of `setup` can, here and in the room."""
    ours = site_packages()
    build = f"{sys.executable} -m venv --without-pip .venv"
    paths = f"echo {ours} > $(echo .venv/lib/python3*/site-packages)/tools.pth"
    toml = f"""version = 1
[workspace]
setup = ["{build}", "{paths}"]
[gates.tests]
run = "python -m pytest -q"
"""
    where = "\n\ndef test_where():\n    import os, sys\n    assert os.getcwd() in sys.prefix\n"
    files = {
        **CALC,
        "tests/test_calc.py": CALC["tests/test_calc.py"] + where,
        "donewhen.toml": toml,
    }
    made = make_project(files)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", ".venv"], cwd=made.root, check=True
    )
    assert made.run("fix it", script({"write": FIX})).expect(0).json()["reason"] == "gates-passed"
