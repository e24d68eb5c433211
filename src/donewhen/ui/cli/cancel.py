"""`donewhen cancel`: final; nothing goes on with a cancelled run."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import json_option, only_a_person, print_json


@click.command("cancel", short_help="End a run for good.")
@click.argument("id", required=False)
@json_option
def command(id: str | None, as_json: bool) -> int:
    """End run ID (the only active one if none is named) for good. Its work stays pinned."""
    from donewhen.drivers.cancelling import cancel
    from donewhen.drivers.repo import open_repo

    only_a_person(f"cancel {id}" if id else "cancel")
    done = cancel(open_repo(), id)
    if as_json:
        print_json({"run": done.run, "was": done.was, "reason": done.reason})
    else:
        click.echo(done.text)
    return 0
