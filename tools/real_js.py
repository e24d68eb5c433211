"""Is `donewhen judge` right on real JavaScript and TypeScript packages? `make real-js`.

Packages of the npm registry that ship their tests are installed into a scratch folder. As they are,
the gate must pass with as many tests as the runner itself counts; with one source file broken it
must fail and name tests. Exit code 1 and a line for each difference.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TRIES = 3


@dataclass(frozen=True)
class Package:
    """A release; `needs` are what its tests import besides, `own` is how the runner itself counts."""

    name: str
    version: str
    needs: tuple[str, ...]
    gate: Callable[[Path], Sequence[str]]
    own: tuple[str, ...]  # words after the gate's, so that the runner says its count
    count: re.Pattern[str]
    breaks: str


def _node_tests(root: Path) -> list[str]:
    files = sorted(p.relative_to(root).as_posix() for p in (root / "test").glob("*.test.js"))
    return ["node", "--test", *files]


PACKAGES = (
    Package(
        "zod",
        "3.25.76",
        ("vitest@3.2.7", "typescript@5.9.3", "ts-morph@26", "@standard-schema/spec@1"),
        lambda _root: ["vitest", "run", "src/v3"],
        ("--reporter=default",),
        re.compile(r"^\s*Tests\s+(\d+) passed", re.M),
        "v3/types.js",
    ),
    Package(
        "find-my-way",
        "9.10.2",
        ("rfdc@1", "proxyquire@2"),
        _node_tests,
        (),
        re.compile(r"^# pass (\d+)", re.M),
        "index.js",
    ),
)


def _ran(argv: Sequence[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    path = f"{cwd / 'node_modules' / '.bin'}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "CI": "1", "NO_COLOR": "1"}
    return subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True)


def _tried(argv: Sequence[str], cwd: Path) -> str:
    """A registry may fail once."""
    for attempt in range(TRIES):
        done = _ran(argv, cwd)
        if done.returncode == 0:
            return done.stdout
        time.sleep(5 * (attempt + 1))
    raise SystemExit(f"{' '.join(argv)}: {done.stderr[-500:]}")


def _installed(package: Package, top: Path) -> Path:
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts")
    (archive,) = json.loads(
        _tried(["npm", "pack", "--json", f"{package.name}@{package.version}"], top)
    )
    _tried(["tar", "xzf", archive["filename"]], top)
    root = (top / "package").rename(top / package.name)
    said = json.loads((root / "package.json").read_text())
    said.pop("devDependencies", None)  # most of it is for building
    (root / "package.json").write_text(json.dumps(said, indent=2))
    _tried(["npm", "install", "--no-save", *quiet, *package.needs], root)
    (root / ".gitignore").write_text("node_modules\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", package.version]):
        _tried(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words], root)
    return root


def _judged(root: Path, gate: Sequence[str]) -> dict[str, Any]:
    argv = [
        sys.executable,
        "-m",
        "donewhen",
        "judge",
        "--no-cache",
        "--json",
        "--gate",
        " ".join(gate),
    ]
    said: dict[str, Any] = json.loads(_ran(argv, root).stdout)
    return said


def differences(package: Package, top: Path) -> list[str]:
    """What is not as it must be, in words."""
    root = _installed(package, top)
    gate = package.gate(root)
    plain = _ran([*gate, *package.own], root)
    counted = package.count.search(plain.stdout)
    said = _judged(root, gate)
    (green,) = said["gates"]
    found = []
    number = green["counts"]["tests"]
    print(f"{package.name} {package.version}: {green['state']}, {green['why']}")
    if said["exit"] != 0 or plain.returncode != 0:
        found.append(f"exit {said['exit']}, the runner itself {plain.returncode}")
    if not counted or int(counted[1]) != number:
        found.append(f"{number} tests, the runner says {counted and counted[1]}")
    with (root / package.breaks).open("a") as source:
        source.write('\nthrow new Error("broken");\n')
    said = _judged(root, gate)
    (red,) = said["gates"]
    print(f"{package.name} broken: {red['state']}, {red['why']}")
    if said["exit"] != 1 or not red["findings"]:
        found.append(f"broken, but exit {said['exit']} with {len(red['findings'])} findings")
    return [f"{package.name}: {one}" for one in found]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="donewhen-real-js-") as folder:
        os.environ["DONEWHEN_STATE"] = str(Path(folder) / "state")
        found = []
        for package in PACKAGES:
            place = Path(folder) / f"of-{package.name}"
            place.mkdir()
            found += differences(package, place)
    for one in found:
        print(one, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
