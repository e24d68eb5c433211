"""`donewhen inbox allow`: a person's word on what integrity found."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import json_option, only_a_person, print_json


@click.command("allow", short_help="Allow what integrity found in a run.")
@click.argument("id", required=False)
@click.argument("findings", nargs=-1, type=int, metavar="[N]...")
@click.option(
    "--for",
    "scope",
    type=click.Choice(("once", "path", "rule")),
    default="once",
    help="These findings in this run (once), their rule in their file, or their rule.",
)
@click.option("--until", default="", metavar="DAY", help="Last day of --for path or rule.")
@click.option("--list", "listed", is_flag=True, help="What is allowed in this repository.")
@click.option("--revoke", type=int, metavar="K", help="Take back number K of that list.")
@json_option
def command(
    id: str | None,
    findings: tuple[int, ...],
    scope: str,
    until: str,
    listed: bool,
    revoke: int | None,
    as_json: bool,
) -> int:
    """Allow findings N (all without a number) of run or item ID; `inbox show ID` numbers them.

    `donewhen resume ID` then judges again. A waiver beyond one run lasts 30 days, or to --until.
    """
    from dataclasses import asdict

    from donewhen.drivers.repo import open_repo
    from donewhen.drivers.waiving import allow
    from donewhen.errors import UsageError
    from donewhen.store.waivers import Waivers

    repo = open_repo()
    if revoke is not None:
        only_a_person(f"inbox allow --revoke {revoke}")
        try:
            gone = Waivers(repo.layout).revoke(revoke)
        except IndexError:
            raise UsageError(
                f"nothing is allowed under number {revoke}",
                hint="Type: donewhen inbox allow --list",
            ) from None
        click.echo(f"no longer allowed: {gone.text}")
        return 0
    if listed:
        known = Waivers(repo.layout).read()
        if as_json:
            print_json({"version": 1, "waivers": [asdict(w) for w in known]})
            return 0
        for number, waiver in enumerate(known, 1):
            click.echo(f"{number}  {waiver.text}  (said {waiver.at})")
        if not known:
            click.echo("Nothing is allowed.")
        return 0
    if id is None:
        raise UsageError("whose findings?", hint="Type: donewhen inbox allow ID")
    only_a_person(f"inbox allow {id}")
    done = allow(repo, repo.inbox.get(id)["run"], findings, scope, until)
    if as_json:
        print_json(
            {"run": done.run, "left": done.left, "waivers": [asdict(w) for w in done.waivers]}
        )
        return 0
    for waiver in done.waivers:
        click.echo(f"allowed: {waiver.text}")
    if done.left:
        click.echo(f"{done.left} more: donewhen inbox show {done.run}")
    click.echo(f"To go on, type: donewhen resume {done.run}")
    return 0
