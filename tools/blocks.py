"""Program output in the documentation is what the program prints.

A fenced block after a comment `<!-- run: COMMAND -->` holds the output of COMMAND, run in a small
throw-away repository with one failing test; `donewhen` and `python` are this checkout's.

python tools/blocks.py           write the outputs into README.md and docs/*.md
python tools/blocks.py --check   fail, with the differences, if one is stale
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
HERE = Path(sys.executable).parent
BLOCK = re.compile(r"(<!-- run: (?P<command>.+?) -->\n+```\w*\n)(?P<text>.*?)(^```$)", re.M | re.S)
# What differs from run to run is shown as a stand-in.
STANDINS = (
    (re.compile(r"\br\d{8}-\d{6}-[0-9a-f]{4}\b"), "r20260102-030405-a1b2"),
    (re.compile(r"\b\d+(\.\d+)?s\b(?= *$|\))", re.M), "1s"),
)
FILES = {
    "src/calc/__init__.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n",
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n'
    '[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}
# A scripted agent for `--agent scripted:../agent.json`: first it only says so, then it does it.
AGENT = {
    "version": 1,
    "turns": [
        {"say": "Done! All tests pass now."},
        {
            "say": "Now really.",
            "write": {"src/calc/__init__.py": "def add(a, b):\n    return a + b\n"},
        },
    ],
}


@dataclass(frozen=True)
class Block:
    """One block of one page; `text` is what stands there now."""

    page: str
    line: int
    command: str
    text: str


def pages(root: Path = ROOT) -> list[Path]:
    return [p for p in (root / "README.md", *sorted((root / "docs").glob("*.md"))) if p.is_file()]


def blocks(root: Path = ROOT) -> Iterator[Block]:
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield Block(str(page.relative_to(root)), line, match["command"], match["text"])


def output(command: str, folder: Path, tools: Path = HERE) -> str:
    """What the command prints in a fresh project below `folder`, standard error included.

    The programs of `tools` are the first on its PATH.
    """
    project, env = world(folder, tools)
    argv = shlex.split(command)
    if argv[0] == "donewhen":
        argv[:1] = [sys.executable, "-m", "donewhen"]
    elif argv[0] == "python":
        argv[0] = sys.executable
    done = subprocess.run(
        argv, cwd=project, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    text = done.stdout.decode().replace(str(project), "/home/ada/calc")
    for pattern, standin in STANDINS:
        text = pattern.sub(standin, text)
    return "".join(f"{row.rstrip()}\n" for row in text.splitlines()).strip("\n") + "\n"


def world(folder: Path, tools: Path = HERE) -> tuple[Path, dict[str, str]]:
    """A committed project, with a home and a state folder of its own."""
    home, project = folder / "home", folder / "calc"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for name, text in FILES.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    (folder / "agent.json").write_text(json.dumps(AGENT))
    env = {
        "HOME": str(home),
        "DONEWHEN_STATE": str(folder / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": os.pathsep.join((str(tools), str(HERE), os.environ["PATH"])),
        "PYTHONPATH": str(ROOT / "src"),
        "LANG": "C.UTF-8",
        "COLUMNS": "100",
    }
    for words in ("init -q -b main", "add -A", "commit -q -m start"):
        subprocess.run(["git", *words.split()], cwd=project, env=env, check=True)
    return project, env


def fresh(command: str) -> str:
    with tempfile.TemporaryDirectory(prefix="blocks-") as folder:
        return output(command, Path(folder))


def difference(block: Block, now: str) -> str:
    """ "" if the block is up to date, else a diff."""
    rows = (block.text.splitlines(), now.splitlines())
    where = f"{block.page}:{block.line}: {block.command}"
    return "\n".join(difflib.unified_diff(*rows, "the page", "the program", where, lineterm=""))


def write(page: Path, run: Callable[[str], str] = fresh) -> None:
    text = page.read_text(encoding="utf-8")
    told = BLOCK.sub(lambda m: f"{m[1]}{run(m['command'])}{m[4]}", text)
    if told != text:
        page.write_text(told, encoding="utf-8")


def main() -> int:
    if "--check" not in sys.argv:
        for page in pages():
            write(page)
        return 0
    stale = [found for block in blocks() if (found := difference(block, fresh(block.command)))]
    print("\n".join(stale), end="\n" if stale else "")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
