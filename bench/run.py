"""`make bench`: what donewhen adds, in CPU time, as differences and ratios within one run.

Exits 1 if a bound is missed. Writes bench/results.md, with the machine described.
"""

from __future__ import annotations

import itertools
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.contract import Thresholds
from donewhen.drivers.headless import start_run
from donewhen.drivers.prepare import Options, prepare
from donewhen.drivers.progress import Progress
from donewhen.drivers.repo import open_repo
from donewhen.drivers.run import start
from donewhen.store.journal import Journal
from donewhen.system.git import Git
from donewhen.system.treekey import TreeKeeper

HERE = Path(__file__).parent
NEVER = Thresholds(repeat=9999, stagnation=9999, idle=9999, thrash=9999, cycle_min=2, cycle_max=1)


@dataclass(frozen=True)
class Row:
    """One line of the table; `bound` None is reported only."""

    what: str
    value: float
    unit: str
    bound: float | None = None

    @property
    def missed(self) -> bool:
        return self.bound is not None and self.value > self.bound


def cpu_ms() -> float:
    """CPU of this process and of everything it has waited for, in milliseconds."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(1000 * (u.ru_utime + u.ru_stime) for u in used)


def quiet(found: list[float]) -> float:
    """The lower decile: what others do on the machine only ever adds to a measured CPU time."""
    return sorted(found)[len(found) // 10]


def repository(root: Path, files: int) -> None:
    root.mkdir()
    for number in range(files):
        place = root / f"d{number // 100}"
        place.mkdir(exist_ok=True)
        (place / f"f{number}.txt").write_text(f"{number}\n" * 20)
    for words in ("init -q -b main", "add -A", "commit -q -m start"):
        subprocess.run(["git", *words.split()], cwd=root, check=True)


def loop(root: Path, iterations: int, agent: str = "true") -> tuple[str, list[float]]:
    """A real run's id and the CPU of each iteration; the last one may hold the end of the run."""
    repo = open_repo(root)
    options = Options(
        "bench", gates=["false"], agents=[f"command:{agent}"], limits={"max_iterations": iterations}
    )
    run = start(repo, replace(prepare(repo, options), thresholds=NEVER))
    marks: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.text == "the agent works":
            marks.append(cpu_ms())

    start_run(run, watch)
    marks.append(cpu_ms())
    return run.id, [b - a for a, b in itertools.pairwise(marks)]


def shell(root: Path, iterations: int) -> float:
    """The same work without us: start the agent, start the gate; CPU an iteration."""
    before = cpu_ms()
    script = (
        f"i=0; while [ $i -lt {iterations} ]; do /bin/true </dev/null; /bin/false; i=$((i+1)); done"
    )
    subprocess.run(["sh", "-c", script], cwd=root, check=True)
    return (cpu_ms() - before) / iterations


def deciding(root: Path) -> float:
    """CPU of the deciding verdict in the clean room, on top of an iteration."""
    repo = open_repo(root)
    gate = "sh: test -e made.txt"
    agent = "command:touch made.txt"
    run = start(repo, prepare(repo, Options("bench", gates=[gate], agents=[agent])))
    seen: dict[str, float] = {}

    def watch(progress: Progress) -> None:
        seen[progress.text.partition(":")[0]] = cpu_ms()

    start_run(run, watch)
    return seen["deciding verdict (clean room)"] - seen["verdict"]


def resumed(root: Path, run: str, done: int, times: int = 5) -> float:
    """The least CPU of a `resume` that goes on with one iteration more than the run has done."""
    found = []
    for more in range(1, times + 1):
        line = [sys.executable, "-m", "donewhen", "resume", run, "--max-iter", str(done + more)]
        before = cpu_ms()
        code = subprocess.run(line, cwd=root, capture_output=True, check=False).returncode
        found.append(cpu_ms() - before)
        if code != 1:
            raise RuntimeError(f"{' '.join(line)} ended with {code}")
    return min(found)


def started(args: list[str], root: Path, times: int = 9) -> float:
    """The least CPU of a command, in milliseconds."""
    found = []
    for _ in range(times):
        before = cpu_ms()
        subprocess.run([sys.executable, *args], cwd=root, check=True, stdout=subprocess.DEVNULL)
        found.append(cpu_ms() - before)
    return min(found)


@contextmanager
def world() -> Iterator[Path]:
    """A folder with a home and a state of the benchmark's own."""
    with tempfile.TemporaryDirectory(prefix="donewhen-bench-") as folder:
        place = Path(folder)
        config = place / "gitconfig"
        config.write_text("[user]\n\tname = Bench\n\temail = bench@example.org\n")
        mine = {
            "HOME": folder,
            "DONEWHEN_STATE": str(place / "state"),
            "GIT_CONFIG_GLOBAL": str(config),
        }
        before = dict(os.environ)
        os.environ.update(mine)
        try:
            yield place
        finally:
            os.environ.clear()
            os.environ.update(before)


