"""`donewhen inbox`: what waits for a person, and their word on it."""

from __future__ import annotations

import click

from donewhen.ui.cli import allow
from donewhen.ui.cli.common import at_work, json_option, only_a_person, print_json


@click.group(
    "inbox",
    commands=[allow.command],
    invoke_without_command=True,
    short_help="Results and questions for you.",
)
@json_option
@click.option("--all", "everything", is_flag=True, help="Closed items too.")
@click.pass_context
def command(ctx: click.Context, as_json: bool, everything: bool) -> int | None:
    """Results and questions that wait for you."""
    if ctx.invoked_subcommand is not None:
        return None
    return _list(as_json, everything)


@command.command("list")
@json_option
@click.option("--all", "everything", is_flag=True, help="Closed items too.")
def list_(as_json: bool, everything: bool) -> int:
    """What waits for you, oldest first."""
    return _list(as_json, everything)


def _list(as_json: bool, everything: bool) -> int:
    from donewhen.drivers.repo import open_repo
    from donewhen.ui import view

    items = open_repo().inbox.items(open_only=not everything)
    if as_json:
        print_json({"version": 1, "items": items})
    else:
        for item in items:
            click.echo(view.item_line(item))
        if not items:
            click.echo("Nothing waits for you.")
    return 0


@command.command()
@click.argument("id")
@json_option
def show(id: str, as_json: bool) -> int:
    """An item (by its id or its run's, a unique prefix will do) with verdict and diffstat."""
    import json
    from pathlib import Path

    from donewhen.core.waiver import WAIVABLE
    from donewhen.drivers.reading import overview
    from donewhen.drivers.repo import open_repo
    from donewhen.ui import view

    repo = open_repo()
    item = repo.inbox.get(id)
    seen = overview(repo, item["run"])
    try:
        kept = Path("" if seen.altered else item["evidence"].get("verdict", ""))
        verdict = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        verdict = None
    if item["reason"] in WAIVABLE:  # what the last verdict found, whichever was the best
        verdict = seen.verdict or verdict
    if as_json:
        print_json({**item, "verdict": verdict})
    else:
        for line in view.item_lines(item, verdict):
            click.echo(line)
        if seen.altered:
            click.echo(f"{seen.altered} was changed since it was recorded, and is not shown")
    return 0


@command.command()
@click.argument("id")
@click.option("--ff", "how", flag_value="ff", help="Only if a fast-forward is possible.")
@click.option("--squash", "how", flag_value="squash", help="As one commit of yours.")
@click.option("--apply", "how", flag_value="apply", help="Into the working tree, uncommitted.")
@json_option
def accept(id: str, how: str | None, as_json: bool) -> int:
    """Bring a run's result into this checkout.

    A checkout that was clean at the start gets commits (fast-forward, else a merge); a dirty one
    gets the difference in its working tree, uncommitted. On any conflict nothing changes.
    """
    only_a_person(f"inbox accept {id}")
    at_work()
    from donewhen.drivers.accept import accept as bring
    from donewhen.drivers.repo import open_repo

    repo = open_repo()
    done = bring(repo, repo.inbox.get(id)["run"], how or "")
    if as_json:
        print_json({"run": done.run, "how": done.how, "commit": done.commit, "red": list(done.red)})
        return 0
    click.echo(f"accepted {done.run}: {done.how}")
    if done.red:
        click.echo(f"  red when accepted: {', '.join(done.red)}")
    if done.how == "applied":
        click.echo("  The changes are in your working tree, uncommitted: git diff")
    return 0


@command.command()
@click.argument("id")
@json_option
def reject(id: str, as_json: bool) -> int:
    """Put a run's result away; its states stay under refs/donewhen/<run>/."""
    only_a_person(f"inbox reject {id}")
    from donewhen.drivers.accept import reject as away
    from donewhen.drivers.repo import open_repo

    repo = open_repo()
    run = repo.inbox.get(id)["run"]
    away(repo, run)
    if as_json:
        print_json({"run": run, "how": "rejected"})
    else:
        click.echo(f"rejected {run}; its states stay under refs/donewhen/{run}/")
    return 0
