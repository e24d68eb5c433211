"""Which values are secrets, and that they do not survive."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.system.redact import Redactor, is_secret, redact, secrets


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


def test_overlapping_secrets_leave_nothing() -> None:
    values = (b"abcdefgh", b"efghijkl")
    assert redact(b"<abcdefghijkl>", values) == b"<[redacted]>"


def test_a_secret_is_found_as_json_writes_it_and_without_outer_space() -> None:
    value = 'quo"te\\slash\nline'
    found = secrets({"A_KEY": value, "B_TOKEN": "  from-a-file\n"})
    assert redact(json.dumps({"said": value}).encode(), found) == b'{"said": "[redacted]"}'
    assert redact(b"got from-a-file!", found) == b"got [redacted]!"


def test_a_value_that_is_short_without_its_space_is_no_secret() -> None:
    assert secrets({"A_KEY": "a" + " " * 20}) == (b"a" + b" " * 20,)


def stream(pieces: list[bytes], values: tuple[bytes, ...]) -> bytes:
    redactor = Redactor(values)
    return b"".join(redactor.feed(piece) for piece in pieces) + redactor.flush()


def test_a_longer_secret_that_begins_with_a_shorter_one() -> None:
    values = (b"12345678-and-more", b"12345678")
    assert stream([b"x 12345678", b"-and-more y 123456", b"78", b" z"], values) == (
        b"x [redacted] y [redacted] z"
    )


letters = st.text("ab", min_size=1, max_size=12).map(str.encode)


@given(st.lists(st.text("abc", max_size=9).map(str.encode)), st.sets(letters, max_size=4))
def test_however_a_stream_is_cut_it_is_redacted_as_a_whole(
    pieces: list[bytes], values: set[bytes]
) -> None:
    known = tuple(sorted(values, key=len, reverse=True))
    assert stream(pieces, known) == redact(b"".join(pieces), known)


@given(st.binary(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_no_secret_survives_any_cut(around: bytes, first: int, second: int) -> None:
    value = b"correct-horse-battery-staple"
    data = around + value + around
    low, high = sorted((first, second))
    assert value not in stream([data[:low], data[low:high], data[high:]], (value,))


def test_an_ordinary_stream_is_not_held_back() -> None:
    redactor = Redactor((b"-----BEGIN" + b"z" * 3000,))
    assert redactor.feed(b"ordinary text") == b"ordinary text"
    assert redactor.feed(b"ends like one -----BEG") == b"ends like one "
    assert redactor.flush() == b"-----BEG"
