"""Small pieces of text: cut to a width, counted, a length of time. Pure."""

from __future__ import annotations


def short(text: str, width: int = 72) -> str:
    """The first line, cut to `width` characters."""
    line = " ".join(text.removeprefix("\ufeff").split())
    return line if len(line) <= width else line[: width - 1] + "…"


def many(count: int, what: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{count} {what}{'s' * (count != 1)}"


def duration(seconds: float) -> str:
    """90 -> "1m30s"; what config.units reads back."""
    whole = round(seconds)
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (left, "s"))
    return "".join(f"{n}{unit}" for n, unit in parts if n) or "0s"
