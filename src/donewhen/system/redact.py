"""Secrets of the environment, kept out of everything we write down."""

from __future__ import annotations

import re
from collections.abc import Mapping

NAMES = re.compile(
    r"((^|_|API|ACCESS|PRIVATE|MASTER|SIGNING)KEY|TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIALS?"
    r"|COOKIE|(^|_)DSN|DATABASE_URL)(_|$|\d)",
    re.I,
)
SHORTEST = 8  # shorter values would blank out ordinary words
MARK = b"[redacted]"


def is_secret(name: str) -> bool:
    """Does the name of a variable say that its value is a secret?"""
    return NAMES.search(name) is not None


def secrets(environ: Mapping[str, str]) -> tuple[bytes, ...]:
    """The secret values of an environment, longest first."""
    found = {
        value.encode("utf-8", "surrogateescape")
        for name, value in environ.items()
        if is_secret(name) and len(value) >= SHORTEST
    }
    return tuple(sorted(found, key=lambda v: (-len(v), v)))


def redact(data: bytes, values: tuple[bytes, ...]) -> bytes:
    """`data` with every secret replaced."""
    for value in values:
        if value in data:
            data = data.replace(value, MARK)
    return data
