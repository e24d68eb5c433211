"""Every test has a home, a state folder and a git identity of its own; nothing else is touched."""

from __future__ import annotations

import json
import os
import pwd
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests import plain

SRC = Path(__file__).parents[1] / "src"
AGENT_LIKE = ("CLAUDE", "ANTHROPIC", "CODEX", "OPENAI", "GEMINI", "DONEWHEN", "GIT_", "XDG_")
GIVEN_CLAUDE = os.environ.get("DONEWHEN_TEST_CLAUDE", "")  # before a test's world hides it


# What no test may touch from within this process. An audit hook sees every door to it, also the
# ones that a fixture would have to know by name.

LOOPBACK = ("127.0.0.1", "::1", "localhost", "")
REAL_HOME = Path(pwd.getpwuid(os.getuid()).pw_dir).resolve()
OURS = tuple(
    str(Path(place).resolve())
    for place in (SRC.parent, sys.prefix, sys.base_prefix, tempfile.gettempdir())
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.link", "os.truncate")


def _guard(event: str, args: tuple[Any, ...]) -> None:
    if event == "socket.connect":
        sock, address = args
        if sock.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test reached for the network: {address}")
    elif event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
        if host and host not in LOOPBACK:
            raise AssertionError(f"a test reached for the network: {host}")
    elif (event == "open" and isinstance(args[2], int) and args[2] & WRITES) or event in CHANGES:
        for path in args[:2] if event != "open" else args[:1]:
            if isinstance(path, str | bytes | os.PathLike) and _in_the_real_home(os.fsdecode(path)):
                raise AssertionError(f"a test changed the real home: {event} {path!r}")


def _in_the_real_home(path: str) -> bool:
    place = os.path.abspath(path)
    home = str(REAL_HOME)
    return place.startswith(f"{home}/") and not place.startswith(OURS)


sys.addaudithook(_guard)


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}


@pytest.fixture(autouse=True)
def _environment_is_left_as_it_was() -> Iterator[None]:
    """Fails a test that changes os.environ other than through monkeypatch."""
    before = _environment()
    yield
    after = _environment()
    for name in before.keys() ^ after.keys() | {n for n in before if after.get(n) != before[n]}:
        os.environ.pop(name, None)
    os.environ.update(before)
    assert after == before, "the test changed os.environ; use monkeypatch.setenv"


@pytest.fixture(scope="session")
def plain_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Python that has pytest and nothing of our development environment."""
    return plain.build(tmp_path_factory.mktemp("plain") / "venv")


@pytest.fixture(autouse=True)
def _own_world(
    _environment_is_left_as_it_was: None,  # set up first, so that it looks last
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    plain_tools: Path,
) -> None:
    """HOME, state and git configuration in a folder of the test."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(AGENT_LIKE):
            monkeypatch.delenv(name)
    config = home / "gitconfig"
    config.write_text(
        "[user]\n\tname = Ada\n\temail = ada@example.org\n[init]\n\tdefaultBranch = main\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DONEWHEN_STATE", str(home / "state"))
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    path = (str(plain_tools), str(Path(sys.executable).parent), os.environ["PATH"])
    monkeypatch.setenv("PATH", os.pathsep.join(path))


@dataclass(frozen=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)

    def expect(self, code: int) -> Ran:
        assert self.code == code, f"exit {self.code}, not {code}\n{self.out}\n{self.err}"
        return self


