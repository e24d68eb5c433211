"""The prompt's templates: shipped with the package, each may be replaced by the user's own."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from donewhen.config import bounded
from donewhen.core.anchor import PLACEHOLDERS, check
from donewhen.errors import ConfigError

NAMES = tuple(PLACEHOLDERS)
OWN = ".donewhen/prompts"
MOST = 1 << 20  # bytes that are read; core.anchor allows far less


def read_own(checkout: Path) -> dict[str, str]:
    """The user's templates, by name. Raises ConfigError for one that cannot be read,

    and for a file that is none, since it would be ignored.
    """
    found = {}
    for path in _entries(checkout / OWN):
        if path.suffix != ".md" or path.stem not in NAMES:
            raise _unknown(path.name)
        try:
            found[path.stem] = bounded.read(path, MOST).decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise ConfigError(
                f"{OWN}/{path.name}: not UTF-8 (byte {error.start})",
                hint=f"Save it as UTF-8, e.g.: iconv -f latin1 -t utf-8 {OWN}/{path.name}",
            ) from error
        except bounded.Unreadable as error:
            raise ConfigError(
                f"{OWN}/{path.name}: cannot be read: {error}",
                hint=f"Type: ls -l {shlex.quote(f'{OWN}/{path.name}')}",
            ) from error
    return found


def _entries(folder: Path) -> list[Path]:
    """Everything in it but hidden files, which editors and systems leave."""
    try:
        return sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ConfigError(
            f"{OWN} cannot be read: {error.strerror}", hint=f"Type: ls -ld {OWN}"
        ) from error


def _unknown(name: str) -> ConfigError:
    known = [f"{known}.md" for known in NAMES]
    near = get_close_matches(name, known, n=1, cutoff=0.5)
    file = shlex.quote(f"{OWN}/{name}")
    meant = f"mv {file} {OWN}/{near[0]}" if near else f"rm {file}"
    return ConfigError(
        f"{OWN}/{name} is no template and would be ignored; known: {', '.join(known)}",
        hint=f"Rename or remove it, e.g.: {meant}",
    )


def templates(own: Mapping[str, str]) -> dict[str, str]:
    """Name -> text; `own` are the user's, from `.donewhen/prompts/<name>.md`.

    Raises ConfigError for a name that is no template, and for a text that cannot be rendered.
    """
    for name, text in own.items():
        if name not in NAMES:
            raise _unknown(f"{name}.md")
        check(name, text)
    return {name: own[name] if name in own else shipped(name) for name in NAMES}


def shipped(name: str) -> str:
    """The template that comes with the package."""
    return (resources.files("donewhen") / "prompts" / f"{name}.md").read_text(encoding="utf-8")
