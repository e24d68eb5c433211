"""`donewhen doctor`: what donewhen needs, what it found, and the command that mends each fault."""

from __future__ import annotations

import click

from donewhen.ui.cli.common import json_option, print_json


@click.command("doctor", short_help="Check git, interpreter, agents, state and locks.")
@json_option
def command(as_json: bool) -> int:
    """Check what donewhen needs here; exit 1 if something must be mended."""
    from dataclasses import asdict

    from donewhen.drivers.checkup import checks

    found = checks()
    bad = [c for c in found if c.state == "bad"]
    if as_json:
        print_json({"version": 1, "ok": not bad, "checks": [asdict(c) for c in found]})
        return int(bool(bad))
    for check in found:
        mark = {"ok": "✓", "note": "-", "bad": "✗"}[check.state]
        click.echo(f"{mark} {check.name:<12} {check.text}")
        if check.mend:
            click.echo(f"  {'':<12} {check.mend}")
    return int(bool(bad))
