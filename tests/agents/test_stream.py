"""Bytes to lines to objects: any pieces, bounded, and nothing foreign raises."""

from __future__ import annotations

import itertools
import json
import math
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.agents.stream import Lines, number, objects, words


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    at = sorted({0, len(data), *(c % (len(data) + 1) for c in cuts)})
    return (data[a:b] for a, b in itertools.pairwise(at))


def split(chunks: Iterator[bytes], cap: int) -> tuple[list[bytes], int]:
    lines = Lines(cap)
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return [*found, *lines.last()], lines.skipped


@given(st.binary(max_size=200).map(lambda b: b.replace(b"a", b"\n")), st.lists(st.integers(0)))
def test_pieces_of_any_size_give_the_lines_of_the_whole(data: bytes, cuts: list[int]) -> None:
    expected = data.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert split(pieces(data, cuts), 1 << 20) == (expected, 0)


@given(st.lists(st.integers(0, 40), max_size=20), st.lists(st.integers(0)))
def test_lines_over_the_cap_are_skipped_and_counted(sizes: list[int], cuts: list[int]) -> None:
    data = b"".join(b"x" * size + b"\n" for size in sizes)
    kept = [b"x" * size for size in sizes if size <= 16]
    assert split(pieces(data, cuts), 16) == (kept, len(sizes) - len(kept))


def test_the_line_after_an_endless_one_is_read() -> None:
    lines = Lines(cap=1000)
    assert [line for _ in range(50) for line in lines.feed(b"y" * 999)] == []
    assert list(lines.feed(b'\n{"a":1}\n')) == [b'{"a":1}']
    assert lines.skipped == 1


@pytest.mark.parametrize("piece", [b"z" * (1 << 20), b"z" * (1 << 20) + b"\n", b"z" * 1021 + b"\n"])
def test_six_hundred_megabytes_are_read_in_bounded_memory(piece: bytes) -> None:
    lines = Lines()
    tracemalloc.start()
    try:
        for _ in range((600 << 20) // len(piece) if len(piece) > 2000 else 20_000):
            for _line in lines.feed(piece):
                pass
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 32 << 20


def test_tiny_pieces_of_a_long_line_cost_what_the_line_costs() -> None:
    lines = Lines()
    tracemalloc.start()
    try:
        for _ in range(200_000):
            list(lines.feed(b"ab"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 << 20


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"a":1}', [{"a": 1}]),
        (b'  {"a":1}\r', [{"a": 1}]),
        (b'{"a":"caf\xe9"}', [{"a": "caf\ufffd"}]),
        (b"[1]", []),
        (b"null", []),
        (b"not json", []),
        (b'{"a":', []),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", []),
        (b'{"a":' + b"9" * 5000 + b"}", []),
        (b"", []),
    ],
)
def test_objects_are_what_is_one(line: bytes, found: list[object]) -> None:
    assert list(objects(iter([line]))) == found


@given(st.text(alphabet=st.characters()) | st.integers() | st.none() | st.floats())
def test_words_can_always_be_written(value: object) -> None:
    words(value, 10).encode()
    assert len(words(value, 10)) <= 13


def test_words_survive_a_lone_surrogate() -> None:
    assert words(json.loads('"a\\ud800b"')) == "a?b"


@pytest.mark.parametrize("value", [None, "1", True, [], {}, -1, math.nan, math.inf, 10**400, -0.0])
def test_what_is_no_amount_is_nought(value: object) -> None:
    assert number(value) == 0.0


@pytest.mark.parametrize("value", [1, 0.25, 10**15])
def test_an_amount_is_itself(value: float) -> None:
    assert number(value) == value
