"""The prompt's templates: shipped with the package, each may be replaced by the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from donewhen.core.anchor import PLACEHOLDERS, check
from donewhen.errors import ConfigError

NAMES = tuple(PLACEHOLDERS)
OWN = ".donewhen/prompts"


def read_own(checkout: Path) -> dict[str, str]:
    """The user's templates, by name. Raises ConfigError for one that is not UTF-8 or unreadable."""
    found = {}
    for path in sorted((checkout / OWN).glob("*.md")):
        try:
            found[path.stem] = path.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{OWN}/{path.name}: not UTF-8 (byte {error.start})",
                hint=f"Save it as UTF-8, e.g.: iconv -f latin1 -t utf-8 {OWN}/{path.name}",
            ) from error
        except OSError as error:
            raise ConfigError(
                f"{OWN}/{path.name}: cannot be read: {error.strerror}", hint=f"Type: ls -l {path}"
            ) from error
    return found


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
