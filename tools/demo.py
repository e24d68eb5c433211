"""`make demo`: three real runs in a throw-away repository. A liar, a worker, a green project.

Everything happens in a temporary folder with a home of its own; it is removed at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

FILES = {
    "src/calc/__init__.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n'
    '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
}
LIAR = {"turns": [{"say": "Done! All tests pass now."}], "after": "repeat"}
WORKER = {
    "turns": [
        {"say": "Done! All tests pass now."},
        {
            "say": "You are right, that was not true. Fixing add().",
            "write": {"src/calc/__init__.py": "def add(a, b):\n    return a + b\n"},
        },
    ]
}


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="donewhen-demo-") as folder:
        place = Path(folder)
        env = world(place)
        project = place / "calc"
        for name, text in FILES.items():
            (project / name).parent.mkdir(parents=True, exist_ok=True)
            (project / name).write_text(text)
        for words in ("init -q -b main", "add -A", "commit -q -m start"):
            subprocess.run(["git", *words.split()], cwd=project, env=env, check=True)
        for name, script in (("liar", LIAR), ("worker", WORKER)):
            (place / f"{name}.json").write_text(json.dumps({"version": 1, **script}))
        return story(project, env)


def story(project: Path, env: dict[str, str]) -> int:
    """The commands, in order, each with the exit code that it must have."""
    goal = "make the tests pass"
    steps: list[tuple[str, list[str], int]] = [
        ("One test fails.", ["judge"], 1),
        (
            "An agent that only says so.",
            ["run", goal, "--agent", "scripted:../liar.json", "--yes"],
            1,
        ),
        ("One that does it.", ["run", goal, "--agent", "scripted:../worker.json", "--yes"], 0),
        ("Your branch has nothing of it yet; take it.", ["inbox"], 0),
    ]
    for title, args, code in steps:
        if ran(title, args, project, env) != code:
            return 1
    listed = subprocess.run(
        [*DONEWHEN, "inbox", "--json"], cwd=project, env=env, capture_output=True, check=True
    )
    done = [i for i in json.loads(listed.stdout)["items"] if i["reason"] == "gates-passed"]
    last = [("Accepted.", ["inbox", "accept", done[0]["run"]], 0), ("And green.", ["judge"], 0)]
    return next((1 for title, args, code in last if ran(title, args, project, env) != code), 0)


DONEWHEN = [sys.executable, "-m", "donewhen"]


def ran(title: str, args: list[str], project: Path, env: dict[str, str]) -> int:
    shown = " ".join(f'"{a}"' if " " in a else a for a in args)
    print(f"\n# {title}\n$ donewhen {shown}", flush=True)
    done = subprocess.run(
        [*DONEWHEN, *args], cwd=project, env=env, stderr=subprocess.STDOUT, check=False
    )
    print(f"(exit {done.returncode})", flush=True)
    return done.returncode


def world(place: Path) -> dict[str, str]:
    """A home, a state folder and a git identity of the demo's own."""
    (place / "home").mkdir()
    (place / "home/.gitconfig").write_text("[user]\n\tname = Demo\n\temail = demo@example.org\n")
    keep = {k: v for k, v in os.environ.items() if k in {"LANG", "LC_ALL", "TERM", "TMPDIR"}}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    home = str(place / "home")
    return {**keep, "PATH": path, "HOME": home, "DONEWHEN_STATE": str(place / "state")}


if __name__ == "__main__":
    sys.exit(main())
