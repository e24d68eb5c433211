"""What the shim writes can be read while it is written and afterwards, in order, gaps counted."""

from __future__ import annotations

from pathlib import Path

from donewhen.system.output import Follower, Output
from donewhen.system.sink import HEAD, SEGMENT, SEGMENTS, Sink


def written(base: Path, *pieces: bytes) -> Output:
    sink = Sink(str(base), ())
    for piece in pieces:
        sink.write(piece)
    sink.close()
    return Output(base, sink.size)


def test_what_fits_is_there_whole(tmp_path: Path) -> None:
    out = written(tmp_path / "stdout", b"one ", b"two")
    assert (out.size, out.kept, out.skipped) == (7, 7, 0)
    assert (out.head(3), out.tail(3), out.tail(0), out.head_tail(7)) == (
        b"one",
        b"two",
        b"",
        b"one two",
    )


def test_the_two_ends_name_what_is_between(tmp_path: Path) -> None:
    out = written(tmp_path / "stdout", b"a" * 50, b"b" * 50)
    assert out.head_tail(10) == b"aaaaa\n[... 90 bytes left out ...]\nbbbbb"


def test_nothing_was_written(tmp_path: Path) -> None:
    for out in (Output(tmp_path / "none", 0), Output(tmp_path / "no/folder", 0)):
        assert (out.head(9), out.tail(9), out.head_tail(9), out.skipped) == (b"", b"", b"", 0)


def test_a_name_that_begins_alike_is_another_stream(tmp_path: Path) -> None:
    (tmp_path / "stdout.old").write_bytes(b"x")
    (tmp_path / "stdout2.0").write_bytes(b"x")
    assert written(tmp_path / "stdout", b"mine").parts() == [tmp_path / "stdout.0"]


def test_the_head_and_the_last_segments_stay(tmp_path: Path) -> None:
    pieces = [bytes([65 + n]) * SEGMENT for n in range(12)]
    out = written(tmp_path / "stdout", *pieces, b"end")
    assert out.size == 12 * SEGMENT + 3
    assert out.kept <= HEAD + SEGMENTS * SEGMENT
    assert out.skipped == out.size - out.kept
    assert (out.head(1), out.tail(4)) == (b"A", b"Lend")
    assert out.tail(SEGMENT + 3) == pieces[-1] + b"end"


def test_a_reader_who_comes_late_goes_on_at_the_oldest_kept(tmp_path: Path) -> None:
    out = written(tmp_path / "stdout", *(b"x" * SEGMENT for _ in range(12)), b"end")
    seen: list[bytes] = []
    late = Follower(tmp_path / "stdout", seen.append)
    assert late.pump()
    late.close()
    assert late.skipped == out.skipped
    assert sum(map(len, seen)) == out.kept
    assert seen[-1].endswith(b"end")


def test_a_reader_who_stopped_goes_on_where_the_files_do(tmp_path: Path) -> None:
    sink = Sink(str(tmp_path / "stdout"), ())
    seen: list[bytes] = []
    reader = Follower(tmp_path / "stdout", seen.append)
    assert not reader.pump()
    for _ in range(12):
        sink.write(b"x" * SEGMENT)
        if sink.number == 0:
            reader.pump()
    sink.close()
    reader.pump()
    reader.close()
    assert reader.skipped + sum(map(len, seen)) == sink.size


class Interrupted(Follower):
    """Between its look at the end of a file and its look for the next one, the writer goes on."""

    turns = 0

    def _drain(self) -> bool:
        news = super()._drain()
        self.turns += 1
        if self.turns == 1:
            with (self.base.parent / "stdout.0").open("ab") as out:
                out.write(b"between ")
            (self.base.parent / "stdout.1").write_bytes(b"after")
        return news


def test_what_is_written_just_before_the_next_file_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "stdout.0").write_bytes(b"before ")
    seen: list[bytes] = []
    reader = Interrupted(tmp_path / "stdout", seen.append)
    reader.pump()
    reader.close()
    assert b"".join(seen) == b"before between after"


def test_a_folder_that_goes_away_loses_output_and_nothing_else(tmp_path: Path) -> None:
    sink = Sink(str(tmp_path / "gone/stdout"), ())
    sink.write(b"x" * (HEAD + 1))
    sink.close()
    out = Output(tmp_path / "gone/stdout", sink.size)
    assert (out.size, out.skipped) == (HEAD + 1, HEAD + 1)
