"""The names that a library user may import, and their signatures, are pinned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import donewhen
from donewhen import Gate, Limits, Loop, Result, judge
from donewhen.core.verdict import GateState
from donewhen.errors import DonewhenError
from tests.conftest import CALC, FIX, Project


def test_public_names() -> None:
    assert donewhen.__all__ == ["Gate", "Limits", "Loop", "Result", "judge"]
    with pytest.raises(AttributeError):
        donewhen.nosuch  # noqa: B018  # that is the point


def test_judge_is_the_function_also_after_the_package_was_imported() -> None:
    import importlib

    package = importlib.import_module("donewhen.judge.judge")
    assert callable(package.judge)
    assert donewhen.judge is judge
    assert "Run the gates" in (judge.__doc__ or "")


def test_signatures() -> None:
    assert list(inspect.signature(Loop).parameters) == [
        "goal", "repo", "gates", "agent", "limits", "baseline", "accept_no_regression",
    ]  # fmt: skip
    assert list(inspect.signature(Loop.run).parameters) == ["self", "on_event"]
    assert list(inspect.signature(Gate).parameters) == ["command", "name"]
    assert list(inspect.signature(Limits).parameters) == [
        "max_iterations", "iteration_s", "wall_s", "silence_s", "usd", "tokens", "agent_retries",
        "limit_wait_s",
    ]  # fmt: skip
    assert list(inspect.signature(judge).parameters) == ["repo", "gates", "since"]
    assert list(inspect.signature(Result).parameters) == [
        "run", "reason", "exit", "iterations", "proof", "tree", "branch", "verdict", "usd", "tokens",
        "wall_s",
    ]  # fmt: skip


def test_a_loop_from_a_program(project: Project, script: Callable[..., Path]) -> None:
    seen: list[str] = []
    loop = Loop(
        "make the tests pass",
        repo=project.root,
        gates=[Gate("python -m pytest -q", name="unit")],
        agent=f"scripted:{script({'write': FIX})}",
        limits=Limits(max_iterations=3),
    )
    result = loop.run(on_event=lambda event: seen.append(event.kind))
    assert result.done
    assert (result.reason, result.exit, result.iterations) == ("gates-passed", 0, 1)
    assert result.verdict["gates"][0]["name"] == "unit"
    assert {"agent", "gate", "phase"} <= set(seen)


def test_a_pass_without_proof_is_not_done(
    make_project: Callable[..., Project], script: Callable[..., Path]
) -> None:
    green = make_project({**CALC, **FIX})
    agent = f"scripted:{script({'write': {'README': 'x'}})}"
    result = Loop("document it", repo=green.root, agent=agent, accept_no_regression=True).run()
    assert (result.reason, result.exit, result.done) == ("gates-passed", 0, False)


def test_judge_from_a_program(make_project: Callable[..., Project]) -> None:
    green = make_project({**CALC, **FIX})
    assert judge(green.root).state is GateState.PASS
    assert judge(green.root, gates=["false"]).state is GateState.FAIL


def test_misuse_raises_with_a_hint(project: Project) -> None:
    with pytest.raises(DonewhenError) as caught:
        Loop("  ", repo=project.root).run()
    assert caught.value.hint
    with pytest.raises(DonewhenError):
        Loop("x", repo=project.root, agent="command:true", limits=Limits(max_iterations=0)).run()


@pytest.mark.parametrize(
    "limits",
    [
        Limits(wall_s=0.0),
        Limits(wall_s=-1.0),
        Limits(iteration_s=float("inf")),
        Limits(silence_s=float("nan")),
        Limits(usd=-1.0),
        Limits(tokens=-5),
        Limits(tokens=True),
    ],
)
def test_limits_that_are_none_start_nothing(project: Project, limits: Limits) -> None:
    with pytest.raises(DonewhenError, match="must be a number"):
        Loop("x", repo=project.root, agent="command:true", limits=limits).run()
    assert not (project.root / ".git/donewhen").exists()
