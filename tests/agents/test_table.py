"""Agents by name: the table, a dotted path, an entry point, and what an unknown name is told."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from donewhen.agents import TABLE, default_agent, load, parse
from donewhen.agents.base import AgentSpec
from donewhen.errors import UnknownName, UsageError

OWN = """
class Own:
    tool_events = False
    def __init__(self, spec): self.spec = spec
    def locate(self): return "own"
    def launch(self, turn): ...
    def parser(self, turn): ...
class Half:
    def __init__(self, spec): self.spec = spec
NOT_A_CLASS = 3
"""


@pytest.fixture
def own_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable module `own_agents.mod` with adapters, and a distribution that names one."""
    package = tmp_path / "site" / "own_agents"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "mod.py").write_text(OWN)
    (package / "broken.py").write_text("def (\n")
    info = tmp_path / "site" / "own_agents-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-agents\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[donewhen.agents]\nownish = own_agents.mod:Own\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield package
    for name in [n for n in sys.modules if n.startswith("own_agents")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "name", "model"),
    [
        ("claude", "claude", ""),
        ("claude:sonnet", "claude", "sonnet"),
        ("claude:us.anthropic.model:1", "claude", "us.anthropic.model:1"),
        ("scripted:/a/b.json", "scripted", "/a/b.json"),
        ("command:agent --x 'a b'", "command", "agent --x 'a b'"),
        ("own_agents.mod:Own", "own_agents.mod:Own", ""),
        ("own_agents.mod:Own:big", "own_agents.mod:Own", "big"),
    ],
)
def test_a_name_is_split_at_its_first_colon(text: str, name: str, model: str) -> None:
    spec = parse(text)
    assert (spec.name, spec.model) == (name, model)
    assert parse(spec.label) == spec


@pytest.mark.parametrize("text", ["", ":", ":sonnet", "  ", "cla\0ude"])
def test_no_name(text: str) -> None:
    with pytest.raises(UsageError, match="names no agent") as caught:
        parse(text)
    assert "claude, command, scripted" in str(caught.value)


def test_files_are_anchored_where_they_are_named(tmp_path: Path) -> None:
    assert parse("scripted:s.json", tmp_path).model == str(tmp_path / "s.json")
    assert parse("command:./a.sh -x 'b c'", tmp_path).model == f"{tmp_path}/a.sh -x 'b c'"
    assert parse("command:bin/../a.sh", tmp_path / "d e").model == f"'{tmp_path}/d e/a.sh'"
    assert parse("command:python a.py", tmp_path).model == "python a.py"


@pytest.mark.parametrize("name", TABLE)
def test_every_name_of_the_table_loads(name: str, tmp_path: Path) -> None:
    agent = load(AgentSpec(name, "x"))
    assert agent.spec.name == name


def test_the_table_is_imported_on_use() -> None:
    code = "import sys, donewhen.agents; print(sorted(m for m in sys.modules if 'agents' in m))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['donewhen.agents', 'donewhen.agents.base']"


def test_a_dotted_path_and_an_entry_point(own_module: Path) -> None:
    for text in ("own_agents.mod:Own", "ownish"):
        assert type(load(parse(text))).__name__ == "Own"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("own_agents.mod:Missing", "cannot be loaded"),
        ("own_agents.nosuch:Own", "cannot be loaded"),
        ("own_agents.broken:Own", "cannot be loaded"),
        ("own_agents.mod:Half", "lacks tool_events, locate, launch, parser"),
        ("own_agents.mod:NOT_A_CLASS", "is no class"),
        ("..mod:Own", "cannot be loaded"),
    ],
)
def test_what_is_no_adapter_is_told_why(own_module: Path, text: str, says: str) -> None:
    with pytest.raises(UnknownName, match=says) as caught:
        load(parse(text))
    assert "Known: claude, command, ownish, scripted" in str(caught.value)


def test_an_unknown_name_lists_the_known_and_the_nearest(own_module: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        load(parse("cluade"))
    assert "unknown agent 'cluade'. Did you mean claude?" in str(caught.value)
    assert "Known: claude, command, ownish, scripted" in str(caught.value)
    assert "--agent command:" in caught.value.hint
    assert caught.value.exit_code == 2
    with pytest.raises(UnknownName, match="Did you mean ownish"):
        load(parse("ownisch"))


def programs(folder: Path, *names: str) -> str:
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_the_default_is_the_first_with_an_adapter(tmp_path: Path) -> None:
    path = programs(tmp_path / "bin", "aider", "codex", "claude")
    assert default_agent(path) == "claude"


def test_no_default_says_what_was_looked_for_and_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        default_agent(programs(tmp_path / "bin"))
    assert "looked for claude on PATH" in str(caught.value)
    assert "npm install -g @anthropic-ai/claude-code" in caught.value.hint
    with pytest.raises(UsageError, match="aider is there but has no adapter yet"):
        default_agent(programs(tmp_path / "bin2", "aider"))
