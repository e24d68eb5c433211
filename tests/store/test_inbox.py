"""The inbox: nothing a person said is lost, nothing is asked twice, ids mean one item."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from donewhen.errors import Corrupt, NotFound, UsageError
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout

RUN, OTHER = "r20261201-030000-aaaa", "r20261201-030000-abbb"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".git").mkdir()
    return Layout.of(tmp_path / ".git", tmp_path / "state")


def put(layout: Layout, run: str = RUN, reason: str = "stuck:idle", **more: Any) -> str:
    given = {"kind": "question", "goal": "g", "question": "how?", "offers": ("guide",), "at": 1.0}
    return Inbox(layout).put(**{"run": run, "reason": reason, "evidence": {}, **given, **more})


def test_an_item_is_one_private_file_with_everything_a_person_needs(layout: Layout) -> None:
    name = put(layout, question="Größe?\n\udcff", evidence={"branch": "b"})
    path = layout.inbox / f"i-{RUN}-1.json"
    assert name == path.stem
    assert path.stat().st_mode & 0o777 == 0o600
    assert layout.inbox.stat().st_mode & 0o777 == 0o700
    assert json.loads(path.read_text()) == {
        "version": 1,
        "id": name,
        "run": RUN,
        "kind": "question",
        "state": "open",
        "created": "1970-01-01T00:00:01Z",
        "reason": "stuck:idle",
        "goal": "g",
        "question": "Größe?\n\udcff",
        "offers": ["guide"],
        "answer": "",
        "history": [{"at": "1970-01-01T00:00:01Z", "what": "stuck:idle"}],
        "evidence": {"branch": "b"},
        "key": "",
    }


def test_putting_the_same_again_changes_no_byte(layout: Layout) -> None:
    name = put(layout)
    before = (layout.inbox / f"{name}.json").stat()
    assert put(layout, at=9.0) == name
    assert (layout.inbox / f"{name}.json").stat() == before


def test_a_result_does_not_take_the_question_of_the_same_end_away(layout: Layout) -> None:
    put(layout, question="how?")
    put(layout, kind="result", question="")
    (item,) = Inbox(layout).items()
    assert (item["kind"], item["question"]) == ("question", "how?")
    put(layout, reason="gates-passed", kind="result", question="")
    (item,) = Inbox(layout).items()
    assert (item["kind"], item["question"], item["reason"]) == ("result", "", "gates-passed")
    assert item["history"][-1] | {"at": ""} == {
        "at": "",
        "what": "gates-passed",
        "was": "open",
        "reason": "stuck:idle",
        "question": "how?",
    }


def test_another_question_for_the_same_reason_keeps_the_first_in_the_history(
    layout: Layout,
) -> None:
    put(layout, question="first?")
    put(layout, question="second?")
    (item,) = Inbox(layout).items()
    assert item["question"] == "second?"
    assert [h.get("question") for h in item["history"]] == [None, "first?"]


@pytest.mark.parametrize("how", ["answered", "accepted", "rejected"])
def test_a_closed_item_is_never_written_over(layout: Layout, how: str) -> None:
    first = put(layout)
    Inbox(layout).close(first, how, "do it so")
    closed = (layout.inbox / f"{first}.json").read_bytes()
    second = put(layout)
    assert second == f"i-{RUN}-2"
    assert (layout.inbox / f"{first}.json").read_bytes() == closed
    assert [i["id"] for i in Inbox(layout).items()] == [second]


def test_with_a_key_the_same_thing_is_not_asked_again_after_the_answer(layout: Layout) -> None:
    first = put(layout, key="7")
    Inbox(layout).close(first, "answered", "yes")
    assert put(layout, key="7") == first
    assert Inbox(layout).items() == []
    assert put(layout, key="8") == f"i-{RUN}-2"


def test_later_keeps_it_open(layout: Layout) -> None:
    name = put(layout)
    Inbox(layout).close(name, "later")
    assert [i["state"] for i in Inbox(layout).items()] == ["later"]
    assert put(layout) == name


def test_what_a_person_said_stays_through_what_comes_later(layout: Layout) -> None:
    inbox, name = Inbox(layout), put(layout)
    inbox.close(name, "answered", "use the other one")
    inbox.close(name, "accepted")
    item = inbox.get(name)
    assert (item["state"], item["answer"]) == ("accepted", "use the other one")
    assert [(h["what"], h.get("was")) for h in item["history"]] == [
        ("stuck:idle", None),
        ("answered", "open"),
        ("accepted", "answered"),
    ]
    assert item["history"][1]["answer"] == "use the other one"
    inbox.close(name, "accepted")
    assert inbox.get(name) == item


def test_a_state_nobody_knows_is_refused(layout: Layout) -> None:
    name = put(layout)
    with pytest.raises(UsageError, match="never 'done'"):
        Inbox(layout).close(name, "done")


def test_items_come_in_the_order_they_were_made_also_beyond_nine(layout: Layout) -> None:
    inbox = Inbox(layout)
    for number in range(12):
        inbox.close(put(layout, at=5.0), "answered", str(number))
    put(layout, OTHER, at=2.0)
    assert [i["id"] for i in inbox.items(open_only=False)] == [
        f"i-{OTHER}-1",
        *(f"i-{RUN}-{n}" for n in range(1, 13)),
    ]
    assert inbox.get(RUN)["id"] == f"i-{RUN}-12"


def test_a_whole_id_is_that_item_though_others_begin_so(layout: Layout) -> None:
    inbox = Inbox(layout)
    for number in range(11):
        inbox.close(put(layout), "answered", str(number))
    assert inbox.get(f"i-{RUN}-1")["answer"] == "0"
    inbox.close(f"i-{RUN}-1", "rejected")
    assert [i["state"] for i in inbox.of_run(RUN)] == ["rejected", *["answered"] * 10]


def test_a_prefix_finds_the_newest_of_one_run(layout: Layout) -> None:
    put(layout)
    put(layout, OTHER)
    inbox = Inbox(layout)
    assert inbox.get(RUN[:-2])["run"] == RUN
    assert inbox.get(f"i-{OTHER}")["run"] == OTHER
    with pytest.raises(UsageError, match=f"fits 2 runs: {RUN}, {OTHER}"):
        inbox.get("r2026")
    for nothing in ("", "nothing", "../x", f"{RUN}/../x"):
        with pytest.raises(NotFound, match=f"waiting: {RUN}, {OTHER}"):
            inbox.get(nothing)


def test_a_run_that_is_none_gets_no_item(layout: Layout) -> None:
    for bad in ("../../x", "", "*"):
        with pytest.raises(NotFound):
            put(layout, bad)
        with pytest.raises(NotFound):
            Inbox(layout).of_run(bad)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "null",
        "[]",
        "{}",
        '{"version": 2}',
        json.dumps({"version": 1, "id": "i-other", "run": RUN, "state": "open"}),
    ],
)
def test_a_file_that_is_no_item_is_named(layout: Layout, text: str) -> None:
    put(layout)
    path = layout.inbox / f"i-{RUN}-2.json"
    path.write_text(text)
    with pytest.raises(Corrupt, match=f"{path.name} is no inbox item") as error:
        Inbox(layout).items()
    assert "Move it away" in error.value.hint


def test_an_item_that_speaks_of_another_run_is_none(layout: Layout) -> None:
    name = put(layout)
    path = layout.inbox / f"{name}.json"
    path.write_text(path.read_text().replace(f'"run": "{RUN}"', f'"run": "{OTHER}"'))
    with pytest.raises(Corrupt):
        Inbox(layout).get(OTHER)


def test_no_inbox_is_an_empty_one_and_makes_nothing(layout: Layout) -> None:
    assert Inbox(layout).items() == []
    assert not Inbox(layout).closed(RUN)
    assert not layout.home.exists()


PUT = """
import sys
from pathlib import Path
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout
inbox = Inbox(Layout.of(Path(sys.argv[1]), Path(sys.argv[2])))
for n in range(10):
    run = f"r20261201-03{int(sys.argv[3]):02}{n:02}-aaaa"
    for time in range(2):
        inbox.put(run=run, kind="result", reason="internal", goal="g", question="", offers=(),
                  evidence={}, at=1.0)
"""
SAME = """
import sys
from pathlib import Path
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout
inbox = Inbox(Layout.of(Path(sys.argv[1]), Path(sys.argv[2])))
for n in range(10):
    name = inbox.put(run="r20261201-030000-aaaa", kind="question", reason="stuck:idle", goal="g",
                     question="?", offers=(), evidence={}, at=1.0)
    inbox.close(name, "answered", f"{sys.argv[3]}:{n}")
"""


def eight(code: str, layout: Layout) -> None:
    args = [str(layout.common), str(layout.state)]
    workers = [subprocess.Popen([sys.executable, "-c", code, *args, str(n)]) for n in range(8)]
    assert [w.wait() for w in workers] == [0] * 8


def test_eight_processes_lose_no_item(layout: Layout) -> None:
    eight(PUT, layout)
    items = Inbox(layout).items()
    assert len(items) == len({i["run"] for i in items}) == 80


def test_eight_processes_on_one_run_lose_no_answer(layout: Layout) -> None:
    eight(SAME, layout)
    said = [
        h["answer"]
        for item in Inbox(layout).of_run(RUN)
        for h in item["history"]
        if h["what"] == "answered"
    ]
    assert sorted(said) == sorted(f"{w}:{n}" for w in range(8) for n in range(10))
