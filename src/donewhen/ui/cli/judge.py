"""`donewhen judge`: the gates once, on this checkout, without an agent."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import gate_option, json_option, print_json


@click.command("judge", short_help="Run the gates on this checkout once.")
@gate_option
@click.option("--since", metavar="REF", help="Compare with REF (default: upstream, else HEAD).")
@click.option("--no-cache", is_flag=True, help="Run every gate, also where nothing changed.")
@json_option
def command(gates: tuple[str, ...], since: str | None, no_cache: bool, as_json: bool) -> int:
    """Run the gates on this checkout and say pass (0), fail (1) or error (3)."""
    from donewhen.drivers.oneshot import judge_here
    from donewhen.ui import view
    from donewhen.ui.live import gate_watch

    verdict = judge_here(
        gates, since, None if as_json else gate_watch, cached=not no_cache
    ).to_dict()
    if as_json:
        print_json(verdict)
    else:
        for line in view.verdict_lines(verdict):
            click.echo(line)
        click.echo(view.verdict_summary(verdict))
    return int(verdict["exit"])
