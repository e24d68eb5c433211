"""A Python with pytest and nothing else: what a project under test has, without our own plugins.

The development environment's pytest loads four plugins at every start; hundreds of gates that tests
start would each pay a second for them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "click", "py.py")
SCRIPT = "#!{python}\nimport sys\nfrom pytest import console_main\nsys.exit(console_main())\n"


def build(place: Path) -> Path:
    """A venv in `place`, made by links into ours; returns its folder of programs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    ours = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    site = next(place.glob("lib/python3*/site-packages"))
    for name in NEEDED:
        if (ours / name).exists():
            (site / name).symlink_to(ours / name)
            for info in ours.glob(f"{name}-*.dist-info"):
                (site / info.name).symlink_to(info)
    (site / "donewhen-src.pth").write_text(f"{Path(__file__).parents[1] / 'src'}\n")
    script = place / "bin" / "pytest"
    script.write_text(SCRIPT.format(python=place / "bin" / "python"))
    script.chmod(0o755)
    return place / "bin"


def site_packages() -> Path:
    """Where the Python on PATH has its packages."""
    python = shutil.which("python")
    assert python
    return next(Path(python).parent.parent.glob("lib/python3*/site-packages"))


def pip_install_editable(root: Path, venv: Path) -> None:
    """A real `pip install -e .` of the project in `root`, built by our own hatchling, offline."""
    ours = next(Path(sys.prefix).glob("lib/python3*/site-packages"))
    options = ("--no-index", "--no-build-isolation", "--no-deps", "--no-warn-script-location", "-q")
    subprocess.run(
        [sys.executable, "-m", "pip", f"--python={venv}", "install", *options, "-e", "."],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(ours)},
        check=True,
    )
