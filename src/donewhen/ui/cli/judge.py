"""`donewhen judge`: the gates once, on this checkout, without an agent."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import click

from donewhen.errors import UsageError
from donewhen.ui.cli.common import agent_mark, at_work, gate_option, json_option, print_json

report = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command("judge", short_help="Run the gates on this checkout once.")
@gate_option
@click.option(
    "--quick", is_flag=True, help="Only the files named: linters, fast type checks, no tests."
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--since", metavar="REF", help="Compare with REF (default: upstream, else HEAD).")
@click.option("--explain", is_flag=True, help="What ran, what was read, what counted, and why.")
@click.option("--no-cache", is_flag=True, help="Run every gate, also where nothing changed.")
@click.option("--sarif", type=report, metavar="F", help="Write the findings to F as SARIF 2.1.0.")
@click.option("--junit", type=report, metavar="F", help="Write the results to F as JUnit XML.")
@click.option("--github", is_flag=True, help="Print annotations for a GitHub workflow.")
@json_option
def command(
    gates: tuple[str, ...],
    quick: bool,
    paths: tuple[str, ...],
    since: str | None,
    explain: bool,
    no_cache: bool,
    sarif: Path | None,
    junit: Path | None,
    github: bool,
    as_json: bool,
) -> int:
    """Run the gates on this checkout and say pass (0), fail (1) or error (3).

    Example: donewhen judge --gate "pytest -q" --explain
    """
    from donewhen import __version__
    from donewhen.drivers.oneshot import judge_here
    from donewhen.drivers.quick import quick as look
    from donewhen.ui import reports
    from donewhen.ui.explain import explained
    from donewhen.ui.live import gate_watch
    from donewhen.ui.verdicts import verdict_lines, verdict_summary

    _one_of(json=as_json, github=github, explain=explain)
    _fits(quick, paths, since)
    for path in (sarif, junit):
        _there(path)
    at_work()
    quiet = as_json or github
    watch = None if quiet else gate_watch
    if quick:
        verdict = look(paths, gates, watch).to_dict()
    else:
        verdict = judge_here(
            gates, since, watch, cached=not no_cache, veil=bool(agent_mark())
        ).to_dict()
    if sarif:
        _write(sarif, reports.sarif(verdict, __version__))
    if junit:
        _write(junit, reports.junit(verdict))
    if as_json:
        print_json(verdict)
    elif github:
        for line in reports.github(verdict):
            click.echo(line)
    else:
        for line in explained(verdict) if explain else verdict_lines(verdict):
            click.echo(line)
        click.echo(verdict_summary(verdict))
    return int(verdict["exit"])


def _one_of(**flags: bool) -> None:
    """Standard output has room for one of them."""
    given = [f"--{name}" for name, on in flags.items() if on]
    if len(given) > 1:
        raise UsageError(
            f"{' and '.join(given)} both print the verdict", hint=f"Type: donewhen judge {given[0]}"
        )


def _fits(quick: bool, paths: Sequence[str], since: str | None) -> None:
    """--quick wants files, and only it takes any."""
    if quick and not paths:
        raise UsageError("--quick names no file", hint="Type: donewhen judge --quick src/app.py")
    if quick and since is not None:
        raise UsageError(
            "--quick compares with nothing",
            hint="Type: donewhen judge --since REF, without --quick",
        )
    if paths and not quick:
        raise UsageError(
            f"judge takes no path ({paths[0]}): it judges the whole checkout",
            hint=f"Type: donewhen judge --quick {shlex.join(paths)}"
            if all(Path(p).exists() for p in paths)
            else f"Type: donewhen judge --gate {shlex.quote(' '.join(paths))}",
        )


def _there(path: Path | None) -> None:
    """A report that cannot be written is said before anything runs."""
    if path is not None and not path.parent.is_dir():
        raise UsageError(
            f"{path}: there is no folder {path.parent}", hint=f"mkdir -p {path.parent}"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", hint="Name another file."
        ) from error
