"""`donewhen init`: detection, written down where it can be read and changed."""

from __future__ import annotations

from pathlib import Path

import click

from donewhen.errors import Refused


@click.command("init", short_help="Write donewhen.toml with the gates that were detected.")
@click.option("--force", is_flag=True, help="Overwrite a donewhen.toml that is there.")
def command(force: bool) -> int:
    """Write donewhen.toml with the gates that were detected, and why each."""
    from donewhen.drivers.prepare import detected, prefix_of
    from donewhen.drivers.repo import open_repo
    from donewhen.ui.view import init_text

    repo = open_repo()
    place = Path(repo.root) / prefix_of(repo)
    target = place / "donewhen.toml"
    if target.exists() and not force:
        raise Refused(f"{target} is already there", hint="Type: donewhen init --force")
    found = detected(repo)
    target.write_text(init_text(found), encoding="utf-8")
    click.echo(f"wrote {target}")
    for gate in found:
        click.echo(f"  {gate.name}: {gate.command}  ({gate.why})")
    if not found:
        click.echo("  No gate was found. Name one in it, or type: donewhen judge --gate CMD")
    return 0
