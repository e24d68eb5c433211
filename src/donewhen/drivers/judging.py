"""JUDGE: the baseline, a verdict an iteration, the deciding one in a clean room, a merged tree.

Keeps in memory what this process measured; after a resume the baseline is read back from the
evidence that the journal names, the deciding verdict is always measured anew.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from donewhen.core.codec import build
from donewhen.core.fingerprint import digest
from donewhen.core.verdict import (
    Finding,
    GateResult,
    GateState,
    Proof,
    Purpose,
    Summary,
    Verdict,
)
from donewhen.drivers import submodules
from donewhen.drivers.progress import Progress
from donewhen.drivers.provision import link_signature, provision
from donewhen.drivers.run import Run, environment, tools
from donewhen.errors import Corrupt, DonewhenError
from donewhen.gates.base import GateDef
from donewhen.gates.env import gate_environment
from donewhen.judge import baseline as base_rules
from donewhen.judge import cleanroom
from donewhen.judge.baseline import Baseline
from donewhen.judge.cache import Cache
from donewhen.judge.judge import Request, added_up, judge, unseen
from donewhen.judge.outward import outward
from donewhen.judge.planted import doubtful
from donewhen.judge.sight import Sight, sight
from donewhen.judge.summary import summary
from donewhen.store.layout import Layout
from donewhen.store.waivers import Waivers
from donewhen.system import clock, fs, proc

SETUP_S = 1800.0
LAST_S = 60.0


class Links:
    """Folders shared by symlink with the user's checkout: a change through one is found."""

    def __init__(self, run: Run) -> None:
        self.source = run.plan.checkout
        self.names = run.plan.provision.link
        self.changed = False

    def signature(self) -> str:
        return link_signature(self.source, self.names) if self.names else ""

    def compare(self, before: str) -> None:
        self.changed = self.changed or self.signature() != before

    def findings(self) -> tuple[Finding, ...]:
        if not self.changed:
            return ()
        names = ", ".join(self.names)
        message = f"what is linked from your checkout was changed: {names}"
        return (Finding("integrity", "linked-folder", message, fingerprint=digest("link", names)),)


