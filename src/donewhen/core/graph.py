"""Graphs of anything: order, what is ready, what a failure takes with it. Knows nothing of tasks.

A graph is node -> the nodes it needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from donewhen.errors import UsageError

Graph = Mapping[str, Iterable[str]]


def checked(graph: Graph) -> dict[str, tuple[str, ...]]:
    """The graph with every needed node known. Raises UsageError naming a missing id or a cycle."""
    whole = {node: tuple(dict.fromkeys(needs)) for node, needs in graph.items()}
    for node, needs in whole.items():
        for other in needs:
            if other not in whole:
                raise UsageError(
                    f"{node} needs {other}, which does not exist",
                    hint=f"Known: {', '.join(sorted(whole))}",
                )
    try:
        TopologicalSorter(whole).prepare()
    except CycleError as error:
        circle = " -> ".join(reversed(error.args[1]))  # graphlib names them the other way
        raise UsageError(f"a circle: {circle}", hint="Remove one of these needs.") from error
    return whole


def order(graph: Graph) -> list[str]:
    """Every node after all that it needs; among equals in the order given."""
    whole = checked(graph)
    done: dict[str, None] = {}
    while len(done) < len(whole):
        done.update(
            dict.fromkeys(n for n in whole if n not in done and set(whole[n]) <= done.keys())
        )
    return list(done)


def ready(graph: Graph, done: Iterable[str], busy: Iterable[str] = ()) -> list[str]:
    """Nodes whose needs are all done and that are neither done nor busy, in the order given.

    Raises UsageError for an id that is not in the graph.
    """
    whole = checked(graph)
    have, away = _known(whole, done), _known(whole, busy)
    return [n for n, needs in whole.items() if n not in have | away and set(needs) <= have]


def blocked_by(graph: Graph, failed: Iterable[str]) -> dict[str, str]:
    """Node -> the failed node that it waits for, directly or through others.

    Raises UsageError for an id that is not in the graph.
    """
    whole = checked(graph)
    cause = dict.fromkeys(_known(whole, failed), "")
    for node in order(whole):
        if node not in cause:
            hit = next((other for other in whole[node] if other in cause), None)
            if hit is not None:
                cause[node] = cause[hit] or hit
    return {node: why for node, why in cause.items() if why}


def _known(whole: Graph, ids: Iterable[str]) -> set[str]:
    found = set(ids)
    if unknown := sorted(found - whole.keys()):
        raise UsageError(f"{unknown[0]} does not exist", hint=f"Known: {', '.join(sorted(whole))}")
    return found
