"""Secrets of the environment, kept out of everything we write down.

Which values are secrets is decided here; how they are replaced is in sink.py, which the shim uses
on the streams themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from donewhen.system.sink import MARK, SHORTEST, Redactor, forms, redact

__all__ = ["MARK", "SHORTEST", "Redactor", "is_secret", "redact", "secrets"]

NAMES = re.compile(
    r"((^|_|API|ACCESS|PRIVATE|MASTER|SIGNING)KEY|TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIALS?"
    r"|COOKIE|(^|_)DSN|DATABASE_URL)(_|$|\d)",
    re.I,
)


@lru_cache(maxsize=4096)  # an iteration asks for the same few dozen names four times
def is_secret(name: str) -> bool:
    """Does the name of a variable say that its value is a secret?"""
    return NAMES.search(name) is not None


def secrets(environ: Mapping[str, str]) -> tuple[bytes, ...]:
    """The secret values of an environment, in every form they may be written in, longest first."""
    found: set[bytes] = set()
    for name, value in environ.items():
        if is_secret(name):
            found |= forms(value.encode("utf-8", "surrogateescape"))
    return tuple(sorted(found, key=lambda v: (-len(v), v)))
