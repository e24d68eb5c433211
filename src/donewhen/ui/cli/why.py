"""`donewhen why`: the reason of a run in words, with what is red and what was tried."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import json_option, print_json


@click.command("why", short_help="Why did this run stop?")
@click.argument("id", required=False)
@json_option
def command(id: str | None, as_json: bool) -> int:
    """Why run ID stopped (the newest if none is named): reason, what is red, what was tried."""
    from donewhen.drivers.reading import newest, overview
    from donewhen.drivers.repo import open_repo
    from donewhen.ui import view

    repo = open_repo()
    seen = overview(repo, repo.runs.find(id) if id else newest(repo))
    if as_json:
        print_json(view.why_object(seen))
    else:
        for line in view.why_lines(seen):
            click.echo(line)
    return 0
