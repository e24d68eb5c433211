"""ACT: start the agent of the rung in the worktree and say, in the one taxonomy, how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from donewhen.agents import load
from donewhen.agents.base import Agent, AgentEvent, Finished, Launch, Outcome, Turn
from donewhen.core.commands import RunAgent
from donewhen.drivers.run import Run, environment, tools
from donewhen.gates.env import tool_path
from donewhen.system import fs, proc

LOST_TRIES = 3
# What binds git to another repository (`git rev-parse --local-env-vars`); identity and ssh stay.
BINDS = re.compile(
    r"GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|PREFIX"
    r"|NAMESPACE|GRAFT_FILE|SHALLOW_FILE|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_(KEY|VALUE)_\d+"
    r"|IMPLICIT_WORK_TREE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|INTERNAL_SUPER_PREFIX)$"
)
SAID_CAP = 400_000  # characters of commands and paths kept for "who changed this ref?"


@dataclass(frozen=True)
class Acted:
    """How the invocation ended and what its events named (commands, paths), bounded."""

    outcome: Outcome
    said: str
    tool_events: bool
    cancelled: bool


def act(
    run: Run,
    command: RunAgent,
    turn: int,
    tree: str,
    extra_env: Mapping[str, str],
    on_event: Callable[[AgentEvent], None],
    cancelled: Callable[[], bool],
) -> Acted:
    """One invocation. Idempotent by its attempt folder: a finished or living one is adopted.

    `tree` is where the iteration began: a lost invocation goes back there and runs again.
    """
    agent = load(run.plan.agents[command.rung])
    attempt = run.evidence.folder(command.iteration) / f"attempt-{command.attempt}"
    if proc.was_cancelled(attempt):  # ended by a signal to us, and now it is to go on
        put_aside(attempt)
    scratch = run.evidence.folder(command.iteration) / "scratch"
    fs.make_private_dir(scratch)
    place = Turn(
        cwd=run.workspace.path / run.plan.prefix,
        prompt=run.evidence.folder(command.iteration) / "prompt.md",
        turn=turn,
        scratch=scratch,
        run=run.id,
    )
    launch = agent.launch(place)
    request = proc.Request(
        argv=launch.argv,
        cwd=place.cwd,
        env=_env(run, launch, extra_env),
        stdin=launch.stdin,
        timeout=run.plan.limits.iteration_s,
        silence=run.plan.limits.silence_s,
        marker=f"{run.id}-{command.iteration}-{command.attempt}",
    )
    for _try in range(LOST_TRIES):
        acted = _watched(agent, place, request, attempt, on_event, cancelled)
        if acted is not None:
            return acted
        put_aside(attempt)
        run.workspace.restore(tree)
    detail = f"its supervising process died {LOST_TRIES} times"
    return Acted(Outcome("crashed", detail=detail), "", agent.tool_events, False)


def put_aside(attempt: Path) -> None:
    """Keep a broken attempt under another name, so that its place is free."""
    number = 1
    while (aside := attempt.with_name(f"{attempt.name}.aside-{number}")).exists():
        number += 1
    attempt.rename(aside)


def _watched(
    agent: Agent,
    place: Turn,
    request: proc.Request,
    attempt: Path,
    on_event: Callable[[AgentEvent], None],
    cancelled: Callable[[], bool],
) -> Acted | None:
    """None if the invocation was lost: its shim died, and nobody knows what was done."""
    parser = agent.parser(place)
    said: list[str] = []
    room = SAID_CAP

    def heard(chunk: bytes) -> None:
        nonlocal room
        for event in parser.feed(chunk):
            on_event(event)
            if event.kind == "tool" and room > 0:
                said.append("\n".join((event.text, *event.paths))[:room])
                room -= len(said[-1])

    ended = proc.run_once(request, attempt, on_stdout=heard, cancelled=cancelled)
    if ended.lost:
        return None
    outcome = parser.finish(
        Finished(ended.code, ended.timed_out, ended.silent, ended.spawn_error),
        ended.stderr.tail(20_000).decode("utf-8", "replace"),
    )
    return Acted(outcome, "\n".join(said), agent.tool_events, ended.cancelled)


def _env(run: Run, launch: Launch, extra: Mapping[str, str]) -> dict[str, str]:
    """The agent's environment: the user's, with our tools' path, the tree's code, no push."""
    env = {k: v for k, v in environment(run).items() if not BINDS.match(k)}
    env["PATH"] = tool_path(tools(run), env)
    env.update(extra)
    env.update(run.no_push)
    env["DONEWHEN_RUN"] = run.id
    env.update(launch.env)
    for name in launch.unset:
        env.pop(name, None)
    return env
