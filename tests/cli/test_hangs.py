"""What hangs, hides or stays behind, through the command line: it ends, with the reason, and is gone."""

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
from tests.conftest import FIX, GREPPED, Project

Script = Callable[..., Path]
Agent = Callable[[str], str]
GOAL = "make the tests pass"
WRITE_FIX = f"printf %s {shlex.quote(FIX['src/calc/__init__.py'])} > src/calc/__init__.py"
linux = pytest.mark.skipif(not below.LINUX, reason="needs the kernel's list of children")


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def sleeper(token: str) -> str:
    """A shell command that sleeps for ten minutes and can be told from every other process."""
    return f"{sys.executable} -c 'import time; time.sleep(600)' {token}"


def alive(token: str) -> list[str]:
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = place.read_bytes()
        except OSError:
            continue
        if token.encode() in line.split(b"\0"):
            found.append(line.decode())
    return found


@pytest.fixture
def token(tmp_path: Path) -> str:
    return f"left-by-{tmp_path}"


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    """agent(shell script) -> what --agent takes for it."""

    def make(text: str) -> str:
        file = tmp_path / "agent.sh"
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)
        return f"command:{shlex.quote(str(file))}"

    return make


def run(project: Project, agent: str, *args: str) -> Any:
    return project.donewhen("run", GOAL, "--agent", agent, "--yes", "--json", *args)


def limits(project: Project, text: str) -> None:
    begins = "version = 1\n" if "[gates" in text else GREPPED["donewhen.toml"]
    project.write({"donewhen.toml": f"{begins}{text}\n"})
    project.commit()


def details(project: Project, result: dict[str, Any]) -> list[tuple[str, str]]:
    ended = [r["data"] for r in project.journal(result["run"]) if r["type"] == "AgentEnded"]
    return [(data["end"], data["detail"]) for data in ended]


# -- what is left behind ---------------------------------------------------------------------------


@linux
@pytest.mark.parametrize(
    "left",
    [
        "{sleeper} &",
        "setsid {sleeper} &",
        "(setsid sh -c '(trap \"\" TERM; {bare}) & wait' </dev/null >/dev/null 2>&1 &)",
        "(env -i setsid {sleeper} </dev/null >/dev/null 2>&1 &)",
    ],
    ids=["holds the pipe", "own session", "double fork, deaf", "double fork, no environment"],
)
def test_nothing_that_an_agent_started_outlives_its_turn(
    project: Project, agent: Agent, token: str, left: str
) -> None:
    bare = f'{sys.executable} -c "import time; time.sleep(600)" {token}'
    text = left.format(sleeper=sleeper(token), bare=bare)
    result = run(project, agent(f"{WRITE_FIX}\n{text}\nexit 0")).expect(0).json()
    assert result["reason"] == "gates-passed"
    assert alive(token) == []


@linux
def test_a_daemon_that_hid_and_killed_its_supervisor_is_found(
    project: Project, agent: Agent, token: str, tmp_path: Path
) -> None:
    """No environment, no pipe, own session, and nobody of ours above it."""
    mark, up = tmp_path / "once", tmp_path / "up"
    hidden = f"(env -i setsid sh -c 'echo > {up}; exec {sys.executable} -c \"import time; time.sleep(600)\" {token}'"
    text = (
        f"if [ ! -e {mark} ]; then touch {mark}; {hidden} </dev/null >/dev/null 2>&1 &);"
        f" while [ ! -e {up} ]; do sleep 0.05; done; kill -9 $PPID; sleep 600; fi\n{WRITE_FIX}"
    )
    result = run(project, agent(text)).expect(0).json()
    assert (result["reason"], result["iterations"]) == ("gates-passed", 1)
    assert up.exists()
    assert alive(token) == []


@linux
def test_a_hidden_daemon_of_a_gate_is_found_too(
    project: Project, token: str, tmp_path: Path
) -> None:
    up = tmp_path / "up"
    gate = tmp_path / "gate.sh"
    gate.write_text(
        f"(env -i setsid sh -c 'echo > {up}; exec {sys.executable} -c \"import time; time.sleep(600)\" {token}'"
        " </dev/null >/dev/null 2>&1 &)\n"
        f"while [ ! -e {up} ]; do sleep 0.05; done; kill -9 $PPID; exit 0\n"
    )
    ran = project.donewhen("judge", "--gate", f"odd=sh {gate}", "--json").expect(3)
    assert ran.json()["gates"][0]["state"] == "error", "who kills its witness has measured nothing"
    assert up.exists()
    assert alive(token) == []


# -- what does not end -----------------------------------------------------------------------------


def test_an_agent_at_its_time_limit_may_tidy_up(project: Project, agent: Agent) -> None:
    """SIGTERM first: what it still writes is part of its work."""
    limits(project, '[limits]\niteration = "2s"')
    tidy = f"trap '{WRITE_FIX_LATER}; exit 0' TERM\nsleep 600 & wait"
    result = run(project, agent(tidy)).expect(0).json()
    assert details(project, result)[0][0] == "timeout"


