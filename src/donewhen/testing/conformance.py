"""What every agent adapter must keep, as numbered contracts; for our own and for yours.

    @pytest.mark.parametrize("contract", CONTRACTS, ids=str)
    def test_conformance(contract: Contract, tmp_path: Path) -> None:
        contract.check(Subject(lambda: MyAgent(spec), tmp_path, recordings))

Starts no agent and needs no network. A broken contract is an AssertionError that says which.
"""

from __future__ import annotations

import gc
import itertools
import json
import math
import random
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, get_args

from donewhen.agents.base import Agent, AgentEvent, End, Finished, Launch, Outcome, Turn

KINDS = {"say", "tool", "error", "info", "usage"}
MEMORY = 40 << 20  # bytes of Python objects that a parser may hold, whatever comes
FLOOD = 96 << 20  # bytes that it is given
HELD = 1 << 20  # bytes that it may keep of lines it has read
PROMPT = (
    "make it green; $(touch pwned) `id` \u00e9\u4e2d\U0001f600 'quoted' --flag\n- [ ] last line"
)
JUNK: tuple[Any, ...] = (
    None, True, -1, 10**400, 1e308, math.nan, math.inf, "", "\udfff\ud800", "\0", [], [None], {},
    {"type": 7}, [[["x"]]], {"text": {"text": []}},
)  # fmt: skip
ENDINGS = (
    Finished(0),
    Finished(1),
    Finished(-9),
    Finished(143),
    Finished(-15, timed_out=True),
    Finished(-15, silent=True),
    Finished(127, spawn_error="no such file"),
)


@dataclass(frozen=True)
class Subject:
    """An adapter under test: how it is made, a folder to work in, and recorded streams of it."""

    make: Callable[[], Agent]
    folder: Path
    recordings: Sequence[bytes] = ()

    def turn(self) -> Turn:
        cwd, scratch = self.folder / "tree", self.folder / "scratch"
        cwd.mkdir(parents=True, exist_ok=True)
        scratch.mkdir(exist_ok=True)
        prompt = self.folder / "prompt.md"
        prompt.write_text(PROMPT, encoding="utf-8")
        return Turn(cwd=cwd, prompt=prompt, turn=0, scratch=scratch, run="r20260101-000000-0000")

    def launch(self) -> Launch:
        return self.make().launch(self.turn())

    def read(
        self, pieces: Sequence[bytes], done: Finished = ENDINGS[0], errors: str = ""
    ) -> tuple[list[AgentEvent], Outcome]:
        parser = self.make().parser(self.turn())
        events = [event for piece in pieces for event in parser.feed(piece)]
        return events, parser.finish(done, errors)


@dataclass(frozen=True)
class Contract:
    number: int
    title: str
    check: Callable[[Subject], None]

    def __str__(self) -> str:
        return f"{self.number:02d} {self.title}"


CONTRACTS: list[Contract] = []


