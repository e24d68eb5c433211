"""Evidence: private, redacted, whole, and never outside the folder of its iteration."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from donewhen.errors import StoreError
from donewhen.store.evidence import Evidence
from donewhen.system.redact import secrets


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    return Evidence(tmp_path / "run", secrets({"API_KEY": "s3cret-s3cret", "NAME": "plain-value"}))


def test_what_is_put_is_found_where_the_design_says(tmp_path: Path, evidence: Evidence) -> None:
    before = os.umask(0)
    try:
        for name in ("prompt.md", "verdict.json", "diff.patch", "gates/tests/log", "attempt/0"):
            evidence.put(3, name, name.encode())
    finally:
        os.umask(before)
    found = {
        str(p.relative_to(tmp_path)): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert found == {
        f"run/iterations/3/{name}": name.encode()
        for name in ("prompt.md", "verdict.json", "diff.patch", "gates/tests/log", "attempt/0")
    }
    for path in tmp_path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


def test_the_hash_is_of_what_was_written_without_secrets(evidence: Evidence) -> None:
    found = evidence.put(0, "log", b"key=s3cret-s3cret name=plain-value")
    data = (evidence.folder(0) / "log").read_bytes()
    assert data == b"key=[redacted] name=plain-value"
    assert found == hashlib.sha256(data).hexdigest()


def test_putting_again_replaces_whole(evidence: Evidence) -> None:
    assert evidence.put(1, "log", b"one") != evidence.put(1, "log", b"two")
    assert os.listdir(evidence.folder(1)) == ["log"]
    assert (evidence.folder(1) / "log").read_bytes() == b"two"


@pytest.mark.parametrize(
    "bad", ["", ".", "..", "../x", "/etc/x", "a/../../x", "a//../b", "-x", "a\0"]
)
def test_a_name_never_leads_out(tmp_path: Path, evidence: Evidence, bad: str) -> None:
    with pytest.raises(StoreError, match="is no name"):
        evidence.put(1, bad, b"x")
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
