"""`donewhen status`: the runs of this repository, or one of them."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import json_option, print_json


@click.command("status", short_help="What runs are there, and how do they stand?")
@click.argument("id", required=False)
@json_option
def command(id: str | None, as_json: bool) -> int:
    """The runs of this repository, newest first, or run ID (a unique prefix will do)."""
    from donewhen.drivers.repo import open_repo
    from donewhen.ui import view

    repo = open_repo()
    if id is None:
        from donewhen.drivers.glancing import glance

        runs = [glance(repo, run_id) for run_id in repo.runs.list()]
        if as_json:
            print_json({"version": 1, "runs": [view.glance_object(g) for g in runs]})
        else:
            for line in view.runs_lines(runs):
                click.echo(line)
        return 0
    from donewhen.drivers.reading import overview

    seen = overview(repo, repo.runs.find(id))
    if as_json:
        print_json(view.status_object(seen))
    else:
        for line in view.status_lines(seen):
            click.echo(line)
    return 0
