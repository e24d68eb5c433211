"""`donewhen log`: the journal of a run."""

from __future__ import annotations

import json

import click

from donewhen.ui.cli.common import json_option


@click.command("log", short_help="The journal of a run, line by line.")
@click.argument("id", required=False)
@json_option
@click.option("--follow", is_flag=True, help="Go on printing until the run ends.")
def command(id: str | None, as_json: bool, follow: bool) -> int:
    """The journal of run ID (the newest if none is named), one record a line."""
    from donewhen.drivers.reading import newest, records
    from donewhen.drivers.repo import open_repo
    from donewhen.ui import view

    repo = open_repo()
    run_id = repo.runs.find(id) if id else newest(repo)
    for record in records(repo, run_id, follow=follow):
        click.echo(json.dumps(record) if as_json else view.record_line(record))
    return 0
