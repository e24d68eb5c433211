"""`donewhen run`: an agent in a loop until the gates prove the goal."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TextIO

import click

from donewhen.config import bounded
from donewhen.errors import UsageError
from donewhen.ui.cli.common import at_work, gate_option, json_option, print_json

CAP = 4 << 20  # bytes of a goal file


@click.command("run", short_help="Run an agent in a loop until the gates prove the goal.")
@click.argument("goal", required=False)
@click.option("-f", "file", metavar="FILE", help="Read the goal from a file ('-' for stdin).")
@gate_option
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME[:MODEL]",
    help="claude, command:CMD or scripted:FILE; several make a ladder, cheap to strong.",
)
@click.option("--max-iter", metavar="N", help="Iterations at most (default 10).")
@click.option("--budget-usd", metavar="X", help="Money at most (default: none).")
@click.option("--budget-tokens", metavar="N", help="Tokens at most (default: none).")
@click.option("--timeout", metavar="DUR", help="The whole run at most, e.g. 90m (default 4h).")
@click.option(
    "--baseline",
    type=click.Choice(["auto", "clean", "no-new"]),
    help="What was red before: auto (default), clean (must be fixed), no-new (excused).",
)
@click.option(
    "--accept-no-regression",
    is_flag=True,
    help="Exit 0 also when nothing measured shows the goal, but nothing broke.",
)
@click.option("--in-place", is_flag=True, help="Work in this checkout, not in a worktree.")
@click.option("--full-access", is_flag=True, help="Let the agent run any command.")
@click.option("--no-wait", is_flag=True, help="End at a usage limit instead of waiting for it.")
@click.option("--yes", is_flag=True, help="Start at once, without the three seconds to cancel.")
@json_option
def command(
    goal: str | None,
    file: str | None,
    gates: tuple[str, ...],
    agents: tuple[str, ...],
    max_iter: str | None,
    budget_usd: str | None,
    budget_tokens: str | None,
    timeout: str | None,
    baseline: str | None,
    accept_no_regression: bool,
    in_place: bool,
    full_access: bool,
    no_wait: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run an agent in a loop until the gates prove that GOAL is reached.

    The agent works in a worktree of its own; your checkout is not touched until you type
    `donewhen inbox accept`. Exit codes: 0 proven, 1 stuck or out of limits, 2 usage,
    3 agent or gate unusable, 4 needs you.
    """
    from donewhen.config.units import limit_flags
    from donewhen.drivers.headless import start_run
    from donewhen.drivers.prepare import Options, prepare
    from donewhen.drivers.repo import open_repo
    from donewhen.drivers.run import start
    from donewhen.ui.live import countdown, say, watcher
    from donewhen.ui.view import plan_lines, result_lines, run_object

    at_work()
    limits = limit_flags(
        max_iter=max_iter, budget_usd=budget_usd, budget_tokens=budget_tokens, timeout=timeout
    )
    repo = open_repo()
    plan = prepare(
        repo,
        Options(
            goal=_goal(goal, file),
            gates=gates,
            agents=agents,
            limits=limits,
            baseline=baseline,
            accept_no_regression=accept_no_regression,
            full_access=full_access,
            no_wait=no_wait,
            in_place=in_place,
        ),
    )
    for line in plan_lines(plan):
        say(line)
    if not yes and _isatty(sys.stdin) and _isatty(sys.stderr):
        countdown(3)
    run = start(repo, plan)
    with watcher(run.id) as watch:
        state = start_run(run, watch)
    ended = run_object(run, state)
    if as_json:
        print_json(ended)
    else:
        for line in result_lines(run, state):
            click.echo(line)
    return int(ended["exit"])


def _isatty(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _goal(goal: str | None, file: str | None) -> str:
    if goal is not None and file is not None:
        raise click.UsageError("give the goal as words or with -f, not both")
    if file is not None:
        return _read(file)
    if goal is None:
        raise click.UsageError('no goal. Type: donewhen run "make the tests pass", or -f FILE')
    return _words(goal)


def _words(goal: str) -> str:
    """The goal as UTF-8 whatever the locale is; bytes that are none stay as surrogates."""
    try:
        goal.encode()
    except UnicodeEncodeError:
        return os.fsencode(goal).decode("utf-8", "surrogateescape")
    return goal


def _read(file: str) -> str:
    try:
        data = _stdin() if file == "-" else bounded.read(file, CAP, pipes=True)
        return data.decode("utf-8")
    except bounded.Unreadable as error:
        raise UsageError(
            f"the goal file {file!r} cannot be read: {error}",
            hint='Type: donewhen run -f goal.md, or donewhen run "make the tests pass"',
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(
            f"the goal file {file!r} is not UTF-8 (byte {error.start})",
            hint=f"Save it as UTF-8, e.g.: iconv -f latin1 -t utf-8 {shlex.quote(file)}",
        ) from error


def _stdin() -> bytes:
    if sys.stdin is None:
        raise bounded.Unreadable("Standard input is closed")
    data = sys.stdin.buffer.read(CAP + 1)
    if len(data) > CAP:
        raise bounded.Unreadable(f"Is over {CAP >> 20} MiB")
    return data