@dataclass(frozen=True)
class Project:
    """A real git repository with a command line in it."""

    root: Path
    env: Mapping[str, str] = field(default_factory=dict)

    def donewhen(
        self, *args: str, cwd: str = ".", stdin: bytes | str | None = None, **env: str
    ) -> Ran:
        """Run the real command line in this repository."""
        done = subprocess.run(
            [sys.executable, "-m", "donewhen", *args],
            cwd=self.root / cwd,
            env={**os.environ, **self.env, **env},
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            timeout=240,
        )
        return Ran(
            done.returncode,
            done.stdout.decode("utf-8", "replace"),
            done.stderr.decode("utf-8", "replace"),
        )

    def run(self, goal: str, script: Path | str, *args: str, **env: str) -> Ran:
        """`donewhen run --yes --json` with a scripted agent."""
        return self.donewhen(
            "run",
            goal,
            "--agent",
            f"scripted:{script}",
            "--yes",
            "--json",
            *args,
            cwd=".",
            stdin=None,
            **env,
        )

    def git(self, *args: str) -> str:
        done = subprocess.run(["git", *args], cwd=self.root, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def read(self, name: str) -> str:
        return (self.root / name).read_text()

    def journal(self, run: str) -> list[dict[str, Any]]:
        path = self.root / ".git" / "donewhen" / "runs" / run / "journal.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def worktree(self, run: str) -> Path:
        return next(Path(os.environ["DONEWHEN_STATE"]).glob(f"trees/*/{run}"))


CALC = {
    "src/calc/__init__.py": "def add(a, b):\n    return a - b\n",
    "tests/test_calc.py": (
        "from calc import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
        "def test_zero():\n    assert add(0, 0) == 0\n"
    ),
    "pyproject.toml": '[project]\nname = "calc"\nversion = "1"\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
    ".gitignore": "__pycache__/\n.venv/\n",
}
FIX = {"src/calc/__init__.py": "def add(a, b):\n    return a + b\n"}
# The same fault, found by a program that starts in a hundredth of pytest's time.
GREPPED = {
    "src/calc/__init__.py": CALC["src/calc/__init__.py"],
    "donewhen.toml": "version = 1\n[gates.tests]\nrun = \"grep -q 'a + b' src/calc/__init__.py\"\n",
    ".gitignore": CALC[".gitignore"],
}


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[..., Project]:
    """make_project(files, name) -> a committed repository."""

    def make(files: Mapping[str, str], name: str = "project", commit: bool = True) -> Project:
        root = tmp_path / name
        root.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True)
        project = Project(root)
        project.write(files)
        if commit:
            project.commit("start")
        return project

    return make


@pytest.fixture
def project(make_project: Callable[..., Project]) -> Project:
    """A src-layout project with one failing and one passing test."""
    return make_project(CALC)


@pytest.fixture
def grepped(make_project: Callable[..., Project]) -> Project:
    """The project, red for the same reason and green by the same FIX, with a gate that is quick.

    For what has nothing to do with how tests are run: where a run goes, ends, waits, is accepted.
    """
    return make_project(GREPPED)


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Path]:
    """script(turn, turn, after="idle") -> a script for the scripted agent."""
    count = 0

    def make(*turns: Mapping[str, Any], after: str = "idle") -> Path:
        nonlocal count
        count += 1
        path = tmp_path / f"script-{count}.json"
        path.write_text(json.dumps({"version": 1, "turns": list(turns), "after": after}))
        return path

    return make


CLAUDE = "lib/python3*/site-packages/claude_agent_sdk/_bundled/claude"


def find_claude() -> Path | None:
    """The real client from its registry package."""
    places = [Path(GIVEN_CLAUDE)] if GIVEN_CLAUDE else []
    places += sorted((SRC.parent / ".venv-e2e").glob(CLAUDE))
    return next((p for p in places if p.is_file()), None)


@pytest.fixture
def claude_cli(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """claude_cli(url) -> the environment in which the real Claude Code talks to `url`.

    Skips where the client is missing; in CI that is a failure.
    """
    found = find_claude()
    if found is None:
        message = "the real claude client is missing: make e2e"
        assert not os.environ.get("CI"), message
        pytest.skip(message)
    home = tmp_path / "claude-home"
    home.mkdir()

    def environment(url: str) -> dict[str, str]:
        return {
            "PATH": f"{found.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "ANTHROPIC_API_KEY": "sk-test-dummy-key",
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
        }

    return environment
