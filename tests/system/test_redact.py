"""Which values are secrets, and that they do not survive."""

from __future__ import annotations

import pytest

from donewhen.system.redact import is_secret, redact, secrets


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "GH_TOKEN",
        "DB_PASSWORD",
        "AWS_SECRET_ACCESS_KEY",
        "my_secret",
        "DATABASE_URL",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name", ["PATH", "HOME", "MONKEY_BUSINESS", "TOKENIZERS_PARALLELISM", "KEYBOARD"]
)
def test_names_of_other_things(name: str) -> None:
    assert not is_secret(name)


def test_longest_first_and_short_ones_left_alone() -> None:
    found = secrets(
        {
            "A_KEY": "12345678",
            "B_KEY": "12345678-and-more",
            "C_KEY": "short",
            "PATH": "/usr/bin:/bin",
        }
    )
    assert found == (b"12345678-and-more", b"12345678")
    assert redact(b"x 12345678-and-more y 12345678 z", found) == b"x [redacted] y [redacted] z"
