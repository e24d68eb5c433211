"""config.load: found in the right place, checked strictly, every fault with a line and a command."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from donewhen.config.load import AgentConfig, Config, Source, Workspace, find, parse, parse_shared
from donewhen.config.options import LIMITS, SECTIONS, TABLES, TOP, sample
from donewhen.config.units import FLAGS
from donewhen.core.contract import Limits
from donewhen.errors import ConfigError

HEAD = "version = 1\n"


def fault(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value.message


# -- the table ---------------------------------------------------------------------------------


def test_the_sample_is_the_defaults() -> None:
    found = parse(sample())
    assert found.limits == Limits()
    assert found.workspace == Workspace()
    assert found.agents == (AgentConfig("claude"),)
    assert found.baseline == "auto"
    assert found.gates["tests"]["timeout"] == 900.0


def test_the_sample_has_a_line_for_every_key() -> None:
    for options in (TOP, *SECTIONS.values()):
        for option in options:
            assert f"\n{option.key} = {option.default}" in f"\n{sample()}"


def test_the_flags_of_the_table_are_the_ones_the_command_line_reads() -> None:
    by_flag = {flag: field for flag, field, _read, _example in FLAGS.values()}
    assert by_flag == {o.flag: o.field or o.key for o in LIMITS if o.flag}


# -- what is read ------------------------------------------------------------------------------


def test_values() -> None:
    found = parse(
        HEAD + 'baseline = "no-new"\n'
        '[limits]\nmax_iterations = 5\nwall = "1h30m"\nusd = 2.5\ntokens = 0\n'
        '[workspace]\nsetup = ["uv sync", "sh: a | b"]\ncopy = [".env"]\nlink = ["node_modules"]\n'
        '[gates.tests]\nrun = "pytest -q"\ntimeout = "2m"\npass_codes = [0, 5]\nenv = ["PYTHONPATH"]\n'
        '[gates.docs]\nrun = "sh: make docs | tee log"\nrequired = false\n'
        '[[agents]]\nuse = "claude:haiku"\nafter = 1\n[[agents]]\nuse = "claude:opus"\npermissions = "full"\n'
    )
    assert found.baseline == "no-new"
    assert found.limits == replace(Limits(), max_iterations=5, wall_s=5400.0, usd=2.5)
    assert found.workspace == Workspace(
        setup=("uv sync", "sh: a | b"), copy=(".env",), link=("node_modules",)
    )
    assert found.gates["tests"] == {
        "run": "pytest -q",
        "timeout": 120.0,
        "pass_codes": (0, 5),
        "env": ("PYTHONPATH",),
    }
    assert found.gates["docs"]["required"] is False
    assert found.agents == (
        AgentConfig("claude:haiku", after=1),
        AgentConfig("claude:opus", permissions="full"),
    )


def test_every_value_knows_who_set_it() -> None:
    found = parse(HEAD + '[limits]\nwall = "1h"\nmax_iterations = 5\n[gates.a]\nrun = "x"\n')
    told = found.with_flags({"wall_s": 60.0}, "clean")
    assert (told.limits.wall_s, told.limits.max_iterations, told.baseline) == (60.0, 5, "clean")
    assert told.source_of("limits.wall_s") is Source.FLAG
    assert told.source_of("baseline") is Source.FLAG
    assert told.source_of("limits.max_iterations") is Source.FILE
    assert told.source_of("gates.a") is Source.FILE
    assert told.source_of("limits.silence_s") is Source.DEFAULT
    assert Source.DEFAULT < Source.FILE < Source.FLAG
    assert found.with_flags({}) == found


def test_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").write_bytes(
        b"\xef\xbb\xbfversion = 1\r\n[limits]\r\nmax_iterations = 4\r\n"
    )
    assert find(tmp_path, tmp_path).limits.max_iterations == 4


# -- where it is read from ---------------------------------------------------------------------


def test_nothing_there_is_the_defaults(tmp_path: Path) -> None:
    assert find(tmp_path, tmp_path) == Config()


def test_the_folder_wins_over_the_top(tmp_path: Path) -> None:
    sub = tmp_path / "sub"
    sub.mkdir()
    (tmp_path / "donewhen.toml").write_text(HEAD + "[limits]\nmax_iterations = 4\n")
    assert find(tmp_path, sub).limits.max_iterations == 4
    (sub / "pyproject.toml").write_text("[tool.donewhen.limits]\nmax_iterations = 5\n")
    found = find(tmp_path, sub)
    assert (found.limits.max_iterations, found.source) == (5, str(sub / "pyproject.toml"))


def test_both_in_one_folder_name_both(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").write_text(HEAD)
    (tmp_path / "pyproject.toml").write_text('[tool.donewhen]\nbaseline = "clean"\n')
    with pytest.raises(
        ConfigError, match=r"donewhen\.toml and \[tool\.donewhen\] in pyproject"
    ) as e:
        find(tmp_path, tmp_path)
    assert f"rm {tmp_path}/donewhen.toml" in e.value.hint


def test_a_pyproject_that_only_carries_the_name_is_not_ours(tmp_path: Path) -> None:
    (tmp_path / "donewhen.toml").write_text(HEAD)
    for text in (
        '[project]\nname = "donewhen"\n',
        '[project]\nname = "donewhen"\nbroken',
        "[tool.x]\n",
    ):
        (tmp_path / "pyproject.toml").write_text(text)
        assert find(tmp_path, tmp_path).source.endswith("donewhen.toml")


@pytest.mark.parametrize(
    "head", ["[tool.donewhen]", "[ tool . 'donewhen' ]", "[[tool.donewhen.agents]]"]
)
def test_a_broken_pyproject_that_speaks_to_us_is_an_error(tmp_path: Path, head: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f"{head}\nbaseline = \n")
    with pytest.raises(ConfigError, match=r"pyproject\.toml:2: not valid TOML"):
        find(tmp_path, tmp_path)


@pytest.mark.parametrize("kind", ["folder", "dangling", "latin1"])
def test_what_cannot_be_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "donewhen.toml"
    if kind == "folder":
        path.mkdir()
    elif kind == "dangling":
        path.symlink_to(tmp_path / "gone")
    else:
        path.write_bytes("# für\nversion = 1".encode("latin1"))
    with pytest.raises(ConfigError, match=r"cannot be read|not UTF-8") as caught:
        find(tmp_path, tmp_path)
    assert str(path) in caught.value.message
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "donewhen.toml"
    path.write_text(HEAD)
    path.chmod(0)
    with pytest.raises(ConfigError, match="Permission denied"):
        find(tmp_path, tmp_path)


# -- what is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "donewhen.toml: version is missing"),
        ("version = 2\nnosuch = 1", "donewhen.toml:1: version: must be 1"),
        ("version = true", "version: must be 1"),
        ("version = 1\nversion = 1", "not valid TOML"),
        ("version = 1\nx = \n", "donewhen.toml:2: not valid TOML"),
        ("version = 1\nx = [", "donewhen.toml: not valid TOML"),
        ("version = 1\nx = " + "[" * 5000, "not valid TOML"),
        ("version = 1\n\nbaselin = 'clean'", "donewhen.toml:3: baselin: unknown key; did you mean baseline?"),
        ("version = 1\ngate = 1", "did you mean gates?"),
        ("version = 1\nmax_iterations = 1", "it belongs in [limits]"),
        ("version = 1\nzzz = 1", "known: version, exit, baseline, limits, "),
        ("version = 1\nbaseline = 'new'", "must be 'auto' or 'clean' or 'no-new', not 'new'"),
        ("version = 1\nbaseline = ['auto']", "must be 'auto'"),
        ("version = 1\nexit = 'p2'", "exit: must be 'gates' or 'p1', not 'p2'"),
        ("version = 1\n[verifier]\nrounds = 3", "rounds: this version acts on no other value than 2"),
        ("version = 1\nlimits = 3", "donewhen.toml:2: limits: must be a table"),
        ("version = 1\n[limits]\nmax_iter = 3", "donewhen.toml:3: limits.max_iter: unknown key; did you mean max_iterations?"),
        ("version = 1\n[limits]\nmax_iterations = 0", "must be 1 to 1000, not 0"),
        ("version = 1\n[limits]\nmax_iterations = '10'", "must be a number without quotes, not '10'"),
        ("version = 1\n[limits]\nmax_iterations = true", "must be a number without quotes, not True"),
        ("version = 1\n[limits]\nmax_iterations = 1e3", "must be a number without quotes"),
        ("version = 1\n[limits]\nmax_iterations = -1", "must be a whole number"),
        ("version = 1\n[limits]\nwall = 30", "donewhen.toml:3: limits.wall: must be a duration in quotes"),
        ("version = 1\n[limits]\nwall = '30'", "must be a duration such as 90s, 30m or 1h30m, not '30'"),
        ("version = 1\n[limits]\nusd = -1", "limits.usd: must be an amount"),
        ("version = 1\n[limits]\nusd = inf", "limits.usd: must be an amount"),
        ("version = 1\n[limits]\ntokens = 1.5", "limits.tokens: must be a number"),
        ("version = 1\n[workspace]\ncopy = '.env'", "workspace.copy: must be a list of texts"),
        ("version = 1\n[workspace]\ncopy = ['../x']", "must be a path inside the project"),
        ("version = 1\n[workspace]\nlink = ['/etc']", "must be a path inside the project"),
        ("version = 1\n[workspace]\nsetup = [\"a 'b\"]", "cannot be split"),
        ("version = 1\n[workspace]\nmode = 'docker'", "must be 'worktree' or 'in-place'"),
        ("version = 1\ngates = 1", "must be tables [gates.NAME]"),
        ("version = 1\n[gates.a]\n", "donewhen.toml:2: gates.a: has no command; add run"),
        ("version = 1\n[gates.'a b']\nrun = 'x'", "a gate's name is letters"),
        ("version = 1\n[gates.a]\nrun = ' '", "gates.a.run: must be a text"),
        ("version = 1\n[gates.a]\nrun = \"x 'y\"", "gates.a.run: cannot be split"),
        ("version = 1\n[gates.a]\nrun = 'x'\n[gates.b]\nrun = 'x'\ntimeout = 'x'", "donewhen.toml:6: gates.b.timeout"),
        ("version = 1\n[gates.a]\nrun = 'x'\npass_codes = [true]", "must be a list of exit codes"),
        ("version = 1\n[gates.a]\nrun = 'x'\npass_codes = []", "must be a list of exit codes"),
        ("version = 1\n[gates.a]\nrun = 'x'\nrequired = 1", "must be true or false"),
        ("version = 1\n[gates.a]\nrun = 'x'\nenv = ['A=1']", "names of environment variables ('A=1' is none)"),
        ("version = 1\n[gates.a]\nrun = 'x'\nusee = 1", "unknown key"),
        ("version = 1\n[agents]\nuse = 'claude'", "donewhen.toml:2: agents: must be [[agents]] tables"),
        ("version = 1\n[[agents]]\nafter = 1", "an agent has no name"),
        ("version = 1\n[[agents]]\nuse = 'a'\n[[agents]]\nuse = 'b'\nafter = 0", "donewhen.toml:6: agents.after: must be 1 to 1000"),
        ("version = 1\nagents = [1]", "donewhen.toml:2: agents: must be a table"),
        ("version = 1\n[[agents]]\nuse = 'a'\ncontext = 'shared'", "acts on no other value than 'fresh'"),
        ("version = 1\n[verifier]\nuse = 'codex'", "donewhen.toml:3: verifier.use: this version acts on"),
        ("version = 1\n[hooks]\nauto = true", "hooks.auto: this version acts on"),
    ],
)  # fmt: skip
def test_a_fault_names_file_line_key_and_what_to_do(text: str, says: str) -> None:
    assert says in fault(text)


def test_faults_of_a_shared_table_have_its_lines() -> None:
    text = '[project]\nname = "x"\n\n[tool.donewhen.limits]\nwal = "1h"\n'
    with pytest.raises(
        ConfigError, match=r"pyproject\.toml:5: tool\.donewhen\.limits\.wal: unknown"
    ):
        parse_shared(text)
    with pytest.raises(ConfigError, match=r"tool\.donewhen: must be a table"):
        parse_shared("[tool]\ndonewhen = 3\n")


def test_every_table_of_the_format_is_known() -> None:
    for table in TABLES:
        text = HEAD + (f"[[{table}]]\nuse='a'" if table == "agents" else f"[{table}]\n")
        parse(text)
