"""The user's own choice of a report gives way to ours. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence


def without(words: Sequence[str], valued: Collection[str]) -> Iterator[str]:
    """The words without these options, each with its value (`-f json`, `-f=json`)."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in valued:
            skip = True
        elif word.partition("=")[0] not in valued:
            yield word