WRITE_FIX_LATER = 'echo "def add(a, b): return a + b" > src/calc/__init__.py'


@linux
def test_an_agent_that_is_deaf_at_its_time_limit_is_killed_with_its_whole_group(
    project: Project, agent: Agent, token: str
) -> None:
    limits(project, '[limits]\niteration = "2s"')
    deaf = f"trap '' TERM\necho x > new.txt\nsetsid {sleeper(token)} &\n{sleeper(token)}\n"
    result = run(project, agent(f"{deaf}{deaf}"), "--max-iter", "1").expect(1).json()
    assert (result["reason"], result["iterations"]) == ("max-iterations", 1)
    assert details(project, result)[0][0] == "timeout"
    assert alive(token) == []


def test_an_agent_that_is_silent_is_a_hang_and_no_iteration(project: Project, agent: Agent) -> None:
    limits(project, '[limits]\nsilence = "1s"')
    result = run(project, agent("exec sleep 600")).expect(3).json()
    assert (result["reason"], result["iterations"]) == ("agent-unavailable:hang", 0)
    assert [end for end, _detail in details(project, result)] == ["hang"] * 3


@linux
@pytest.mark.parametrize("where", ["src/calc/notes.txt", "ignored/notes.txt"])
def test_an_agent_that_only_writes_files_is_not_silent(
    project: Project, agent: Agent, where: str
) -> None:
    """One process, not a word, hardly any processor: for longer than the limit."""
    limits(project, '[limits]\nsilence = "2s"')
    slow = (
        "import os, time\n"
        f"os.makedirs(os.path.dirname({where!r}) or '.', exist_ok=True)\n"
        "for n in range(30):\n"
        "    time.sleep(0.2)\n"
        f"    os.write(os.open({where!r}, os.O_CREAT | os.O_WRONLY), str(n).encode())\n"
        f"open('src/calc/__init__.py', 'w').write({FIX['src/calc/__init__.py']!r})\n"
    )
    ran = run(project, agent(f"exec {sys.executable} -c {shlex.quote(slow)}"))
    assert details(project, ran.expect(0).json()) == [("worked", "")]


RESULT = (
    '{"type": "result", "subtype": "success", "is_error": false, "result": "done", '
    '"total_cost_usd": 0.01, "usage": {"input_tokens": 5, "output_tokens": 5}}'
)


@linux
def test_a_client_that_never_exits_after_its_result_has_worked(
    project: Project, tmp_path: Path, token: str
) -> None:
    limits(project, '[limits]\nsilence = "2s"')
    folder = tmp_path / "bin"
    folder.mkdir()
    client = folder / "claude"
    client.write_text(f"#!/bin/sh\n{WRITE_FIX}\necho '{RESULT}'\n{sleeper(token)}\n")
    client.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    ran = project.donewhen("run", GOAL, "--agent", "claude", "--yes", "--json", PATH=path)
    result = ran.expect(0).json()
    assert result["usage"] == {"usd": 0.01, "tokens": 10, "known": True}
    assert details(project, result) == [("worked", "")]
    assert alive(token) == []


def test_nobody_reads_the_terminal(project: Project, agent: Agent) -> None:
    """donewhen has one; what it starts has none, and gets an error instead of an answer."""
    asks = agent(f"read answer </dev/tty && echo $answer > answer.txt\n{WRITE_FIX}")
    gate = "sh: read answer </dev/tty && exit 1; grep -q 'a + b' src/calc/__init__.py"
    on_terminal = (
        "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))"
    )
    command = [sys.executable, "-m", "donewhen", "run", GOAL, "--agent", asks, "--gate", gate]
    done = subprocess.run(
        [sys.executable, "-c", on_terminal, *command, "--yes"],
        cwd=project.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout
    assert b"gates-passed" in done.stdout


# -- gates -----------------------------------------------------------------------------------------


@linux
def test_a_gate_that_hangs_is_an_error_whatever_it_said_and_however_it_ends(
    project: Project, script: Script, token: str
) -> None:
    """Green words, exit 0 when it is told to end: still nothing measured."""
    gate = project.root.parent / "gate.sh"
    gate.write_text(
        "[ -e hang ] || exit 1\n"
        f"echo '1 passed'; trap 'exit 0' TERM\nsetsid {sleeper(token)} &\n{sleeper(token)} &\nwait\n"
    )
    limits(project, f'[gates.slow]\nrun = "sh {gate}"\ntimeout = "2s"')
    turn = {"write": {**FIX, "hang": ""}}
    ran = project.run(GOAL, script(turn), "--max-iter", "1").expect(3)
    assert ran.json()["reason"] == "gate-error:slow"
    verdict = project.donewhen("inbox", "show", ran.json()["run"], "--json").json()["verdict"]
    (found,) = verdict["gates"]
    assert (found["state"], found["why"]) == ("error", "timed out after 2 s")
    assert "timed out after 2 s" in project.donewhen("why", ran.json()["run"]).expect(0).out
    assert alive(token) == []
