"""judge(tree, gates, base) -> Verdict: run every gate on one tree, which must stay as it is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from donewhen.config.model import Integrity
from donewhen.core.fingerprint import error_fp
from donewhen.core.verdict import Finding, GateResult, GateState, Proof, Purpose, Verdict
from donewhen.core.waiver import Waiver
from donewhen.gates.base import GateDef
from donewhen.gates.run import run_gate, run_gates
from donewhen.judge import baseline as base_rules
from donewhen.judge.baseline import Baseline
from donewhen.judge.cache import Cache, Place
from donewhen.judge.droppings import allowed, dropped
from donewhen.judge.flaky import settled
from donewhen.judge.order import Times, waves
from donewhen.judge.proof import proof
from donewhen.system import clock
from donewhen.system.process import cores
from donewhen.system.treekey import TreeKeeper


@dataclass(frozen=True)
class Request:
    """What to judge. `folder` is a new folder for attempts and reports, outside the tree.

    `keyed` is the tree's key if it was taken just now and nothing has run since ("": take it).
    `keeper` None judges a folder without git: the tree is then unknown ("") and not compared.
    `built` says that set-up commands make the tools in a fresh checkout.
    `cache` keeps results and times; None for a verdict that must be measured. `hurry` lets slow gates
    go unmeasured where a quick one is red. `jobs` 0 is the number of cores.
    `rules` is [integrity] of the configuration.
    `told` are fingerprints of integrity findings that the agent was told of before this verdict.
    `waivers` are what a person allowed of these, and in force.
    `extra_env` and `blind` come from judge.sight; `own` says the checkout is ours to tidy.
    """

    tree: Path
    checkout: Path
    gates: tuple[GateDef, ...]
    folder: Path
    environ: Mapping[str, str]
    keeper: TreeKeeper | None = None
    keyed: str = ""
    base: str = ""
    purpose: Purpose = Purpose.ITERATION
    mode: str = "auto"
    before: Baseline | None = None
    extra_env: Mapping[str, str] = field(default_factory=dict)
    blind: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    own: bool = False
    built: bool = False
    marker: str = "judge"
    jobs: int = 0
    cache: Cache | None = None
    hurry: bool = False
    rules: Integrity = field(default_factory=Integrity)
    told: frozenset[str] = frozenset()
    waivers: tuple[Waiver, ...] = ()
    on_gate: Callable[[GateResult], None] = lambda _result: None
    cancelled: Callable[[], bool] = lambda: False


def judge(request: Request) -> Verdict:
    """All gates on one tree, added up. A gate that changes the tree is an error."""
    tree = request.keyed or (request.keeper.key() if request.keeper else "")
    keys = _keys(request, tree)
    kept = _kept(request, keys)
    times = Times.read(request.cache.folder / "times.json" if request.cache else None)
    fresh = _measured(request, [g for g in request.gates if g.name not in kept], kept, times)
    results = {**kept, **{r.name: r for r in fresh}}
    raw = tuple(results[gate.name] for gate in request.gates)
    times.keep(request.gates, raw)
    if fresh:
        raw = _unchanged(request, tree, raw)
    if request.cache:
        for result in raw:
            request.cache.put(keys[result.name], result, request.environ)
    return verdict(request, tree, raw)


def _keys(request: Request, tree: str) -> dict[str, str]:
    """What each gate's result depends on, "" where nothing may be kept."""
    if not request.cache or not request.keeper or not tree:
        return dict.fromkeys((g.name for g in request.gates), "")
    place = Place(request.keeper.git, tree, request.checkout, request.environ, request.extra_env)
    blind = request.blind
    return {g.name: "" if g.name in blind else request.cache.key(g, place) for g in request.gates}


def _kept(request: Request, keys: Mapping[str, str]) -> dict[str, GateResult]:
    if not request.cache:
        return {}
    found = ((g.name, request.cache.get(keys[g.name], g)) for g in request.gates)
    kept = {name: result for name, result in found if result is not None}
    for result in kept.values():
        request.on_gate(result)
    return kept


