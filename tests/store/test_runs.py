"""Runs: made whole or not at all, found by what people type, mended from the mirror."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.errors import Conflict, Corrupt, Locked, NotFound, StoreError, UsageError
from donewhen.store.journal import Journal
from donewhen.store.layout import RUN_ID, Layout
from donewhen.store.runs import RunStore
from donewhen.system import locks

RUN, OTHER = "r20261201-030000-aaaa", "r20261201-030000-abbb"
CONTRACT = {"version": 1, "goal": "Größe \udcff", "roots": [{"path": "/r", "base": "b"}]}


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    (tmp_path / ".git").mkdir()
    return RunStore(Layout.of(tmp_path / ".git", tmp_path / "state"))


def journal(store: RunStore) -> Journal:
    return Journal.open(store.layout.journal(RUN), store.layout.mirror_journal(RUN))


def driven(store: RunStore, records: int = 3) -> None:
    store.create(RUN, CONTRACT)
    for number in range(records):
        journal(store).append(number, [{"kind": "event", "type": "Note", "data": {"n": number}}])


def test_an_id_says_when(store: RunStore) -> None:
    found = store.new_id(1796094000.0)
    assert RUN_ID.fullmatch(found)
    assert found.startswith("r20261201-030000-")


def test_a_run_is_private_and_its_contract_is_here_and_in_the_mirror(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    layout = store.layout
    assert store.contract(RUN) == CONTRACT
    assert layout.contract(RUN).read_bytes() == layout.mirror_contract(RUN).read_bytes()
    assert layout.run(RUN).stat().st_mode & 0o777 == 0o700
    assert layout.mirror(RUN).stat().st_mode & 0o777 == 0o700
    for path in [*layout.run(RUN).iterdir(), layout.mirror_contract(RUN)]:
        assert path.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch("[0-9a-f]{64}", store.contract_hash(RUN))
    assert [p.name for p in layout.runs.iterdir()] == [RUN]


def test_a_contract_is_written_once(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    with pytest.raises(Conflict, match=f"there is a run {RUN} already"):
        store.create(RUN, {"goal": "another"})
    assert store.contract(RUN) == CONTRACT


def test_only_one_of_eight_processes_makes_a_run(store: RunStore) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from donewhen.errors import StoreError\n"
        "from donewhen.store.layout import Layout; from donewhen.store.runs import RunStore\n"
        "store = RunStore(Layout.of(Path(sys.argv[1]), Path(sys.argv[2])))\n"
        f"try: store.create({RUN!r}, {{'goal': sys.argv[3]}}); print(sys.argv[3])\n"
        "except StoreError: pass"
    )
    args = [str(store.layout.common), str(store.layout.state)]
    makers = [
        subprocess.Popen([sys.executable, "-c", code, *args, str(n)], stdout=subprocess.PIPE)
        for n in range(8)
    ]
    said = [m.communicate()[0].decode().strip() for m in makers]
    assert [m.returncode for m in makers] == [0] * 8
    (winner,) = filter(None, said)
    assert store.contract(RUN)["goal"] == winner
    assert [p.name for p in store.layout.runs.iterdir()] == [RUN]


@pytest.mark.parametrize("bad", ["", "..", f"{RUN}/..", "../../etc"])
def test_an_id_that_is_none_reaches_no_file(store: RunStore, bad: str) -> None:
    for attempt in (store.contract, store.request_cancel, store.cancel_requested, store.restore):
        with pytest.raises(NotFound):
            attempt(bad)
    with pytest.raises(NotFound):
        store.find(bad)
    with pytest.raises(NotFound):
        store.create(bad, CONTRACT)


def test_finding_by_a_prefix(store: RunStore) -> None:
    with pytest.raises(NotFound, match="there are no runs here"):
        store.find("r2026")
    for run in (RUN, OTHER, "r20250101-000000-0000"):
        store.create(run, CONTRACT)
    assert store.find(RUN) == RUN
    assert store.find("r2025") == "r20250101-000000-0000"
    with pytest.raises(UsageError, match=f"fits 2 runs: {OTHER}, {RUN}"):
        store.find("r2026")
    with pytest.raises(NotFound, match=rf"no run 'r20261201-030000-aaab' \(there are: {RUN}"):
        store.find("r20261201-030000-aaab")


def test_other_folders_are_no_runs(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    for name in ("notes", f".{OTHER}.123", f"{OTHER}.old"):
        (store.layout.runs / name).mkdir()
    assert store.list() == [RUN]


@pytest.mark.parametrize("text", ["{", "null", "[" * 100_000, None], ids=lambda t: repr(t)[:9])
def test_a_contract_that_cannot_be_read_names_its_mirror(store: RunStore, text: str | None) -> None:
    store.create(RUN, CONTRACT)
    for path in (store.layout.contract(RUN), store.layout.mirror_contract(RUN)):
        path.unlink() if text is None else path.write_text(text)
    with pytest.raises(Corrupt) as error:
        store.contract(RUN)
    assert str(store.layout.contract(RUN)) in error.value.message
    assert str(store.layout.mirror_contract(RUN)) in error.value.hint


def test_a_changed_contract_is_found_and_without_mirror_believed(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    before = store.contract_hash(RUN)
    store.layout.contract(RUN).write_text(json.dumps({**CONTRACT, "goal": "less"}))
    for attempt in (store.contract, store.contract_hash):
        with pytest.raises(Corrupt, match="was changed since the run started"):
            attempt(RUN)
    store.layout.mirror_contract(RUN).unlink()
    assert store.contract(RUN)["goal"] == "less"
    assert store.contract_hash(RUN) != before


def test_two_runners_never_drive_one_run(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    path = store.layout.runner_lock(RUN)
    assert path.parent == store.layout.run(RUN)
    with locks.lock(path), pytest.raises(Locked, match=r"runner\.lock is held by process"):  # noqa: SIM117
        with locks.lock(path):
            pass


def test_a_cancel_is_asked_once_and_stays(store: RunStore) -> None:
    store.create(RUN, CONTRACT)
    assert not store.cancel_requested(RUN)
    store.request_cancel(RUN)
    store.request_cancel(RUN)
    assert RunStore(store.layout).cancel_requested(RUN)
    with pytest.raises(NotFound, match=f"no run {OTHER}"):
        store.request_cancel(OTHER)


# -- mending ---------------------------------------------------------------------------------------


def test_what_is_whole_is_not_lost_and_restoring_it_changes_nothing(store: RunStore) -> None:
    driven(store)
    before = {p: p.read_bytes() for p in store.layout.run(RUN).iterdir() if p.suffix != ".lock"}
    assert store.lost() == ()
    store.restore(RUN)
    assert {p: p.read_bytes() for p in store.layout.run(RUN).iterdir() if p in before} == before
    assert not list(store.layout.run(RUN).glob("*broken*"))


def test_a_removed_folder_is_known_as_lost_and_comes_back(store: RunStore) -> None:
    import shutil

    driven(store)
    whole = store.layout.journal(RUN).read_bytes()
    shutil.rmtree(store.layout.home)
    assert (store.list(), store.lost()) == ([], (RUN,))
    store.restore(RUN)
    assert (store.list(), store.lost()) == ([RUN], ())
    assert store.contract(RUN) == CONTRACT
    assert store.layout.journal(RUN).read_bytes() == whole
    assert (store.layout.home / "README").exists()
    journal(store).append(3, [{"kind": "event", "type": "Note", "data": {}}])


def test_a_changed_contract_and_a_cut_journal_come_back_and_are_kept_aside(
    store: RunStore,
) -> None:
    driven(store)
    contract, path = store.layout.contract(RUN), store.layout.journal(RUN)
    whole = path.read_bytes()
    contract.write_text("{}")
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    store.restore(RUN)
    assert store.contract(RUN) == CONTRACT
    assert path.read_bytes() == whole
    assert (contract.parent / "contract.broken").read_text() == "{}"
    assert (contract.parent / "journal.broken").read_bytes() == whole[: whole.index(b"\n") + 1]


def test_a_removed_mirror_is_written_again(store: RunStore) -> None:
    import shutil

    driven(store)
    shutil.rmtree(store.layout.state)
    assert store.lost() == ()
    store.restore(RUN)
    layout = store.layout
    assert layout.mirror_contract(RUN).read_bytes() == layout.contract(RUN).read_bytes()
    assert layout.mirror_journal(RUN).read_bytes() == layout.journal(RUN).read_bytes()


def test_what_neither_place_has_cannot_be_restored(store: RunStore) -> None:
    with pytest.raises(NotFound, match="nor in the mirror"):
        store.restore(RUN)
    driven(store)
    for path in (store.layout.journal(RUN), store.layout.mirror_journal(RUN)):
        path.write_text("broken\n")
    with pytest.raises(Corrupt):
        store.restore(RUN)


def test_a_folder_that_cannot_be_made_is_said(store: RunStore) -> None:
    store.layout.prepare()
    store.layout.runs.write_text("a file in the way")
    with pytest.raises(StoreError, match="cannot create the folder"):
        store.create(RUN, CONTRACT)
