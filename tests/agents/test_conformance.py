"""Our adapters keep the contracts that we publish for everybody's; and the suite finds offenders."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from donewhen.agents.base import Agent, AgentEvent, AgentSpec, Finished, Launch, Outcome, Turn
from donewhen.agents.claude import Claude
from donewhen.agents.command import Command
from donewhen.agents.scripted import Scripted
from donewhen.testing.conformance import CONTRACTS, Contract, Subject
from tests.agents.helpers import recording

NAMES = ("t1", "agents", "limit_subscription", "e529", "sigint")
PLAYED = (
    b'{"type":"say","text":"hello"}\n{"type":"tool","text":"write a","paths":["a"]}\n'
    b'{"type":"end","end":"limited","usage":{"usd":0.5,"tokens":7},"until":1800000000,"detail":"x"}\n'
)
PLAIN = "plain words\r\n50%\rdone é\nno newline".encode()


def claude(folder: Path) -> Subject:
    return Subject(
        lambda: Claude(AgentSpec("claude", "sonnet", gate_commands=("pytest -q", "sh: a | b"))),
        folder,
        [recording(name) for name in NAMES],
    )


def claude_full(folder: Path) -> Subject:
    spec = AgentSpec("claude", permissions="full", auth="subscription")
    return Subject(lambda: Claude(spec), folder)


def scripted(folder: Path) -> Subject:
    file = folder / "script.json"
    file.write_text(json.dumps({"version": 1, "turns": [{"say": "x"}]}))
    return Subject(lambda: Scripted(AgentSpec("scripted", str(file))), folder, [PLAYED])


def command(folder: Path) -> Subject:
    return Subject(lambda: Command(AgentSpec("command", "./agent.sh --x")), folder, [PLAIN])


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
@pytest.mark.parametrize("subject", [claude, claude_full, scripted, command])
def test_contract(subject: Callable[[Path], Subject], contract: Contract, tmp_path: Path) -> None:
    contract.check(subject(tmp_path))


def test_contracts_are_numbered() -> None:
    assert [c.number for c in CONTRACTS] == list(range(1, len(CONTRACTS) + 1))


# -- adapters that break one contract each -----------------------------------------------------------


class Good:
    """A small adapter that keeps all of them; each offender below spoils one thing."""

    tool_events = True

    def __init__(self) -> None:
        self.spec = AgentSpec("good")

    def locate(self) -> str:
        return "good"

    def launch(self, turn: Turn) -> Launch:
        return Launch(("good",), stdin=turn.prompt)

    def parser(self, turn: Turn) -> GoodParser:
        return GoodParser()


class GoodParser:
    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return []

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        if done.spawn_error:
            return Outcome("spawn", detail=done.spawn_error)
        if done.timed_out or done.silent:
            return Outcome("timeout" if done.timed_out else "hang")
        return Outcome("crashed" if done.code else "worked")


class PromptInArgv(Good):
    def launch(self, turn: Turn) -> Launch:
        return Launch(("good", turn.prompt.read_text()), stdin=turn.prompt)


class NoStdin(Good):
    def launch(self, turn: Turn) -> Launch:
        return Launch(("good", str(turn.prompt)))


class EmptyStdin(Good):
    def launch(self, turn: Turn) -> Launch:
        (turn.scratch / "empty").touch()
        return Launch(("good",), stdin=turn.scratch / "empty")


class NulByte(Good):
    def launch(self, turn: Turn) -> Launch:
        return Launch(("good", "a\0b"), stdin=turn.prompt)


class Litters(Good):
    def launch(self, turn: Turn) -> Launch:
        (turn.cwd / "litter").touch()
        return super().launch(turn)


class Nameless(Good):
    def __init__(self) -> None:
        self.spec = AgentSpec("")


def parsing(parser: type[GoodParser]) -> type[Good]:
    class Agent(Good):
        def parser(self, turn: Turn) -> GoodParser:
            return parser()

    Agent.__name__ = parser.__name__
    return Agent


class AlwaysWorked(GoodParser):
    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        return Outcome("worked")


class IgnoresTimeouts(GoodParser):
    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        return super().finish(dataclasses.replace(done, timed_out=False), stderr_tail)


class Optimist(GoodParser):
    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        outcome = super().finish(done, stderr_tail)
        return Outcome("worked") if done.code == 1 else outcome


class InventsEnds(GoodParser):
    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        return Outcome("finished")  # type: ignore[arg-type]  # what the test is about


class CountsPieces(GoodParser):
    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return [AgentEvent("say", "piece")]


class Trusting(GoodParser):
    def feed(self, chunk: bytes) -> list[AgentEvent]:
        return [AgentEvent("say", str(json.loads(line)["text"])) for line in chunk.splitlines()]


class Hoarder(GoodParser):
    def __init__(self) -> None:
        self.kept = bytearray()

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        self.kept += chunk
        return []


class Shared(GoodParser):
    seen: list[bytes] = []  # noqa: RUF012  # what the test is about

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        self.seen.append(chunk[:1])
        return []

    def finish(self, done: Finished, stderr_tail: str) -> Outcome:
        return dataclasses.replace(super().finish(done, ""), detail=str(len(self.seen)))


OFFENDERS: list[tuple[Callable[[], Agent], set[int]]] = [
    (Good, set()),
    (PromptInArgv, {1}),
    (NoStdin, {2}),
    (EmptyStdin, {2}),
    (NulByte, {3}),
    (Litters, {4}),
    (Nameless, {5}),
    (parsing(AlwaysWorked), {6, 7, 8}),
    (parsing(IgnoresTimeouts), {7}),
    (parsing(Optimist), {8}),
    (parsing(InventsEnds), {6, 7, 9, 11, 12, 13, 14}),
    (parsing(CountsPieces), {10}),
    (parsing(Trusting), {9, 10, 11, 12, 13}),
    (parsing(Hoarder), {13, 14}),
    (parsing(Shared), {6, 10, 15}),
]


@pytest.mark.parametrize(
    ("offender", "broken"), OFFENDERS, ids=lambda v: getattr(v, "__name__", "")
)
def test_the_suite_finds_offenders(
    offender: Callable[[], Agent], broken: set[int], tmp_path: Path
) -> None:
    found = set()
    for contract in CONTRACTS:
        folder = tmp_path / str(contract.number)
        folder.mkdir()
        try:
            contract.check(Subject(offender, folder, [b'{"text": "a"}\n{"text": "b"}\n']))
        except Exception:  # noqa: BLE001  # a parser that raises breaks its contract too
            found.add(contract.number)
    assert found == broken