def _measured(
    request: Request, gates: list[GateDef], kept: Mapping[str, GateResult], times: Times
) -> list[GateResult]:
    """The quick gates, then the slow ones; these only if they can still matter."""
    quick, slow = waves(gates, times)
    jobs = request.jobs or cores()
    done = list(run_gates(quick, lambda gate: _one(request, gate), jobs))
    red = [r.name for r in (*kept.values(), *done) if r.required and r.state is GateState.FAIL]
    if request.hurry and red:
        return done + [_left_out(gate, red) for gate in slow]
    return done + list(run_gates(slow, lambda gate: _one(request, gate), jobs))


def _left_out(gate: GateDef, red: list[str]) -> GateResult:
    why = f"not run yet: {', '.join(red)} failed first, and this is slow"
    return replace(_error(gate, why), findings=(), skipped=True)


def verdict(request: Request, tree: str, raw: tuple[GateResult, ...]) -> Verdict:
    """Results into a verdict under the baseline's rules."""
    before = base_rules.from_results(raw) if request.purpose is Purpose.BASELINE else request.before
    results = raw
    if before is not None and request.purpose is not Purpose.BASELINE:
        rules = base_rules.rules(request.gates, before, request.mode)
        results = tuple(base_rules.applied(r, rules[r.name], before.get(r.name)) for r in raw)
    state = added_up(results)
    goals = base_rules.goal_gates(request.gates, before or {}, request.mode)
    green = state is GateState.PASS
    return Verdict(
        tree=tree,
        base=request.base,
        state=state,
        proof=Proof.NONE
        if request.purpose is Purpose.BASELINE
        else proof(raw, green, before, goals, request.purpose is Purpose.ITERATION),
        gates=results,
        purpose=request.purpose,
        notes=request.notes,
    )


def added_up(results: tuple[GateResult, ...]) -> GateState:
    """Pass only if every required gate passes; a definite failure weighs more than an error.

    Where no gate is required nothing was decided, which is an error.
    """
    states = {r.state for r in results if r.required}
    if GateState.FAIL in states:
        return GateState.FAIL
    return GateState.ERROR if GateState.ERROR in states or not states else GateState.PASS


def _one(request: Request, gate: GateDef) -> GateResult:
    if gate.name in request.blind:
        why = f"it does not see this tree: its code comes from {request.blind[gate.name]}"
        result = _error(gate, why)
        result = replace(result, blind=True)
    else:
        result = run_one(request, gate)
        result = settled(
            gate,
            result,
            (request.before or {}).get(gate.name),
            request.purpose,
            request.tree,
            lambda again: run_one(request, again),
            clock.stamp(clock.now())[:10],
        )
    request.on_gate(result)
    return result


def run_one(request: Request, gate: GateDef) -> GateResult:
    """One gate's process and its report, nothing settled yet."""
    return run_gate(
        gate,
        request.tree,
        request.folder / gate.name,
        request.environ,
        request.checkout,
        request.extra_env,
        f"{request.marker}-{gate.name}",
        request.cancelled,
    )


def _error(gate: GateDef, why: str) -> GateResult:
    finding = Finding(gate.name, "gate-error", why, fingerprint=error_fp(gate.name, why))
    return GateResult(
        gate.name, GateState.ERROR, why, gate.command, gate.weak, gate.required,
        findings=(finding,), hidden=gate.hidden,
    )  # fmt: skip


def unseen(result: GateResult, gate: GateDef, why: str) -> GateResult:
    """A green result of a gate that does not read the judged tree is an error."""
    return replace(_error(gate, why), blind=True, seconds=result.seconds, log=result.log)


def _unchanged(request: Request, tree: str, raw: tuple[GateResult, ...]) -> tuple[GateResult, ...]:
    """A verdict belongs to one tree: whoever changed it meanwhile did not measure it."""
    if request.keeper is None or not tree:
        return raw
    after = request.keeper.key()
    if after == tree:
        return raw
    writes = [pattern for gate in request.gates for pattern in gate.writes]
    odd = []
    for status, name in request.keeper.git.changed_paths(tree, after):
        path = os.fsdecode(name)
        if dropped(path):
            if request.own and status == "A":
                (request.keeper.git.root / path).unlink(missing_ok=True)
        elif not allowed(path, writes):
            odd.append(path)
    if not odd:
        return raw
    why = (
        f"the tree changed while gates ran: {', '.join(sorted(odd)[:5])} (allow it: writes = [...])"
    )
    return tuple(
        replace(r, state=GateState.ERROR, why=why, findings=(*_error(g, why).findings, *r.findings))
        for g, r in zip(request.gates, raw, strict=True)
    )
