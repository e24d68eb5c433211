"""`donewhen resume`: go on with a run from its journal."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import at_work, json_option, print_json


@click.command("resume", short_help="Go on with a run that was interrupted or has a new limit.")
@click.argument("id")
@click.option("--max-iter", metavar="N", help="A new cap on iterations.")
@click.option("--budget-usd", metavar="X", help="A new cap on money.")
@click.option("--budget-tokens", metavar="N", help="A new cap on tokens.")
@click.option("--timeout", metavar="DUR", help="A new cap on the whole run.")
@json_option
def command(
    id: str,
    max_iter: str | None,
    budget_usd: str | None,
    budget_tokens: str | None,
    timeout: str | None,
    as_json: bool,
) -> int:
    """Go on with run ID from its journal; a run at its final end prints its result again."""
    from donewhen.config.units import limit_flags
    from donewhen.drivers.repo import open_repo
    from donewhen.drivers.resuming import resume
    from donewhen.ui.live import watcher
    from donewhen.ui.view import result_lines, run_object

    at_work()
    limits = limit_flags(
        max_iter=max_iter, budget_usd=budget_usd, budget_tokens=budget_tokens, timeout=timeout
    )
    repo = open_repo()
    run_id = repo.runs.find(id)
    with watcher(run_id) as watch:
        run, state = resume(repo, run_id, limits, watch)
    ended = run_object(run, state)
    if as_json:
        print_json(ended)
    else:
        for line in result_lines(run, state):
            click.echo(line)
    return int(ended["exit"])
