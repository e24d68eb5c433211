"""The command line: a table of commands, one file each, imported on use.

Delete a file and its table line, and the command is gone.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

import click

from donewhen import __version__
from donewhen.errors import DonewhenError
from donewhen.ui import streams

# name -> (module, one line of help); the first six are shown by `donewhen --help`, the rest below.
COMMANDS: dict[str, tuple[str, str]] = {
    "judge": ("judge", "Run the gates on this checkout once and say pass, fail or error."),
    "run": ("run", "Run an agent in a loop until the gates prove the goal."),
    "status": ("status", "What runs are there, and how do they stand?"),
    "inbox": ("inbox", "Results and questions that wait for you: accept, reject."),
    "init": ("init", "Write donewhen.toml with the gates that were detected, and why."),
    "doctor": ("doctor", "Check git, interpreter, agents, state and locks."),
    "why": ("why", "Why did this run stop?"),
    "log": ("log", "The journal of a run, line by line."),
    "cancel": ("cancel", "End a run for good."),
    "resume": ("resume", "Go on with a run that was interrupted or has a new limit."),
}
FIRST = 6
VERDICTS = (["judge"], ["run"], ["resume"])  # their exit code is the result, printed or not


class Commands(click.Group):
    """Resolves commands through the table; an unknown one lists the nearest."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = import_module(f"donewhen.ui.cli.{COMMANDS[name][0]}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS:
            raise click.UsageError(_unknown(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, text) for name, (_, text) in COMMANDS.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows[:FIRST])
        with formatter.section("More"):
            formatter.write_dl(rows[FIRST:])


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    from donewhen.ui.cli.hints import meant as within

    near = [within(name)] if within(name) else get_close_matches(name, COMMANDS, n=1)
    if " " in name:
        return f'There is no command {name!r}. To give a goal, type: donewhen run "{name}"'
    meant = f" Did you mean `donewhen {near[0]}`?" if near else ""
    return f"There is no command {name!r}.{meant} Known: {', '.join(COMMANDS)}."


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="donewhen", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Runs coding agents until the work is done, and decides "done" by gates it runs itself."""
    if ctx.invoked_subcommand is None:
        raise click.UsageError(
            'Nothing to do. Try `donewhen judge`, or `donewhen run "make the tests pass"`.', ctx
        )


def main(argv: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code."""
    words = sys.argv[1:] if argv is None else argv
    out = streams.wrap()
    code = _guarded(words)
    if out is not None and out.fault:
        _complain(f"standard output could not be written: {out.fault}", code)
        code = code or int(words[:1] not in VERDICTS)
    sys.exit(code)


def _guarded(words: list[str]) -> int:
    try:
        code = cli.main(args=words, prog_name="donewhen", standalone_mode=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except DonewhenError as error:
        return _complain(str(error), error.exit_code)
    except click.UsageError as error:
        from donewhen.ui.cli.hints import hint

        return _complain(f"{error.format_message()}\n  {hint(error, words)}", 2)
    except click.ClickException as error:
        return _complain(error.format_message(), 2)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except BrokenPipeError:
        streams.drop(sys.stdout)
        return 141
    except Exception as error:  # noqa: BLE001  # the last border: say it, keep the trace, exit 3
        return _internal(error)
    return int(code or 0)


def _complain(text: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"donewhen: {text}", file=sys.stderr)
    return code


def _internal(error: Exception) -> int:
    import tempfile
    import traceback

    trace = "".join(traceback.format_exception(error))
    last = trace.strip().splitlines()[-1]
    try:
        with tempfile.NamedTemporaryFile(
            "wb", prefix="donewhen-crash-", suffix=".log", delete=False
        ) as log:
            log.write(trace.encode("utf-8", "backslashreplace"))
        where = f"The trace is in {log.name}"
    except OSError as full:
        where = f"The trace could not be kept ({full.strerror}):\n{trace}"
    return _complain(f"internal error: {last}\n  Nothing of yours was touched. {where}", 3)
