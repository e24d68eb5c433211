"""From what a user typed to a Plan: everything is checked here, and nothing is written.

Flags win over donewhen.toml, donewhen.toml over detection.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from donewhen.agents import default_agent, load, parse
from donewhen.agents.base import AgentSpec
from donewhen.config.load import Config, find
from donewhen.config.templates import read_own, templates
from donewhen.config.units import ceilings, lowered
from donewhen.core.contract import Limits, Rung
from donewhen.drivers import submodules
from donewhen.drivers.plan import Plan
from donewhen.drivers.provision import Provision
from donewhen.drivers.repo import Repo
from donewhen.errors import ConfigError, UnknownName, UsageError
from donewhen.gates.base import GateDef
from donewhen.gates.detect import detect
from donewhen.gates.env import denied, has_module, program_exists, tool_path
from donewhen.gates.holdout import NAME as HOLDOUT
from donewhen.gates.holdout import holdout
from donewhen.gates.parse import from_config, parse_flag
from donewhen.gates.select import select_gates
from donewhen.system.redact import is_secret


@dataclass(frozen=True)
class Options:
    """A run as it was asked for; None means "not said here"."""

    goal: str
    gates: Sequence[str] = ()
    agents: Sequence[str] = ()
    limits: dict[str, float | int] = field(default_factory=dict)
    baseline: str | None = None
    accept_no_regression: bool = False
    full_access: bool = False
    no_wait: bool = False
    in_place: bool = False


def prepare(repo: Repo, options: Options) -> Plan:
    """Check everything and freeze it. Raises UsageError (exit 2) before anything was started."""
    _goal(options.goal)
    submodules.check(repo.git)
    config = find(repo.root, _start(repo))
    gates = gates_for(repo, options.gates, config)
    if gates and not any(gate.required for gate in gates):
        raise ConfigError(
            f"{config.source}: no gate is required ({', '.join(g.name for g in gates)}), so nothing "
            "would decide",
            hint="Set required = true on one of them, then type: donewhen doctor",
        )
    agents, rungs = _ladder(repo, options, config, gates)
    return Plan(
        goal=options.goal,
        checkout=repo.root,
        prefix=prefix_of(repo),
        gates=gates,
        agents=agents,
        rungs=rungs,
        limits=_limits(repo, options, config),
        baseline=options.baseline or config.baseline,
        accept_no_regression=options.accept_no_regression,
        no_wait=options.no_wait,
        provision=_provision(repo, config),
        integrity=config.integrity,
        in_place=options.in_place or config.workspace.mode == "in-place",
        templates=templates(read_own(repo.root)),
        environ=_frozen(repo),
    )


def _goal(goal: str) -> None:
    if "\0" in goal:
        raise UsageError(
            "the goal holds a NUL byte", hint='Type it anew: donewhen run "make the tests pass"'
        )
    if not goal.removeprefix("\ufeff").strip():
        raise UsageError("the goal is empty", hint='Type: donewhen run "make the tests pass"')


def prefix_of(repo: Repo) -> str:
    """Where gates are looked for: the folder started in if it is a project of its own, else "."."""
    here = repo.cwd
    marks = ("pyproject.toml", "package.json", "go.mod", "Cargo.toml", "setup.py", "pytest.ini")
    while here != repo.root and repo.root in here.parents:
        if any((here / mark).is_file() for mark in (*marks, "donewhen.toml")):
            return here.relative_to(repo.root).as_posix()
        here = here.parent
    return "."


def _start(repo: Repo) -> Path:
    return repo.root / prefix_of(repo)


def gates_for(
    repo: Repo, flags: Sequence[str], config: Config | None = None
) -> tuple[GateDef, ...]:
    """`--gate CMD` replaces configuration and detection, `--gate '+CMD'` adds to them."""
    place = _start(repo)
    config = config or find(repo.root, place)
    found = select(place, repo.root, flags, config, repo.environ)
    found += _holdout(repo, config, found, place)
    prefix = prefix_of(repo)
    if prefix == ".":
        return found
    return tuple(replace(g, cwd=prefix if g.cwd == "." else f"{prefix}/{g.cwd}") for g in found)


def _holdout(
    repo: Repo, config: Config, gates: Sequence[GateDef], place: Path
) -> tuple[GateDef, ...]:
    """The gate of `[integrity] holdout`, if there is one. Raises ConfigError naming the folder."""
    if not config.integrity.holdout:
        return ()
    home = Path(config.source).parent
    folder = Path(os.path.normpath(home / Path(config.integrity.holdout).expanduser()))
    where = f"{config.source}: integrity.holdout: {folder}"
    if any(gate.name == HOLDOUT for gate in gates):
        raise ConfigError(
            f"{where}: a gate of yours is called {HOLDOUT} already",
            hint="Give that gate another name.",
        )
    if folder.resolve().is_relative_to(repo.root.resolve()):
        raise ConfigError(
            f"{where} lies in the repository, where the agent reads it",
            hint=f"Move it out, e.g.: mv {shlex.quote(str(folder))} ..",
        )
    if not folder.is_dir():
        raise ConfigError(
            f"{where} is no folder", hint="Make it and put tests in it, or remove the key."
        )
    try:
        return (holdout(folder, gates, place),)
    except UsageError as error:
        raise ConfigError(f"{config.source}: {error.message}", hint=error.hint) from error


def select(
    place: Path, root: Path, flags: Sequence[str], config: Config, environ: Mapping[str, str]
) -> tuple[GateDef, ...]:
    """The gates of a folder, whether or not git knows it."""
    path = tool_path(root, environ, os.path.relpath(place, root))
    try:
        configured = [from_config(name, values) for name, values in config.gates.items()]
    except UsageError as error:
        raise ConfigError(f"{config.source}: {error.message}", hint=error.hint) from error
    _known(place, flags, configured, path)
    found = select_gates(place, flags, configured, lambda name: has_module(path, name))
    return tuple(replace(gate, exit=config.exit) for gate in found)


def _known(place: Path, flags: Sequence[str], configured: Sequence[GateDef], path: str) -> None:
    """A `--gate` of one word must be a program. What a gate is called is no command.

    With more words it is a command that cannot start, which is for the baseline to say.
    """
    for flag in flags:
        gate = parse_flag(flag)
        (word, *more) = gate.argv
        if more or "/" in word or program_exists(word, path):
            continue
        names = [g.name for g in configured or detect(place, lambda name: has_module(path, name))]
        near = get_close_matches(word, names, n=1)
        raise UnknownName(
            f"--gate {flag!r}: there is no program {word} on PATH, and a gate is named by its "
            f"command. Gates known here: {', '.join(names) or 'none'}",
            hint=f"Without --gate {near[0]} is used. Else type: --gate '{word}=COMMAND'"
            if near
            else f"Type: --gate '{word}=COMMAND', e.g. --gate '{word}=pytest -q'",
        )


def detected(repo: Repo) -> tuple[GateDef, ...]:
    """What detection alone finds, for `init`."""
    return select(_start(repo), repo.root, (), Config(), repo.environ)


def _provision(repo: Repo, config: Config) -> Provision:
    """As configured; without `setup`, an ignored node_modules is linked, as a .venv is used in place."""
    said = config.workspace
    link = list(said.link)
    for folder in dict.fromkeys((Path(), Path(prefix_of(repo)))):
        name = (folder / "node_modules").as_posix()
        there = (repo.root / folder / "package.json").is_file() and (repo.root / name).is_dir()
        if there and not said.setup and name not in (*said.copy, *link) and _ignored(repo, name):
            link.append(name)
    return Provision(said.setup, said.copy, tuple(link))


def _ignored(repo: Repo, name: str) -> bool:
    return bool(repo.git.text("check-ignore", "--", name, check=False))


def _ladder(
    repo: Repo, options: Options, config: Config, gates: Sequence[GateDef]
) -> tuple[tuple[AgentSpec, ...], tuple[Rung, ...]]:
    commands = tuple(g.command for g in gates if not g.hidden)
    specs = [(parse(text, repo.cwd), 2) for text in options.agents]
    home = Path(config.source).parent  # what a file names is relative to it
    named = "" if specs or not config.agents else f"{config.source}: [[agents]]: "
    if not specs:
        specs = [
            (
                replace(parse(a.use, home), permissions=a.permissions, env=a.env, auth=a.auth),
                a.after,
            )
            for a in config.agents
        ]
    if not specs:
        specs = [(parse(default_agent(repo.environ.get("PATH", ""))), 2)]
    agents = []
    for spec, _after in specs:
        full = options.full_access or spec.permissions == "full"
        agent = replace(spec, permissions="full" if full else "edit", gate_commands=commands)
        try:
            load(agent).locate()
        except UsageError as error:
            raise type(error)(f"{named}{error.message}", hint=error.hint) from error
        agents.append(agent)
    rungs = tuple(Rung(a.label, after) for a, (_s, after) in zip(agents, specs, strict=True))
    return tuple(agents), rungs


def _limits(repo: Repo, options: Options, config: Config) -> Limits:
    limits = replace(config.limits, **options.limits)  # type: ignore[arg-type]  # checked by units
    return lowered(limits, ceilings(repo.environ))


def _frozen(repo: Repo) -> dict[str, str]:
    """The environment of the gates as it is now; secrets stay out of the contract."""
    return {k: v for k, v in repo.environ.items() if not denied(k) and not is_secret(k)}
