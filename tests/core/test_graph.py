"""Order, readiness and what a failure takes with it, for graphs of anything."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.core.graph import blocked_by, checked, order, ready
from donewhen.errors import UsageError

DAG = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": []}


def test_order_and_ready() -> None:
    assert order(DAG) == ["a", "e", "b", "c", "d"]
    assert ready(DAG, []) == ["a", "e"]
    assert ready(DAG, ["a"], busy=["e"]) == ["b", "c"]


def test_a_failure_blocks_what_waits_for_it_and_nothing_else() -> None:
    assert blocked_by(DAG, ["b"]) == {"d": "b"}
    assert blocked_by(DAG, ["a"]) == {"b": "a", "c": "a", "d": "a"}
    assert blocked_by(DAG, ["e"]) == {}


@pytest.mark.parametrize(
    ("graph", "says"),
    [
        ({"a": ["b"], "b": ["a"]}, "circle"),
        ({"a": ["a"]}, "circle"),
        ({"a": ["x"]}, "x, which does not exist"),
    ],
)
def test_what_is_no_order(graph: dict[str, list[str]], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        checked(graph)
    assert says in caught.value.message


def test_a_circle_is_told_in_the_direction_of_the_needs() -> None:
    graph = {"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]}
    with pytest.raises(UsageError) as caught:
        checked(graph)
    circle = caught.value.message.removeprefix("a circle: ").split(" -> ")
    assert len(circle) == 4
    for node, need in pairwise(circle):
        assert need in graph[node]


def test_an_id_that_nobody_knows_is_named() -> None:
    for ask in (
        lambda: blocked_by(DAG, ["x"]),
        lambda: ready(DAG, ["x"]),
        lambda: ready(DAG, [], ["x"]),
    ):
        with pytest.raises(UsageError) as caught:
            ask()
        assert "x does not exist" in caught.value.message
        assert "a, b" in caught.value.hint


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=30))
def test_the_order_is_topological(edges: list[tuple[int, int]]) -> None:
    graph: dict[str, list[str]] = {str(n): [] for n in range(10)}
    for one, other in edges:
        if one != other:
            graph[str(max(one, other))].append(str(min(one, other)))
    found = order(graph)
    assert sorted(found) == sorted(graph)
    for node, needs in graph.items():
        assert all(found.index(other) < found.index(node) for other in needs)
