"""What to type instead, where click only says what is wrong."""

from __future__ import annotations

import shlex

import click

OF_INBOX = frozenset({"accept", "reject", "show", "answer", "later"})
LISTS = {"inbox": "donewhen inbox", "resume": "donewhen status"}  # what shows the ids


def hint(error: click.UsageError, words: list[str]) -> str:
    """The line under the message; at least the help of the command at fault."""
    where = error.ctx.command_path if error.ctx else "donewhen"
    command = words[0] if words else ""
    if dashed := _goal_with_a_dash(error, words):
        return f"A goal that begins with a dash stands last, after --: donewhen run -- {dashed}"
    extra = _extra(error)
    if extra and command == "run" and error.ctx is not None:
        goal = " ".join([str(error.ctx.params.get("goal") or ""), *extra])
        return f"A goal stands in quotes. Type: donewhen run {shlex.quote(goal)}"
    if extra and command == "judge":
        return f"Type: donewhen judge --gate {shlex.quote(' '.join(extra))}"
    if isinstance(error, click.MissingParameter) and command in LISTS:
        return f"Type `{LISTS[command]}`, which lists them, or `{where} --help`."
    return f"Type `{where} --help`."


def meant(name: str) -> str:
    """The command that somebody means who leaves out its group, "" for none."""
    return f"inbox {name}" if name in OF_INBOX else ""


def _extra(error: click.UsageError) -> list[str]:
    """The words that were one too many: click keeps them in its message alone."""
    said = error.format_message()
    if not said.startswith("Got unexpected extra argument"):
        return []
    return said.partition("(")[2].rpartition(")")[0].split(" ")


def _goal_with_a_dash(error: click.UsageError, words: list[str]) -> str:
    if words[:1] != ["run"] or not isinstance(error, click.NoSuchOption):
        return ""
    odd = next((w for w in words if w.startswith("-") and " " in w and "=" not in w), "")
    return shlex.quote(odd) if odd else ""
