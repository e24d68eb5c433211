"""The prompt's templates: shipped with the package, each may be replaced by the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from donewhen.errors import ConfigError

NAMES = ("anchor", "nudge")


def templates(own: Mapping[str, str]) -> dict[str, str]:
    """Name -> text; `own` are the user's. Raises ConfigError for a name that is no template."""
    if unknown := own.keys() - set(NAMES):
        raise ConfigError(
            f".donewhen/prompts/{sorted(unknown)[0]}.md is no template; known: {', '.join(NAMES)}",
            hint="Rename or remove it.",
        )
    return {**{name: _shipped(name) for name in NAMES if name not in own}, **own}


def _shipped(name: str) -> str:
    return (files("donewhen") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
