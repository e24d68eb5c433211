"""Drawing progress: a live line on a terminal, plain lines otherwise. Computes nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from donewhen.core.verdict import GateResult
from donewhen.drivers.progress import Progress
from donewhen.system import clock

if TYPE_CHECKING:
    from rich.status import Status

WIDTH = 100


@contextmanager
def watcher(run: str) -> Iterator[Callable[[Progress], None]]:
    """A function that shows progress on standard error while the block runs."""
    if sys.stderr is None or sys.stderr.closed:
        yield lambda _progress: None
    elif sys.stderr.isatty():
        with _terminal(run) as watch:
            yield watch
    else:
        yield _plain


def say(line: str) -> None:
    """A line on standard error. Nobody reading it (`| head`) must not stop a run."""
    with contextlib.suppress(OSError, ValueError):
        click.echo(line, err=True)


def _plain(progress: Progress) -> None:
    if progress.kind == "note":
        say(f"note    {progress.text}")
    elif progress.kind != "agent":
        say(f"[{progress.iteration or 'base'}] {progress.text}")
    else:
        for line in progress.text.splitlines():
            say(f"    | {line}")


@contextmanager
def _terminal(run: str) -> Iterator[Callable[[Progress], None]]:
    """Phases stay on the screen; what the agent says flows through one moving line."""
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    began = clock.monotonic()
    with console.status(f"{run} starting") as status:
        yield lambda progress: _draw(console.print, status, began, progress)


def _draw(out: Callable[..., None], status: Status, began: float, progress: Progress) -> None:
    from rich.markup import escape

    seconds = int(clock.monotonic() - began)
    head = f"{seconds // 60}:{seconds % 60:02} {_where(progress)}"
    line = " ".join(progress.text.split())[:WIDTH]
    if progress.kind != "agent":
        out(f"[dim]{head}[/dim] {escape(progress.text)}")
    status.update(f"{head}  {escape(line)}")


def _where(progress: Progress) -> str:
    return f"iteration {progress.iteration}" if progress.iteration else "baseline"


def countdown(seconds: int) -> None:
    """Time to press Ctrl-C before anything starts."""
    for left in range(seconds, 0, -1):
        click.echo(f"\rstarting in {left} s (Ctrl-C to stop, --yes to skip) ", nl=False, err=True)
        clock.sleep(1)
    click.echo("\r" + " " * 60 + "\r", nl=False, err=True)


def gate_watch(result: GateResult) -> None:
    """One line a gate on a terminal while `judge` works; nothing elsewhere."""
    if sys.stderr is not None and sys.stderr.isatty():
        click.echo(f"  {result.name} {result.state.value} in {result.seconds:.1f} s", err=True)