class Bench:
    """The judge's bench of one run: everything that has to do with verdicts."""

    def __init__(
        self, run: Run, watch: Callable[[Progress], None], stopping: Callable[[], bool]
    ) -> None:
        self.run = run
        self.watch = watch
        self.stopping = stopping
        self.links = Links(run)
        self.last = kept_verdict(run)
        self._gates = run.plan.gates
        self._before: Baseline | None = None
        self._sight: Sight | None = None

    def judge(
        self, iteration: int, purpose: Purpose, keyed: str = "", left_s: float = math.inf
    ) -> Summary:
        """Measure, keep verdict.json, and boil it down for the core.

        `keyed` is the tree's key if nothing has run since it was taken; the deciding verdict takes
        its own. `left_s` is what the run has left.
        """
        self._gates = within(self.run.plan.gates, purpose, left_s)
        links = self.links.signature()
        if purpose is Purpose.DECIDING:
            verdict = self._deciding(iteration)
        else:
            verdict = judge(replace(self._request(iteration, purpose), keyed=keyed))
        if purpose is Purpose.BASELINE and not self.run.workspace.in_place:
            verdict = self._seeing(verdict)
        self.links.compare(links)
        here = self.run.workspace.here
        out = outward(here, self.run.base.tree, verdict.tree)
        verdict = _with(verdict, (*self.links.findings(), *out))
        if purpose is Purpose.BASELINE:
            self._before = base_rules.from_results(verdict.gates)
        self.last = verdict
        data = json.dumps(verdict.to_dict(), indent=1).encode()
        return summary(verdict, self.run.evidence.put(iteration, "verdict.json", data))

    def sight_env(self) -> Mapping[str, str]:
        """What gates and agent need in their environment to see the run's own tree."""
        return self._seen().env

    def ready(self, left_s: float = math.inf) -> bool:
        """The worktree, with what the configuration puts into it; True if it had to be made."""
        run = self.run
        begun = run.dir / "set-up-begun"  # a checkout whose set-up was cut off is made anew
        if not run.workspace.in_place:
            if begun.exists():
                run.repo.git.worktree_remove(run.workspace.path)
            elif not run.workspace.path.exists():
                begun.touch(mode=0o600)
        made = run.workspace.create()
        if made:
            provide(run, run.workspace.path, run.dir / "setup", left_s, self.stopping)
        begun.unlink(missing_ok=True)
        return made

    def _seen(self) -> Sight:
        if self._sight is None:
            plan, place = self.run.plan, self.run.workspace
            env = environment(self.run)
            nothing = place.in_place
            self._sight = (
                Sight()
                if nothing
                else sight(place.path, self._tools(), plan.gates, env, plan.prefix)
            )
        return self._sight

    def _tools(self) -> Path:
        return tools(self.run)

    def _request(self, iteration: int, purpose: Purpose) -> Request:
        run, seen = self.run, self._seen()
        return Request(
            tree=run.workspace.path,
            checkout=self._tools(),
            gates=self._gates,
            folder=fresh(run.evidence.folder(iteration) / "gates", purpose.value),
            environ=environment(run),
            keeper=run.workspace.keeper,
            base=run.base.tree,
            purpose=purpose,
            mode=run.plan.baseline,
            rules=run.plan.integrity,
            before=None if purpose is Purpose.BASELINE else self.before(),
            extra_env={**seen.env, **run.no_push, "DONEWHEN_RUN": run.id},
            blind=seen.blind,
            notes=seen.notes,
            own=not run.workspace.in_place,
            built=bool(run.plan.provision.setup),
            marker=f"{run.id}-{iteration}-{purpose.value}",
            cache=None if purpose is Purpose.DECIDING else cache_of(run.repo.layout),
            hurry=purpose is Purpose.ITERATION,
            on_gate=lambda result: self.watch(
                Progress("gate", f"{result.name}: {result.state.value}, {result.why}", iteration)
            ),
            cancelled=self.stopping,
        )

    def before(self) -> Baseline:
        """The baseline: measured by this process, or read back and checked against the journal."""
        if self._before is None:
            kept = self.run.repo.layout.iteration(self.run.id, 0) / "verdict.json"
            data = kept.read_bytes()
            if hashlib.sha256(data).hexdigest() != self.run.told.baseline:
                raise Corrupt(f"{kept} is not the baseline that the journal names")
            self._before = base_rules.from_verdict(json.loads(data))
        return self._before

    def _seeing(self, verdict: Verdict) -> Verdict:
        """Green test gates that nobody can ask what they read: they must notice broken code."""
        run, gates = self.run, self.run.plan.gates
        doubts = doubtful(gates, verdict.gates)
        if not doubts:
            return verdict
        request = self._request(0, Purpose.BASELINE)
        room = run.repo.layout.tree(f"{run.id}-room")
        provider = _provider(run, request.folder)
        blind = cleanroom.unseeing(request, run.repo.git, run.base.commit, room, provider, doubts)
        seen = tuple(
            unseen(r, g, blind[g.name]) if g.name in blind else r
            for g, r in zip(gates, verdict.gates, strict=True)
        )
        for result in seen:
            if result.name in blind:
                request.on_gate(result)
        return verdict if not blind else replace(verdict, gates=seen, state=added_up(seen))

    def _deciding(self, iteration: int) -> Verdict:
        run = self.run
        request = self._request(iteration, Purpose.DECIDING)
        tree = run.workspace.keeper.key()
        commit = run.repo.git.commit_tree(tree, [run.base.commit], b"donewhen: clean room\n")
        room = run.repo.layout.tree(f"{run.id}-room")
        return cleanroom.decide(
            replace(
                request,
                checkout=run.plan.checkout,
                told=_told(run, iteration),
                waivers=Waivers(run.repo.layout).in_force(run.id, clock.stamp(clock.now())[:10]),
            ),
            run.repo.git,
            tree,
            commit,
            room,
            _provider(run, request.folder, self.stopping),
            run.plan.prefix,
        )


def within(gates: tuple[GateDef, ...], purpose: Purpose, left_s: float) -> tuple[GateDef, ...]:
    """No gate longer than the run has left, but what an agent did is always given LAST_S."""
    most = left_s if purpose is Purpose.BASELINE else max(left_s, LAST_S)
    return tuple(replace(gate, timeout=min(gate.timeout, max(1.0, most))) for gate in gates)


