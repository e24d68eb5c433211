"""Files that carry a signature made with a secret of the user's state folder.

Tamper-evident: what anybody else wrote is not believed. Who can read the secret can forge.
"""

from __future__ import annotations

import hmac
import secrets
from pathlib import Path

from donewhen.system import fs

SIGNED = 64  # hex digits of the signature before the content


def read(path: Path, name: str, key_file: Path) -> bytes | None:
    """The content that was signed under `name`; None for none, and for one nobody signed."""
    data = fs.read_bytes(path)
    secret = fs.read_bytes(key_file)
    if data is None or not secret:
        return None
    mark, body = data[:SIGNED], data[SIGNED:]
    return body if hmac.compare_digest(mark, _sign(secret, name, body)) else None


def write(path: Path, name: str, key_file: Path, body: bytes, durable: bool = True) -> None:
    """Replace the file as a whole. Raises StoreError, OSError where that cannot be."""
    secret = fs.read_bytes(key_file) or _new_secret(key_file)
    fs.make_private_dir(path.parent)
    fs.write_atomic(path, _sign(secret, name, body) + body, durable=durable)


def _new_secret(key_file: Path) -> bytes:
    fs.make_private_dir(key_file.parent)
    secret = secrets.token_bytes(32)
    fs.write_atomic(key_file, secret)
    return secret


def _sign(secret: bytes, name: str, body: bytes) -> bytes:
    return hmac.new(secret, name.encode() + body, "sha256").hexdigest().encode()
