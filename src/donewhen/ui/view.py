"""Pure: what to show of plans, runs, verdicts and inbox items, as lines and as JSON values.

Every screen draws what this module computes, so that no two of them can disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from donewhen.core.reasons import exit_code
from donewhen.core.waiver import WAIVABLE
from donewhen.ui.text import duration, many, short
from donewhen.ui.verdicts import verdict_lines

if TYPE_CHECKING:
    from donewhen.core.state import LoopState
    from donewhen.drivers.glancing import Glance
    from donewhen.drivers.plan import Plan
    from donewhen.drivers.reading import Overview
    from donewhen.drivers.run import Run
    from donewhen.gates.base import GateDef

# -- before a run ------------------------------------------------------------------------------


def plan_lines(plan: Plan) -> list[str]:
    """The banner: at most eight lines."""
    limits = plan.limits
    money = f"${limits.usd:g}" if limits.usd else "no money cap"
    tokens = f", {limits.tokens} tokens" if limits.tokens else ""
    agents = " -> ".join(
        f"{a.label} ({'FULL ACCESS' if a.permissions == 'full' else 'edit'})" for a in plan.agents
    )
    turns = many(limits.max_iterations, "iteration")
    where = "in this checkout (in place)" if plan.in_place else "a worktree of its own"
    lines = [
        f"goal    {short(plan.goal)}",
        f"base    your tree at {plan.checkout}, uncommitted files included",
        f"where   {where}; push is refused",
        f"gates   {gates_line(plan)}",
        f"done    {done_line(plan)}",
        f"caps    {turns}, {duration(limits.wall_s)}, {money}{tokens}",
        f"agent   {agents}",
    ]
    if plan.provision.link:
        lines.append(f"shared  {', '.join(plan.provision.link)} (symlinks into your checkout)")
    return lines


def done_line(plan: Plan) -> str:
    if not plan.gates:
        return "when you say so: nothing is measured"
    if plan.accept_no_regression:
        return f"every required gate green (baseline {plan.baseline}; no regression is enough)"
    return f"every required gate green, one of them red before (baseline {plan.baseline})"


def gates_line(plan: Plan) -> str:
    if not plan.gates:
        return 'none found, so there is one turn (name one: --gate "pytest -q")'
    return "; ".join(
        f"{g.name}: {short(g.command, 60)}{' (weak: exit code only)' if g.weak else ''}"
        for g in plan.gates
    )


# -- a run -------------------------------------------------------------------------------------


def run_object(run: Run, state: LoopState) -> dict[str, Any]:
    """The one object of `run --json`."""
    from donewhen.drivers.ending import evidence

    kept = evidence(run, state)
    return {
        "run": run.id,
        "reason": state.reason,
        "exit": exit_code(state.reason, state.signal),
        "iterations": state.completed,
        "proof": state.proof.value,
        "tree": state.best_tree or state.tree,
        "branch": kept["branch"],
        "verdict": kept["verdict"],
        "usage": {"usd": state.spent.usd, "tokens": state.spent.tokens, "known": state.spent.known},
        "wall_s": round(max(0.0, state.last_at - state.started_at - state.waited_s), 3),
    }


SAYS = {
    "gates-passed": "Done: every gate passed in a clean room, and they were not all green before.",
    "stuck:idle": "Stuck: the agent changed nothing, several times in a row.",
    "stuck:repeat": "Stuck: exactly the same findings, several times in a row.",
    "stuck:cycle": "Stuck: it goes in a circle; this state was there before.",
    "stuck:stagnation": "Stuck: it changes things, and nothing gets better.",
    "stuck:thrash": "Stuck: a finding was fixed and came back, again and again.",
    "max-iterations": "The iterations are used up and the gates are not green.",
    "budget": "A budget is used up and the gates are not green.",
    "integrity": "The gates are green only because tests or their configuration were weakened.",
    "tampered": "Something was changed that is not the agent's to change.",
    "agent-unavailable:auth": "The agent is not logged in, or its key is refused; no iteration was "
    "spent on that. Log in, then resume.",
    "agent-unavailable:credit": "The agent's account has no credit left; no iteration "
    "was spent on that.",
    "agent-unavailable:limited": "The agent's usage limit is reached; no iteration was "
    "spent on that.",
    "agent-unavailable": "The agent could not work; no iteration was spent on that.",
    "gate-error": "A gate cannot measure: its tool does not start, refuses its arguments or does not "
    "see the tree.",
    "needs-human:unproven": "All gates are green, but they were before: nothing measured shows "
    "that the goal was reached.",
    "needs-human:no-gate": "There is no gate, so nothing was measured. The diff is yours to judge.",
    "needs-human:test-change": "Green, but what judges was changed: is that right?",
    "needs-human": "A person is asked.",
    "cancelled": "Cancelled. Its states stay pinned.",
    "interrupted": "Interrupted; nothing is lost.",
    "internal": "An error of donewhen or of this machine ended the run.",
}


NO_REGRESSION = (
    "Accepted without proof: every gate passed in a clean room, but they all passed before; nothing "
    "measured shows that the goal was reached."
)


def says(reason: str, proof: str = "") -> str:
    """A reason in one sentence; what a pass proves is part of it."""
    if reason == "gates-passed" and proof == "no-regression":
        return NO_REGRESSION
    return SAYS.get(reason) or SAYS.get(reason.partition(":")[0], reason)


def next_commands(run_id: str, reason: str, state: LoopState) -> list[str]:
    """What a person can type now."""
    kind = reason.partition(":")[0]
    if kind == "gates-passed":
        return [f"donewhen inbox show {run_id}", f"donewhen inbox accept {run_id}"]
    if reason == "needs-human:unproven":
        return [
            f"donewhen inbox accept {run_id}",
            'donewhen run "..." --gate "a command that fails now"',
        ]
    if reason == "needs-human:no-gate":
        return [f"donewhen inbox accept {run_id}", 'donewhen run "..." --gate "pytest -q"']
    if kind == "gate-error":
        return [
            f"donewhen why {run_id}",
            f"donewhen resume {run_id}  (once its tool is mended)",
            'donewhen run "..." --gate CMD  (if the gate was wrong: a run keeps its gates)',
        ]
    if kind in {"interrupted", "agent-unavailable"}:
        return [f"donewhen resume {run_id}"]
    if kind == "budget":
        flag = {"usd": "--budget-usd X", "tokens": "--budget-tokens N", "wall": "--timeout DUR"}
        more = flag[reason.partition(":")[2]]
        return [f"donewhen why {run_id}", f"donewhen resume {run_id} {more}  (more than it had)"]
    if kind == "max-iterations":
        return [
            f"donewhen why {run_id}",
            f"donewhen resume {run_id} --max-iter {state.iteration + 10}",
        ]
    if kind == "cancelled":
        return []
    return [f"donewhen why {run_id}", f"donewhen inbox show {run_id}"]


def result_lines(run: Run, state: LoopState) -> list[str]:
    """The end of a run on screen."""
    ended = run_object(run, state)
    plural = "" if state.completed == 1 else "s"
    lines = [
        f"{state.reason} (exit {ended['exit']}) after {state.completed} iteration{plural}, "
        f"{duration(ended['wall_s'])}",
        says(state.reason, state.proof.value),
    ]
    lines += [f"  {short(text, 400)}" for text in details(run, state)]
    if ended["branch"] and state.best_iteration:
        lines.append(f"branch  {ended['branch']}")
    return lines + [f"next    {text}" for text in next_commands(run.id, state.reason, state)]


def details(run: Run, state: LoopState) -> list[str]:
    """What exactly went wrong, where the reason alone does not say it."""
    from donewhen.drivers.reading import kept_verdict

    if not state.reason.startswith("gate-error:"):
        return [state.detail] if state.detail else []
    verdict = kept_verdict(run.repo, run.id, state.completed) or {}
    name = state.reason.partition(":")[2]
    return [f"{name}: {g['why']}" for g in verdict.get("gates", []) if g["name"] == name]


def status_object(seen: Overview) -> dict[str, Any]:
    """`status --json` of one run."""
    state = seen.state
    return {
        "run": seen.id,
        "goal": seen.plan.goal,
        "reason": state.reason,
        "exit": exit_code(state.reason, state.signal) if state.reason else None,
        "phase": state.phase.value,
        "running": seen.running,
        "iterations": state.completed,
        "proof": state.proof.value,
        "tree": state.tree,
        "usage": {"usd": state.spent.usd, "tokens": state.spent.tokens, "known": state.spent.known},
    }


def stands(seen: Overview) -> str:
    """One word or reason for the state of a run."""
    if seen.state.reason:
        return seen.state.reason
    if seen.running:
        return f"running ({seen.state.phase.value}, iteration {seen.state.iteration})"
    return "stopped without a reason: donewhen resume"


def glance_object(seen: Glance) -> dict[str, Any]:
    """One run in `status --json` without an id."""
    return {
        "run": seen.id,
        "goal": seen.goal,
        "reason": seen.reason,
        "running": seen.running,
        "iterations": seen.iterations,
    }


def runs_lines(runs: Iterable[Glance]) -> list[str]:
    lines = [f"{g.id}  {glanced(g):<28}  {short(g.goal, 60)}" for g in runs]
    return lines or ['No runs here yet. Type: donewhen run "make the tests pass"']


def glanced(seen: Glance) -> str:
    if seen.reason:
        return seen.reason
    return "running" if seen.running else "stopped: donewhen resume"


def status_lines(seen: Overview) -> list[str]:
    state = seen.state
    usage = (
        f"${state.spent.usd:.4f}, {state.spent.tokens} tokens"
        if state.spent.known
        else "not reported"
    )
    return [
        f"run     {seen.id}",
        f"goal    {short(seen.plan.goal)}",
        f"state   {stands(seen)}",
        f"phase   {state.phase.value}, iteration {state.iteration} of {seen.plan.limits.max_iterations}",
        f"agent   {' -> '.join(a.label for a in seen.plan.agents)}",
        f"usage   {usage}",
        *(f"next    {t}" for t in next_commands(seen.id, state.reason, state) if state.reason),
    ]


def why_object(seen: Overview) -> dict[str, Any]:
    """`why --json`: the status, the sentence, what was tried and what is red."""
    return {
        **status_object(seen),
        "says": says(seen.state.reason, seen.state.proof.value)
        if seen.state.reason
        else stands(seen),
        "detail": seen.state.detail,
        "tried": list(seen.state.tried),
        "red": [g for g in (seen.verdict or {}).get("gates", []) if g["state"] != "pass"],
    }


def why_lines(seen: Overview) -> list[str]:
    state = seen.state
    lines = [f"{seen.id}: {stands(seen)}"]
    if state.reason:
        lines.append(says(state.reason, state.proof.value))
    if state.detail:
        lines.append(f"  {short(state.detail, 300)}")
    if state.tried:
        lines += ["", "what was tried:", *(f"  {line}" for line in state.tried)]
    if seen.altered:
        lines += ["", f"{seen.altered} was changed since it was recorded, and is not shown"]
    if seen.verdict:
        lines += ["", *verdict_lines(seen.verdict)]
    if state.reason:
        lines += ["", *(f"next    {t}" for t in next_commands(seen.id, state.reason, state))]
    return lines


def init_text(gates: Iterable[GateDef]) -> str:
    """donewhen.toml with what was detected."""
    lines = ["# What `done` means here. docs: donewhen --help", "version = 1", ""]
    for gate in gates:
        lines += [
            f"[gates.{gate.name}]  # {gate.why}",
            f"run = {json.dumps(gate.command, ensure_ascii=False)}",
            *(['format = "exit"  # weak: judged by its exit code alone'] if gate.weak else []),
            "",
        ]
    if len(lines) == 3:
        lines += ["# [gates.tests]", '# run = "pytest -q"', ""]
    return "\n".join(lines)


# -- journal and inbox -------------------------------------------------------------------------


def record_line(record: Mapping[str, Any]) -> str:
    """One journal record on a line."""
    data = json.dumps(record["data"], ensure_ascii=False, sort_keys=True)
    arrow = "->" if record["kind"] == "intent" else "  "
    return f"{record['seq']:>5} {arrow} {record['type']:<12} {short(data, 160)}"


def item_line(item: Mapping[str, Any]) -> str:
    what = item["reason"]
    return f"{item['id']:<26} {item['state']:<9} {what:<24} {short(item['goal'], 48)}"


def item_lines(item: Mapping[str, Any], verdict: Mapping[str, Any] | None) -> list[str]:
    """`inbox show`."""
    proof = item["evidence"].get("proof", "")
    lines = [
        f"item    {item['id']} ({item['state']})",
        f"run     {item['run']}",
        f"goal    {short(item['goal'])}",
        f"reason  {item['reason']}: {says(item['reason'], proof)}",
        f"proof   {proof}",
    ]
    if item["question"]:
        lines.append(f"asks    {item['question']}")
    if branch := item["evidence"].get("branch"):
        lines.append(f"branch  {branch}")
    if stat := item["evidence"].get("diffstat"):
        lines += ["", *stat.rstrip("\n").splitlines()]
    if verdict:
        lines += ["", *verdict_lines(verdict, numbered=item["reason"] in WAIVABLE)]
    if item["state"] in {"open", "later"}:
        lines += [
            "",
            f"next    donewhen inbox accept {item['run']}",
            f"next    donewhen inbox reject {item['run']}",
        ]
        if verdict and verdict["integrity"] and item["reason"] in WAIVABLE:
            lines += [f"next    donewhen inbox allow {item['run']}  (then resume judges again)"]
    return lines