def kept_verdict(run: Run, below: float = math.inf) -> Verdict | None:
    """The newest verdict on disk of an iteration below `below` (0 is the baseline), None for none."""
    folders = [
        p for p in (run.dir / "iterations").glob("*") if p.name.isdigit() and int(p.name) < below
    ]
    for folder in sorted(folders, key=lambda p: -int(p.name)):
        try:
            kept = json.loads((folder / "verdict.json").read_bytes())
            return Verdict(
                tree=kept["tree"],
                base=kept["base"],
                state=GateState(kept["verdict"]),
                proof=Proof(kept["proof"]),
                gates=tuple(build(GateResult, gate) for gate in kept["gates"]),
                integrity=tuple(build(Finding, found) for found in kept["integrity"]),
            )
        except (OSError, ValueError, KeyError, Corrupt):
            continue
    return None


def _told(run: Run, below: int) -> frozenset[str]:
    """Fingerprints of what integrity found in earlier iterations, which the agent has read."""
    found: set[str] = set()
    for number in range(1, below):
        try:
            kept = json.loads(
                (run.repo.layout.iteration(run.id, number) / "verdict.json").read_bytes()
            )
            found |= {str(f["fingerprint"]) for f in kept["integrity"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return frozenset(found)


def cache_of(layout: Layout) -> Cache:
    """Where results of gates are kept for this repository."""
    return Cache(layout.cache, layout.cache_key)


def _with(verdict: Verdict, found: tuple[Finding, ...]) -> Verdict:
    if not found:
        return verdict
    state = GateState.FAIL if verdict.state is GateState.PASS else verdict.state
    return replace(verdict, state=state, integrity=(*verdict.integrity, *found))


def fresh(folder: Path, name: str) -> Path:
    """A folder of that name that is not there yet; a verdict never reads an older one's files."""
    number = 1
    while (folder / f"{name}-{number}").exists():
        number += 1
    fs.make_private_dir(folder / f"{name}-{number}")
    return folder / f"{name}-{number}"


def _provider(
    run: Run, folder: Path, cancelled: Callable[[], bool] | None = None
) -> Callable[[Path], None]:
    return lambda place: provide(run, place, folder / "setup", cancelled=cancelled)


def provide(
    run: Run,
    place: Path,
    folder: Path,
    left_s: float = math.inf,
    cancelled: Callable[[], bool] | None = None,
) -> None:
    """`copy` and `link`, then `setup`, in a fresh checkout. Raises DonewhenError if setup fails."""
    most = min(SETUP_S, max(1.0, left_s))
    what = run.plan.provision
    submodules.fill(place, (run.workspace.path, run.plan.checkout))
    provision(run.plan.checkout, place, what)
    env = gate_environment(environment(run), run.plan.checkout, (), {})
    for number, text in enumerate(what.setup, 1):
        ended = proc.run_once(
            proc.Request(
                ("sh", "-c", text.removeprefix("sh:")),
                place,
                env,
                f"{run.id}-setup-{number}",
                timeout=most,
            ),
            fresh(folder, str(number)),
            cancelled=cancelled,
        )
        if ended.code != 0:
            said = ended.stderr.tail(500).decode("utf-8", "replace").strip()
            how = f"timed out after {most:.0f} s" if ended.timed_out else f"exit {ended.code}"
            raise DonewhenError(f"[workspace] setup {text!r} failed, {how}: {said}")


def judge_scratch(run: Run, tree: str) -> Verdict:
    """Judge a tree that is nowhere checked out (a merge), with the run's gates and baseline."""
    bench = Bench(run, lambda _p: None, lambda: False)
    folder = fresh(run.dir / "merges", tree[:12])
    request = replace(
        bench._request(0, Purpose.DECIDING),
        checkout=run.plan.checkout,
        folder=folder,
        marker=f"{run.id}-merge",
    )
    commit = run.repo.git.commit_tree(tree, [run.base.commit], b"donewhen: merged\n")
    room = run.repo.layout.tree(f"{run.id}-room")
    return cleanroom.decide(
        request, run.repo.git, tree, commit, room, _provider(run, folder), run.plan.prefix
    )
