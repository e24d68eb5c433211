"""What people and machines really type, pipe and save: refused with a next command, or it works."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.conftest import CALC, FIX, GREPPED, Project

Script = Callable[..., Path]
Make = Callable[..., Project]
GOAL = "make the tests pass"
BOM = b"\xef\xbb\xbf"
DONE = ("--gate", "grep -q 'a + b' src/calc/__init__.py")


@pytest.fixture
def project(grepped: Project) -> Project:
    return grepped


def config(text: str) -> bytes:
    return f"version = 1\n{text}".encode()


def shell(
    project: Project, line: str, *args: str | Path, **env: str
) -> subprocess.CompletedProcess[bytes]:
    """A line of bash in the project; "$@" is the command line of donewhen with `args`."""
    words = [sys.executable, "-m", "donewhen", *map(str, args)]
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line, "bash", *words],
        cwd=project.root,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=120,
    )


def untouched(project: Project) -> None:
    """Nothing was started, nothing is left."""
    assert not (project.root / ".git/donewhen").exists()
    assert project.git("for-each-ref", "refs/donewhen", "refs/heads/donewhen") == ""
    assert not list(Path(os.environ["DONEWHEN_STATE"]).glob("trees/*/*"))


# -- configuration ---------------------------------------------------------------------------------

FAULTS = {
    # text: line and key, what is wrong
    "[limits]\nmax_iteration = 5\n": (":3: limits.max_iteration", "did you mean max_iterations?"),
    "[gate.tests]\nrun = 'true'\n": (":2: gate", "did you mean gates?"),
    "[[agent]]\nuse = 'claude'\n": (":2: agent", "did you mean agents?"),
    "[gates.t]\nrn = 'true'\n": (":3: gates.t.rn", "did you mean run?"),
    "timeout = '5m'\n": (":2: timeout", "it belongs in [gates.NAME]"),
    "colour = 1\n": (":2: colour", "known: version, exit, baseline"),
    "[limits]\nmax_iterations = '10'\n": (":3: limits.max_iterations", "a number without quotes"),
    "[limits]\nmax_iterations = true\n": (":3: limits.max_iterations", "a number without quotes"),
    "[gates.t]\nrun = ['pytest']\n": (":3: gates.t.run", "must be a text"),
    "[gates.t]\nrun = 'true'\nrequired = 'yes'\n": (":4: gates.t.required", "true or false"),
    "gates = 5\n": (":2: gates", "must be tables"),
    "[limits]\nwall = '4 hours'\n": (":3: limits.wall", "must be a duration such as 90s"),
    "[limits]\nwall = 90\n": (":3: limits.wall", "must be a duration in quotes"),
    "[limits]\niteration = '30min'\n": (":3: limits.iteration", "must be a duration"),
    "[limits]\nusd = '5$'\n": (":3: limits.usd", "a number without quotes"),
    "[gates.t]\nrun = 'true'\nformat = 'pytset'\n": (":4: gates.t.format", "did you mean 'pytest'?"),
    "[gates.t]\nrun = 'pytest | tee log'\n": (":3: gates.t.run", 'holds |, which only a shell'),
    "[gates.t]\nrun = 'FOO=1 pytest'\n": (":3: gates.t.run", "begins with a variable"),
    "[limits\n": (":2", "not valid TOML"),
}  # fmt: skip


@pytest.mark.row("D12", kills="donewhen.config.check:_values")
@pytest.mark.parametrize(
    ("text", "ends"), [(t, "\n") for t in FAULTS] + [(t, "\r\n") for t in list(FAULTS)[::7]]
)
def test_a_fault_of_the_configuration(make_project: Make, text: str, ends: str) -> None:
    project = make_project({})
    data = BOM * (ends == "\r\n") + config(text).replace(b"\n", ends.encode())
    (project.root / "donewhen.toml").write_bytes(data)
    where, what = FAULTS[text]
    ran = project.donewhen("run", GOAL, "--agent", "command:true", "--yes").expect(2)
    assert f"donewhen.toml{where}" in ran.err
    assert what in ran.err
    assert "type: donewhen doctor" in ran.err
    untouched(project)


@pytest.mark.parametrize(
    ("text", "says", "known"),
    [
        ("[[agents]]\nuse = 'cluade'\n", "unknown agent 'cluade'", "claude, command, scripted"),
        ("[[agents]]\nuse = 'scripted:gone.json'\n", "gone.json", "No such file"),
    ],
)
def test_an_agent_of_the_file_is_named_with_the_file(
    project: Project, text: str, says: str, known: str
) -> None:
    (project.root / "donewhen.toml").write_bytes(config(text))
    ran = project.donewhen("run", GOAL, "--yes").expect(2)
    assert f"{project.root}/donewhen.toml: [[agents]]" in ran.err
    assert says in ran.err
    assert known in ran.err
    untouched(project)


def test_what_the_file_names_is_relative_to_it(project: Project, script: Script) -> None:
    project.write({"agent.json": script({"write": FIX}).read_text(), "sub/keep": ""})
    (project.root / "donewhen.toml").write_bytes(
        config("[[agents]]\nuse = 'scripted:agent.json'\n")
    )
    project.donewhen("run", GOAL, "--yes", *DONE, cwd="sub").expect(0)


def test_windows_line_ends_and_a_byte_order_mark_are_fine(project: Project) -> None:
    text = config("[gates.fine]\nrun = 'true'\n").replace(b"\n", b"\r\n")
    (project.root / "donewhen.toml").write_bytes(BOM + text)
    (gate,) = project.donewhen("judge", "--json").expect(0).json()["gates"]
    assert gate["name"] == "fine"


def odd(path: Path, kind: str) -> None:
    """Something that is no file a person meant to write."""
    path.unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "gone":
        path.symlink_to(path.parent / "nowhere")
    elif kind == "huge":
        path.touch()
        os.truncate(path, 1 << 30)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.write_bytes("für".encode("utf-16"))


ODD = {
    "pipe": "Is a pipe",
    "folder": "Is a directory",
    "loop": "Too many levels of symbolic links",
    "gone": "No such file",
    "huge": "Is over 4 MiB",
    "device": "Is a device",
    "utf-16": "not UTF-8",
}


@pytest.mark.parametrize("kind", ODD)
def test_an_odd_file_as_configuration(project: Project, kind: str) -> None:
    odd(project.root / "donewhen.toml", kind)
    ran = project.donewhen("run", GOAL, "--agent", "command:true", "--yes").expect(2)
    assert "donewhen.toml" in ran.err
    assert ODD[kind] in ran.err
    untouched(project)


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("command", [("run", "-f", "goal file.md", "--agent", "command:true")])
def test_an_odd_file_as_goal(project: Project, kind: str, command: Sequence[str]) -> None:
    odd(project.root / "goal file.md", kind)
    ran = project.donewhen(*command, "--yes").expect(2)
    assert "the goal file 'goal file.md'" in ran.err
    assert ODD[kind].replace("not UTF-8", "is not UTF-8") in ran.err
    untouched(project)


@pytest.mark.parametrize("name", ["setup.cfg", "package.json", "tests/test_pipe.py", "go.mod"])
def test_a_pipe_among_the_projects_files_is_not_waited_for(make_project: Make, name: str) -> None:
    project = make_project(CALC)
    os.mkfifo(project.root / name)
    project.donewhen("judge", "--json").expect(1)


def test_both_configurations(project: Project) -> None:
    project.write({"donewhen.toml": "version = 1\n"})
    project.write({"pyproject.toml": CALC["pyproject.toml"] + "[tool.donewhen]\n"})
    ran = project.donewhen("run", GOAL, "--agent", "command:true", "--yes").expect(2)
    assert "donewhen.toml and [tool.donewhen] in pyproject.toml; only one can count" in ran.err
    assert f"rm {project.root}/donewhen.toml" in ran.err
    untouched(project)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("name", ["donewhen.toml", "goal.md"])
def test_a_file_that_may_not_be_read(project: Project, name: str) -> None:
    project.write({name: "version = 1\n"})
    (project.root / name).chmod(0)
    goal = ("-f", name) if name == "goal.md" else (GOAL,)
    ran = project.donewhen("run", *goal, "--agent", "command:true", "--yes").expect(2)
    assert "Permission denied" in ran.err
    untouched(project)


# -- the goal --------------------------------------------------------------------------------------

GOALS = {
    "all at once": b"  it's \"this\" `and` 'that' $(touch PWNED) ; touch PWNED & | > PWNED && $HOME \\\n"
    b"$goal $$ ${gates} {goal} %s\r\n\n- [ ] three\n---\n\t"
    + "fix 🎉 für 漢字 \u202eright to left\u202c \t\n ".encode(),
    "not UTF-8": b"caf\xe9 \xff\xfe",
}


@pytest.mark.parametrize("name", GOALS)
def test_a_goal_is_kept_byte_for_byte(project: Project, script: Script, name: str) -> None:
    goal = os.fsdecode(GOALS[name])
    run = project.run(goal, script({"write": FIX}), *DONE).expect(0).json()["run"]
    folder = project.root / f".git/donewhen/runs/{run}"
    assert (folder / "goal.md").read_bytes() == GOALS[name]
    if name != "not UTF-8":
        assert GOALS[name] in (folder / "iterations/1/prompt.md").read_bytes()
    assert not list(project.root.rglob("PWNED"))
    project.donewhen("inbox", "accept", run).expect(0)
    for command in (("status",), ("why", run), ("inbox", "--all"), ("inbox", "show", run)):
        project.donewhen(*command).expect(0)


@pytest.mark.parametrize("how", ["file", "stdin", "pipe"])
def test_a_goal_of_200_kb(project: Project, script: Script, how: str) -> None:
    goal = BOM + ("# Größe\r\n" + "wörter 🎉 " * 17_000 + "THE END").encode()
    assert len(goal) > 200_000
    (project.root / ".git/goal").write_bytes(goal)
    line = {
        "file": '"$@" -f .git/goal',
        "stdin": '"$@" -f - <.git/goal',
        "pipe": '"$@" -f <(cat .git/goal)',
    }[how]
    agent = f"scripted:{script({'write': FIX})}"
    ran = shell(project, line, "run", "--agent", agent, "--yes", *DONE)
    assert ran.returncode == 0, ran.stderr
    (folder,) = (project.root / ".git/donewhen/runs").iterdir()
    assert (folder / "goal.md").read_bytes() == goal
    prompt = (folder / "iterations/1/prompt.md").read_bytes()
    assert len(prompt) <= 60_000
    assert "# Größe".encode() in prompt
    assert BOM not in prompt
    assert b"THE END" not in prompt
    assert f"The whole goal is in {folder}/goal.md".encode() in prompt


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('"$@"', "no goal"),
        ('"$@" ""', "the goal is empty"),
        ('"$@" $\' \\n\\t\'', "the goal is empty"),
        ('"$@" -f /dev/stdin <<<""', "the goal is empty"),
        ("printf '\\xef\\xbb\\xbf\\n' | \"$@\" -f -", "the goal is empty"),
        ("printf 'a\\0b' | \"$@\" -f -", "the goal holds a NUL byte"),
        ('"$@" -f - <&-', "is closed"),
        ('"$@" -f nowhere.md', "No such file"),
        ('"$@" x --agent cluade', "Did you mean claude? Known: claude, command, scripted"),
        ('"$@" x --gate tests', "Gates known here: tests"),
        ('"$@" x --gate "tests | x"', "holds |"),
        ('"$@" x --gate "a && b"', "--gate 'sh: a && b'"),
        ('"$@" x --gate "a; b"', "--gate 'sh: a; b'"),
        ('"$@" x --gate "unit=a >log"', "--gate 'unit=sh: a >log'"),
        ('"$@" x --gate "+a \\$HOME"', "--gate '+sh: a $HOME'"),
        ('"$@" x --gate "a \\`b\\`"', "--gate 'sh: a `b`'"),
        ('"$@" x --gate "pytest -q | tail -5"', "Type: --gate 'pytest -q'"),
        ('"$@" x --gate "sh: pytest -q || true"', "Type: --gate 'pytest -q'"),
        ('"$@" x --gate "sh: pytest -q; echo done"', "is that of `echo done`, not of `pytest -q`"),
        ('"$@" x --gate "foo=1 pytest"', "--gate 'env foo=1 pytest'"),
    ],
)  # fmt: skip
def test_what_is_refused_before_anything_starts(project: Project, line: str, says: str) -> None:
    named = () if "--agent" in line else ("--agent", "command:true")
    ran = shell(project, line, "run", "--yes", *named)
    said = ran.stderr.decode()
    assert ran.returncode == 2, said
    assert says in said
    assert "ype" in said, "the next command to type"
    untouched(project)


def test_no_arguments_at_all(project: Project) -> None:
    assert 'donewhen run "make the tests pass"' in project.donewhen().expect(2).err
    untouched(project)


# -- locale, streams, places -----------------------------------------------------------------------

LOCALES: dict[str, dict[str, str]] = {
    "C, strictly": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "cp1252": {"PYTHONIOENCODING": "cp1252", "TERM": "dumb"},
}


@pytest.mark.parametrize("name", LOCALES)
def test_any_locale(project: Project, script: Script, name: str) -> None:
    odd = r"printf 'caf\351 \355\240\200 \000\n'; printf x > $(printf 'caf\351.txt')"  # no UTF-8
    turn = {"write": {**FIX, "für.txt": "漢字\n"}, "say": "✓ 漢字 🎉", "run": odd}
    env = LOCALES[name]
    goal = "fix 🎉 für 漢字"
    run = project.run(goal, script(turn), *DONE, **env).expect(0).json()["run"]
    assert (project.root / f".git/donewhen/runs/{run}/goal.md").read_text("utf-8") == goal
    for command in (("judge",), ("status",), ("why", run), ("log", run), ("inbox",), ("doctor",)):
        assert "internal error" not in project.donewhen(*command, **env).err
    project.donewhen("inbox", "accept", run, **env).expect(0)
    assert (project.root / "für.txt").exists()
    assert os.path.exists(os.fsencode(project.root) + b"/caf\xe9.txt")


STREAMS = {
    # line: exit code of `judge` and of `status` in a project whose tests pass
    '"$@" >&-': (0, 0),
    '"$@" 2>&-': (0, 0),
    '"$@" <&- >&- 2>&-': (0, 0),
    '"$@" >/dev/full': (0, 1),
    '"$@" 2>/dev/full': (0, 0),
    '"$@" --json >/dev/full': (0, 1),
}


@pytest.mark.parametrize("line", STREAMS)
def test_streams_that_lead_nowhere(make_project: Make, line: str) -> None:
    project = make_project({**GREPPED, **FIX})
    for command, code in zip(("judge", "status"), STREAMS[line], strict=True):
        ran = shell(project, line, command)
        assert ran.returncode == code, ran.stderr
        assert b"internal error" not in ran.stderr
        full = b"standard output could not be written: No space left on device" in ran.stderr
        assert full is (">/dev/full" in line and "2>" not in line)


@pytest.mark.parametrize(
    "line", ['"$@" >&-', '"$@" >/dev/full', '"$@" >&- 2>&- <&-', '"$@" 2>/dev/full']
)
def test_a_run_ends_as_it_ends_whoever_listens(project: Project, script: Script, line: str) -> None:
    agent = f"scripted:{script({'write': FIX, 'say': 'x' * 100_000})}"
    ran = shell(project, line, "run", GOAL, "--agent", agent, "--yes", "--json")
    assert ran.returncode == 0, ran.stderr
    assert project.donewhen("status", "--json").json()["runs"][0]["reason"] == "gates-passed"


def test_a_reader_that_leaves(project: Project, script: Script) -> None:
    run = project.run(GOAL, script({"write": FIX})).expect(0).json()["run"]
    ran = shell(project, '"$@" | head -1', "log", run)
    assert ran.stdout.count(b"\n") == 1
    assert ran.stderr == b""
    agent = f"scripted:{script({'write': FIX})}"
    ran = shell(project, '"$@" 2>&1 | head -1', "run", GOAL, "--agent", agent, "--yes")
    assert ran.stdout.count(b"\n") == 1
    assert {r["reason"] for r in project.donewhen("status", "--json").json()["runs"]} == {
        "gates-passed"
    }


@pytest.mark.parametrize("name", ['it\'s "quoted" $HOME ünï', "two\nlines", "-dash"])
def test_odd_places(make_project: Make, script: Script, name: str) -> None:
    project = make_project(GREPPED, name)
    run = project.run(GOAL, script({"write": FIX})).expect(0).json()["run"]
    for command in (("status", run), ("why", run), ("inbox", "show", run), ("doctor",)):
        assert "internal error" not in project.donewhen(*command).err
    project.donewhen("inbox", "accept", run).expect(0)
    project.donewhen("judge").expect(0)


@pytest.mark.parametrize("home", [None, "relative", "/nonexistent"])
def test_without_a_home(project: Project, script: Script, home: str | None) -> None:
    line = '"$@"' if home is not None else 'unset HOME; "$@"'
    env = {"HOME": home or ""}
    agent = f"scripted:{script({'write': FIX})}"
    ran = shell(project, line, "run", GOAL, "--agent", agent, "--yes", **env)
    assert ran.returncode == 0, ran.stderr
    assert shell(project, line, "judge", **env).returncode == 1
    assert shell(project, line, "status", **env).returncode == 0


# -- more than one at a time -----------------------------------------------------------------------


@pytest.mark.row("D10", kills="donewhen.system.locks:lock")
def test_runs_side_by_side_lose_nothing_and_a_dead_owner_holds_nothing(
    project: Project, script: Script
) -> None:
    first = project.run(GOAL, script({"write": FIX})).expect(0).json()["run"]
    home = project.root / ".git/donewhen"
    dead = json.dumps({"pid": 4_000_000, "start": "1", "host": socket.gethostname()})
    for lock in home.rglob("*.lock"):
        lock.write_text(dead)
    agent = f"scripted:{script({'write': FIX})}"
    words = [sys.executable, "-m", "donewhen", "run", GOAL, "--agent", agent, "--yes", "--json"]
    runs = [
        subprocess.Popen(words, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    found = {first, *(json.loads(run.communicate(timeout=240)[0])["run"] for run in runs)}
    assert len(found) == 4
    assert [run.returncode for run in runs] == [0, 0, 0]
    lines = [json.loads(line) for line in (home / "history.jsonl").read_text().splitlines()]
    assert {line["run"] for line in lines} == found
    assert len(lines) == 4
    items = project.donewhen("inbox", "--json").json()["items"]
    assert {item["run"] for item in items} == found
    for run in found:
        assert [r["seq"] for r in project.journal(run)] == list(
            range(1, len(project.journal(run)) + 1)
        )
    assert not [p for p in home.rglob("*") if p.name.endswith((".tmp", "~"))]
    assert "held" not in project.donewhen("resume", first).expect(0).err
