"""ACT: start the agent of the rung in the worktree and say, in the one taxonomy, how it ended."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.agents import load
from donewhen.agents.base import Agent, AgentEvent, Finished, Launch, Outcome, Turn
from donewhen.config.units import handed_on
from donewhen.core import budget
from donewhen.core.commands import RunAgent
from donewhen.core.conditions import limits_of, seconds_left
from donewhen.core.contract import Limits
from donewhen.core.events import Usage
from donewhen.core.state import LoopState
from donewhen.drivers.run import Run, environment, tools
from donewhen.gates.env import tool_path
from donewhen.system import clock, fs, proc

LOST_TRIES = 3
# What binds git to another repository (`git rev-parse --local-env-vars`); identity and ssh stay.
BINDS = re.compile(
    r"GIT_(DIR|WORK_TREE|COMMON_DIR|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|PREFIX"
    r"|NAMESPACE|GRAFT_FILE|SHALLOW_FILE|CONFIG|CONFIG_PARAMETERS|CONFIG_COUNT|CONFIG_(KEY|VALUE)_\d+"
    r"|IMPLICIT_WORK_TREE|NO_REPLACE_OBJECTS|REPLACE_REF_BASE|INTERNAL_SUPER_PREFIX)$"
)
OVER = "over-budget"  # a file of the attempt: it was ended for that, and is not to start again
ENDED_BY_US = ("timeout", "crashed", "hang", "protocol")
EVENT = "\x1e"  # stands between what two events said
SAID_CAP = 400_000  # characters of commands and paths kept for "who changed this ref?"


@dataclass(frozen=True)
class Acted:
    """How the invocation ended and what its events named (commands, paths), bounded."""

    outcome: Outcome
    said: str
    tool_events: bool


def act(
    run: Run,
    command: RunAgent,
    state: LoopState,
    extra_env: Mapping[str, str],
    on_event: Callable[[AgentEvent], None],
    cancelled: Callable[[], bool],
) -> Acted:
    """One invocation. Idempotent by its attempt folder: a finished or living one is adopted.

    A lost invocation goes back to the tree that the iteration began with and runs again. One that
    is over the budget while it works is ended; what it did till then counts as its turn.
    """
    agent = load(run.plan.agents[command.rung])
    attempt = run.evidence.folder(command.iteration) / f"attempt-{command.attempt}"
    if (
        proc.was_cancelled(attempt) and not (attempt / OVER).exists()
    ):  # ended by a signal to us, and now it is to go on
        put_aside(attempt)
    scratch = run.evidence.folder(command.iteration) / "scratch"
    fs.make_private_dir(scratch)
    limits = limits_of(run.contract, state)
    left = min(limits.iteration_s, max(1.0, seconds_left(run.contract, state, clock.now())))
    place = Turn(
        cwd=run.workspace.path / run.plan.prefix,
        prompt=run.evidence.folder(command.iteration) / "prompt.md",
        turn=state.invocations,
        scratch=scratch,
        run=run.id,
        usd_left=max(0.0, limits.usd - state.spent.usd),
    )
    launch = agent.launch(place)
    request = proc.Request(
        argv=launch.argv,
        cwd=place.cwd,
        env=_env(
            run, launch, {**extra_env, **handed_on(limits, state.spent, state.completed, left)}
        ),
        stdin=launch.stdin,
        timeout=left,
        silence=limits.silence_s,
        marker=f"{run.id}-{command.iteration}-{command.attempt}",
    )
    for _try in range(LOST_TRIES):
        meter = Meter(limits, state.spent, attempt / OVER)
        acted = _watched(agent, place, request, attempt, on_event, cancelled, meter)
        if acted is not None:
            return acted
        put_aside(attempt)
        run.workspace.restore(state.tree)
    detail = f"its supervising process died {LOST_TRIES} times"
    return Acted(Outcome("crashed", detail=detail), "", agent.tool_events)


class Meter:
    """What the invocation says it used, added to what the run has spent; `over` says what ran out."""

    def __init__(self, limits: Limits, spent: Usage, mark: Path) -> None:
        self.limits = limits
        self.spent = spent
        self.mark = mark
        self.over = ""

    def take(self, used: Usage) -> None:
        total = budget.together(self.spent, used)
        what = budget.used_up(self.limits, total)
        if not what or self.over:
            return
        fs.write_atomic(self.mark, f"{what}\n".encode())
        figures = (
            f"${total.usd:.2f} of ${self.limits.usd:.2f}"
            if what == "usd"
            else f"{total.tokens} of {self.limits.tokens} tokens"
        )
        self.over = f"ended while it worked: the run has used {figures}"


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
    meter: Meter,
) -> Acted | None:
    """None if the invocation was lost: its shim died, and nobody knows what was done."""
    parser = agent.parser(place)
    said: list[str] = []
    room = SAID_CAP

    def heard(chunk: bytes) -> None:
        nonlocal room
        for event in parser.feed(chunk):
            if event.usage is not None:
                meter.take(event.usage)
                continue
            on_event(event)
            if event.kind == "tool" and room > 0:
                said.append("\n".join((event.text, *event.paths))[:room])
                room -= len(said[-1])

    ended = proc.run_once(
        request, attempt, on_stdout=heard, cancelled=lambda: bool(meter.over) or cancelled()
    )
    if ended.lost:
        return None
    cut = bool(meter.over) and ended.cancelled
    outcome = parser.finish(
        Finished(ended.code, ended.timed_out or cut, ended.silent, ended.spawn_error),
        ended.stderr.tail(20_000).decode("utf-8", "replace"),
    )
    if cut and outcome.end in ENDED_BY_US:
        outcome = replace(outcome, end="worked", detail=meter.over)
    return Acted(_told(outcome, agent), EVENT.join(said), agent.tool_events)


def _told(outcome: Outcome, agent: Agent) -> Outcome:
    """With what a person needs who reads it: until when, or how to log in."""
    also = ""
    if outcome.end == "limited" and outcome.until:
        also = f"until {clock.stamp(outcome.until)}"
    elif outcome.end == "auth":
        also = getattr(agent, "login", "")
    detail = ". ".join(part.rstrip(".") for part in (outcome.detail, also) if part)
    return replace(outcome, detail=detail)


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
