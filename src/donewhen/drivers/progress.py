"""What a run tells whoever watches: values, so that a terminal, a log or a test may draw them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """`kind`: phase, agent, gate, verdict, note or end; `text` one line; `iteration` from 0."""

    kind: str
    text: str
    iteration: int = 0


def silent(_progress: Progress) -> None:
    """Watches nothing."""