def _contract(title: str) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    def add(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        CONTRACTS.append(Contract(len(CONTRACTS) + 1, title, check))
        return check

    return add


# -- starting ----------------------------------------------------------------------------------------


@_contract("the prompt is in no argument and no variable")
def _prompt_hidden(subject: Subject) -> None:
    launch = subject.launch()
    for place in (*launch.argv, *launch.env.values()):
        assert "make it green" not in place, f"the prompt is in {place!r}"


@_contract("standard input is a file, and the prompt reaches the program")
def _stdin_file(subject: Subject) -> None:
    turn = subject.turn()
    launch = subject.make().launch(turn)
    assert launch.stdin is not None, "standard input is not a file"
    assert launch.stdin.is_file(), f"{launch.stdin} is no file"
    named = any(str(turn.prompt) in place for place in (*launch.argv, *launch.env.values()))
    assert named or launch.stdin.read_text(encoding="utf-8") == PROMPT, "the prompt goes nowhere"


@_contract("arguments and variables can be handed to a process")
def _startable(subject: Subject) -> None:
    launch = subject.launch()
    assert launch.argv, "there is no program"
    assert launch.argv[0], "the program has no name"
    for word in (*launch.argv, *launch.env, *launch.env.values(), *launch.unset):
        assert isinstance(word, str)
        assert "\0" not in word, f"a NUL byte in {word!r}"
    assert not set(launch.env) & set(launch.unset), "set and unset at once"


@_contract("a launch is a value: twice the same, and nothing in the tree is touched")
def _launch_is_pure(subject: Subject) -> None:
    assert subject.launch() == subject.launch()
    assert list((subject.folder / "tree").iterdir()) == []


@_contract("the spec is kept and tool events are declared")
def _declared(subject: Subject) -> None:
    agent = subject.make()
    assert agent.spec.name
    assert isinstance(agent.tool_events, bool)


# -- how it ended ------------------------------------------------------------------------------------


@_contract("what cannot be started is spawn, with the reason")
def _spawn(subject: Subject) -> None:
    for recording in (b"", *subject.recordings):
        _events, outcome = subject.read([recording], ENDINGS[-1])
        assert outcome.end == "spawn", outcome
        assert "no such file" in outcome.detail


@_contract("without a word of its own: time-out, silence and signals are told apart")
def _wordless(subject: Subject) -> None:
    cases: tuple[tuple[Finished, End], ...] = (
        (Finished(-15, timed_out=True), "timeout"),
        (Finished(-15, silent=True), "hang"),
        (Finished(-9), "crashed"),
        (Finished(-15), "crashed"),
    )
    for done, end in cases:
        assert subject.read([], done)[1].end == end, f"{done} is {subject.read([], done)[1]}"


@_contract("a failing exit without a word is never success")
def _failing(subject: Subject) -> None:
    for code in (1, 2, 42, 255):
        assert subject.read([], Finished(code), "it broke")[1].end != "worked", f"exit {code}"


@_contract("a stream cut anywhere gives an outcome")
def _cut(subject: Subject) -> None:
    for recording in subject.recordings:
        for end in range(0, len(recording), max(1, len(recording) // 60)):
            for done in ENDINGS:
                _sane(*subject.read([recording[:end]], done))


@_contract("pieces of any size read as the whole")
def _pieces(subject: Subject) -> None:
    for recording in subject.recordings:
        whole = subject.read([recording])
        assert subject.read([recording[i : i + 1] for i in range(len(recording))]) == whole
        chance = random.Random(7)  # noqa: S311  # the same pieces every time
        cuts = [0, *sorted(chance.choices(range(len(recording) + 1), k=20)), len(recording)]
        assert subject.read([recording[a:b] for a, b in itertools.pairwise(cuts)]) == whole


# -- whatever comes ----------------------------------------------------------------------------------


@_contract("bytes that are no stream never raise")
def _noise(subject: Subject) -> None:
    chance = random.Random(11)  # noqa: S311  # the same bytes every time
    noise = [b"", b"\n\n", b"\xff\xfe\0", b"{", b"[" * 100_000 + b"\n", b'{"type":' + b"9" * 9999]
    noise += [chance.randbytes(4096), b"{}\n" * 100, b'null\n1\n"x"\n', b'{"type":"\\ud800"}\n']
    for data, done in itertools.product(noise, ENDINGS):
        _sane(*subject.read([data], done, "\ud800 stderr"))


@_contract("wrong types anywhere in a stream never raise")
def _wrong_types(subject: Subject) -> None:
    for event in _kinds(line for r in subject.recordings for line in r.splitlines()):
        for changed in _mutations(event):
            _sane(*subject.read([changed + b"\n"]))


@_contract("a line without end is held in bounded memory")
def _endless(subject: Subject) -> None:
    piece = b'{"type":"x","text":"' + b"a" * (1 << 20)
    parser = subject.make().parser(subject.turn())
    tracemalloc.start()
    try:
        for _ in range(FLOOD // len(piece)):
            parser.feed(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MEMORY, f"{peak >> 20} MiB at the peak"
    _sane([], parser.finish(ENDINGS[0], ""))


@_contract("lines that were read are let go")
def _many(subject: Subject) -> None:
    lines = b"".join(subject.recordings) or b"a line of output\n"
    parser = subject.make().parser(subject.turn())
    for _ in range(1 + (4 << 20) // len(lines)):
        parser.feed(lines)
    held = _size(parser)
    assert held < HELD, f"{held >> 10} KiB are still held"
    _sane([], parser.finish(ENDINGS[0], ""))


@_contract("two parsers share nothing")
def _independent(subject: Subject) -> None:
    agent = subject.make()
    turn = subject.turn()
    clean = agent.parser(turn).finish(Finished(1), "")
    for recording in subject.recordings:
        agent.parser(turn).feed(recording)
        assert agent.parser(turn).finish(Finished(1), "") == clean


def _sane(events: Sequence[AgentEvent], outcome: Outcome) -> None:
    """Everything can be written, shown and counted."""
    for event in events:
        assert event.kind in KINDS, event.kind
        assert (event.kind == "usage") == (event.usage is not None), event
        for text in (event.text, *event.paths):
            text.encode()
    assert outcome.end in get_args(End), outcome.end
    f"{outcome.detail}{outcome.session}".encode()
    usage = outcome.usage
    for figure in (usage.usd, usage.tokens, outcome.until, outcome.cumulative_usd):
        assert math.isfinite(figure), outcome
        assert figure >= 0, outcome
    assert isinstance(usage.tokens, int)


def _mutations(value: dict[str, Any]) -> Iterator[bytes]:
    """The event with one value after the other replaced by each piece of junk."""
    for path in _paths(value):
        for junk in JUNK:
            yield json.dumps(_replaced(value, path, junk)).encode()


def _kinds(lines: Iterator[bytes]) -> Iterator[dict[str, Any]]:
    """One event of each kind: wrong types are tried on every value of each."""
    seen: set[str] = set()
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if not isinstance(event, dict):
            continue
        kind = str((event.get("type"), event.get("subtype")))
        if kind not in seen:
            seen.add(kind)
            yield event


def _paths(value: Any, depth: int = 4) -> Iterator[tuple[Any, ...]]:
    keys: Iterator[Any] = iter(())
    if isinstance(value, dict):
        keys = iter(value)
    elif isinstance(value, list):
        keys = iter(range(min(len(value), 3)))
    for key in keys:
        yield (key,)
        if depth:
            yield from ((key, *rest) for rest in _paths(value[key], depth - 1))


def _replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    key, *rest = path
    new = _replaced(value[key], tuple(rest), junk) if rest else junk
    if isinstance(value, dict):
        return {**value, key: new}
    return [*value[:key], new, *value[key + 1 :]]


def _size(value: object) -> int:
    """Bytes of everything that hangs on a value, code apart."""
    seen: set[int] = set()
    left, total = [value], 0
    while left:
        here = left.pop()
        if id(here) in seen or isinstance(here, type | ModuleType | FunctionType):
            continue
        seen.add(id(here))
        total += sys.getsizeof(here)
        left += gc.get_referents(here)
    return total


__all__ = ["CONTRACTS", "Contract", "Subject"]