def iterations(place: Path) -> Iterator[Row]:
    for files, count, bound in ((1_000, 201, 80.0), (20_000, 12, 300.0)):
        root = place / f"repo-{files}"
        repository(root, files)
        run, used = loop(root, count)
        plain = shell(root, count)
        added = quiet(used[1:-1]) - plain
        yield Row(f"added to an iteration, {files:,} files", added, "ms CPU", bound)
        file = place / "write-a-file"
        file.write_text("#!/bin/sh\nexec date +%N > made.txt\n")
        file.chmod(0o755)
        writing = quiet(loop(root, 12, str(file))[1][1:-1])
        yield Row(f"the same, the agent writing a file, {files:,} files", writing - plain, "ms CPU")
        yield Row(f"the plain shell loop, {files:,} files", plain, "ms CPU")
        if count > 200:
            early, late = statistics.median(used[1:21]), statistics.median(used[-21:-1])
            yield Row("iterations 180 to 200 against 2 to 20", late / early, "x", 1.25)
            over = resumed(root, run, count) - started(["-m", "donewhen", "--version"], root)
            name = f"resume of a run with {count - 1} iterations, over start-up and the next one"
            yield Row(name, over - quiet(used[-21:-1]), "ms CPU", 300.0)
        yield Row(
            f"the deciding verdict in the clean room, {files:,} files", deciding(root), "ms CPU"
        )


def starts(place: Path) -> Iterator[Row]:
    root = place / "repo-1000"
    bare = started(["-c", "pass"], root)
    for words in (["--version"], ["status"]):
        over = started(["-m", "donewhen", *words], root) - bare
        yield Row(f"`donewhen {words[0]}` over the interpreter", over, "ms CPU", 120.0)


def records(place: Path) -> Iterator[Row]:
    """Wall time of journal records against that of an fsync of as many bytes, in turns.

    Two records are appended at once, as each step of a run does: what happened, and what comes next.
    """
    path = place / "journal" / "journal.jsonl"
    path.parent.mkdir()
    journal = Journal.open(path, place / "mirror" / "journal.jsonl")
    step = [
        {"kind": "event", "type": "Recorded", "data": {"at": 1.0, "commit": "0" * 40}},
        {"kind": "intent", "type": "Anchor", "data": {"iteration": 1, "rung": 0, "nudge": False}},
    ]
    journal.append(0, step)
    size = path.stat().st_size
    ours, bare = [], []
    with (place / "bare").open("ab", buffering=0) as out:
        for _ in range(400):
            began = time.perf_counter()
            journal.append(journal.seq, step)
            between = time.perf_counter()
            out.write(b"x" * size)
            os.fsync(out.fileno())
            bare.append(time.perf_counter() - between)
            ours.append(between - began)
    unit = statistics.median(bare)
    yield Row("an fsync of a step's bytes", 1000 * unit, "ms wall")
    ratio = statistics.median(ours) / unit
    yield Row("a step in the journal (two records, one fsync) against an fsync", ratio, "x")
    yield Row("a journal record against an fsync", ratio / len(step), "x", 2.0)


def keys(place: Path) -> Iterator[Row]:
    """The tree key against the question git answers for everybody, of the same unchanged tree."""
    for files in (10_000, 100_000):
        root = place / f"keyed-{files}"
        repository(root, files)
        keeper = TreeKeeper(Git(root), place / f"index-{files}")
        status = ["git", "status", "--porcelain", "-uall"]
        time.sleep(2)  # git reads files again that are as young as its index
        subprocess.run(["git", "update-index", "-q", "--refresh"], cwd=root, check=True)
        keeper.key()
        key, asked = [], []
        for _ in range(7):
            before = cpu_ms()
            keeper.key()
            between = cpu_ms()
            subprocess.run(status, cwd=root, check=True, stdout=subprocess.DEVNULL)
            asked.append(cpu_ms() - between)
            key.append(between - before)
        ratio = statistics.median(key) / statistics.median(asked)
        yield Row(f"the tree key against git status, {files:,} files", ratio, "x CPU", 2.0)


def table(rows: list[Row]) -> str:
    machine = (
        f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release()}"
    )
    git = subprocess.run(
        ["git", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
    lines = [
        "# Benchmark",
        "",
        "Written by `make bench`. CPU time of all processes together: the least of several runs of a",
        "command, the lower decile of iterations, as what else the machine does only adds; ratios are",
        "of medians.",
        f"Machine: {machine}; Python {platform.python_version()}; {git}.",
        "",
        "| what | measured | bound |",
        "|---|---|---|",
    ]
    for row in rows:
        bound = f"{row.bound:g} {row.unit}" if row.bound is not None else "reported only"
        lines.append(
            f"| {row.what} | {row.value:.2f} {row.unit} | {bound}{' MISSED' if row.missed else ''} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parts: tuple[Callable[[Path], Iterator[Row]], ...] = (iterations, starts, records, keys)
    rows: list[Row] = []
    with world() as place:
        for part in parts:
            for row in part(place):
                rows.append(row)
                print(
                    f"{row.what}: {row.value:.2f} {row.unit}{' MISSED' if row.missed else ''}",
                    flush=True,
                )
    (HERE / "results.md").write_text(table(rows), encoding="utf-8")
    return int(any(row.missed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
