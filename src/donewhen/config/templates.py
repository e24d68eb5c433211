"""The prompt's templates: shipped with the package, each may be replaced by the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files

from donewhen.core.anchor import PLACEHOLDERS, check
from donewhen.errors import ConfigError

NAMES = tuple(PLACEHOLDERS)
OWN = ".donewhen/prompts"


def templates(own: Mapping[str, str]) -> dict[str, str]:
    """Name -> text; `own` are the user's, from `.donewhen/prompts/<name>.md`.

    Raises ConfigError for a name that is no template, and for a text that cannot be rendered.
    """
    for name, text in own.items():
        if name not in NAMES:
            raise ConfigError(
                f"{OWN}/{name}.md is no template; known: {', '.join(NAMES)}",
                hint=f"Rename or remove it: git mv {OWN}/{name}.md {OWN}/{NAMES[0]}.md",
            )
        check(name, text)
    return {name: own[name] if name in own else shipped(name) for name in NAMES}


def shipped(name: str) -> str:
    """The template that comes with the package."""
    return (files("donewhen") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
