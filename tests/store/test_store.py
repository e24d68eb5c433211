"""Layout, runs, history and inbox on real files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from donewhen.errors import Corrupt, NotFound, StoreError, UsageError
from donewhen.store import history
from donewhen.store.inbox import Inbox
from donewhen.store.layout import Layout, state_home
from donewhen.store.runs import RunStore

RUN, OTHER = "r20261201-030000-aaaa", "r20261201-030000-abbb"


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    (tmp_path / ".git").mkdir()
    return Layout.of(tmp_path / ".git", tmp_path / "state")


# -- layout ----------------------------------------------------------------------------------------


def test_state_goes_where_the_user_says() -> None:
    assert state_home({"DONEWHEN_STATE": "/s", "HOME": "/h", "XDG_STATE_HOME": "/x"}) == Path("/s")
    assert state_home({"HOME": "/h", "XDG_STATE_HOME": "/x"}) == Path("/x/donewhen")
    assert state_home({"HOME": "/h"}) == Path("/h/.local/state/donewhen")
    assert state_home({}).is_absolute()


def test_one_repository_has_one_id_however_it_is_named(tmp_path: Path, layout: Layout) -> None:
    (tmp_path / "link").symlink_to(tmp_path / ".git")
    assert Layout.of(tmp_path / "link", layout.state).repo == layout.repo
    assert Layout.of(tmp_path / "other", layout.state).repo != layout.repo


def test_our_folders_are_private_and_explain_themselves(layout: Layout) -> None:
    layout.prepare()
    for place in (layout.home, layout.state):
        assert place.stat().st_mode & 0o777 == 0o700
        assert "donewhen" in (place / "README").read_text()


@pytest.mark.parametrize("name", ["../../etc", "r1", "", "r20261201-030000-aaaa/../x"])
def test_an_id_is_nothing_but_an_id(layout: Layout, name: str) -> None:
    with pytest.raises(NotFound):
        layout.run(name)


# -- runs ------------------------------------------------------------------------------------------


def made(layout: Layout, *runs: str) -> RunStore:
    store = RunStore(layout)
    for run in runs:
        store.create(run, {"version": 1, "goal": "é\udcff $(x)\n"})
    return store


def test_ids_sort_by_time_and_never_collide(layout: Layout) -> None:
    store = RunStore(layout)
    assert store.new_id(0.0).startswith("r19700101-000000-")
    assert len({store.new_id(0.0) for _ in range(50)}) > 40


def test_a_prefix_finds_a_run_if_it_is_unique(layout: Layout) -> None:
    store = made(layout, RUN, OTHER)
    assert store.find("r20261201-030000-aa") == RUN
    with pytest.raises(UsageError) as two:
        store.find("r2026")
    assert RUN in two.value.message
    assert OTHER in two.value.message
    with pytest.raises(NotFound) as none:
        store.find("r9")
    assert RUN in none.value.message
    assert store.list() == [OTHER, RUN]


def test_the_goal_is_kept_as_it_came(layout: Layout) -> None:
    made(layout, RUN)
    assert (layout.run(RUN) / "goal.md").read_bytes() == "é\udcff $(x)\n".encode(
        errors="surrogateescape"
    )


def test_a_contract_that_was_changed_is_refused(layout: Layout) -> None:
    store = made(layout, RUN)
    path = layout.contract(RUN)
    path.write_text(path.read_text().replace('"version": 1', '"version": 1, "x": 2'))
    with pytest.raises(Corrupt) as caught:
        store.contract(RUN)
    assert str(layout.mirror_contract(RUN)) in caught.value.hint


def test_cancel_is_a_request_on_disk(layout: Layout) -> None:
    store = made(layout, RUN)
    assert not store.cancel_requested(RUN)
    store.request_cancel(RUN)
    assert RunStore(layout).cancel_requested(RUN)


# -- history ---------------------------------------------------------------------------------------


def test_history_is_read_from_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "history.jsonl"
    path.write_text("".join(f'{{"v": 1, "run": "{n}"}}\n' for n in range(100_000)))
    history.append(path, {"run": "last"})
    read = 0
    real = Path.open

    class Counting(io.BufferedReader):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            data = super().read(size)
            read += len(data)
            return data

    def counted(self: Path, mode: str = "r", *args: Any, **more: Any) -> Any:
        if self == path and mode == "rb":
            return Counting(io.FileIO(str(self)))
        return real(self, mode, *args, **more)

    monkeypatch.setattr(Path, "open", counted)
    assert [e["run"] for e in history.tail(path, 3)] == ["last", "99999", "99998"]
    assert 0 < read <= 1 << 16


def test_history_survives_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    history.append(path, {"run": "a"})
    with path.open("ab") as out:
        out.write(b'{"v": 1, "run": "tor')
    history.append(path, {"run": "b"})
    assert [e["run"] for e in history.tail(path, 9)] == ["b", "a"]
    assert history.tail(tmp_path / "nosuch", 3) == []


# -- inbox -----------------------------------------------------------------------------------------


def put(inbox: Inbox, run: str = RUN, reason: str = "gates-passed", question: str = "") -> str:
    return inbox.put(
        run=run,
        kind="question" if question else "result",
        reason=reason,
        goal="g",
        question=question,
        offers=("accept",),
        evidence={"branch": "b"},
        at=1.0,
    )


def test_an_item_is_put_once_however_often(layout: Layout) -> None:
    inbox = Inbox(layout)
    first = put(inbox, reason="stuck:idle", question="how?")
    assert put(inbox, reason="stuck:idle") == first
    (item,) = inbox.items()
    assert (item["question"], item["kind"]) == ("how?", "question")


def test_a_later_end_of_the_same_run_updates_its_item(layout: Layout) -> None:
    inbox = Inbox(layout)
    put(inbox, reason="max-iterations")
    put(inbox, reason="gates-passed")
    (item,) = inbox.items()
    assert (item["reason"], [h["what"] for h in item["history"]]) == (
        "gates-passed",
        ["max-iterations", "gates-passed"],
    )


def test_closing_keeps_what_happened(layout: Layout) -> None:
    inbox = Inbox(layout)
    name = put(inbox)
    inbox.close(name, "accepted")
    assert inbox.items() == []
    assert inbox.closed(RUN)
    assert [h["what"] for h in inbox.get(name)["history"]][-1] == "accepted"


def test_items_are_found_by_their_own_or_their_runs_id(layout: Layout) -> None:
    inbox = Inbox(layout)
    name = put(inbox)
    put(inbox, OTHER)
    assert inbox.get(name)["run"] == inbox.get(RUN)["run"] == RUN
    with pytest.raises(UsageError):
        inbox.get("r2026")
    for nothing in ("", "x", "../x"):
        with pytest.raises(NotFound):
            inbox.get(nothing)


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        Layout.of(tmp_path / ".git", tmp_path / "file" / "state").prepare()
