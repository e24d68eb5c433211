"""ANCHOR: gather the seven parts of the prompt from what is on disk; rendering is core.anchor's."""

from __future__ import annotations

from pathlib import Path

from donewhen.config.model import Integrity
from donewhen.core.anchor import Parts, render
from donewhen.core.commands import Anchor
from donewhen.core.feedback import feedback
from donewhen.core.state import LoopState
from donewhen.core.verdict import Verdict
from donewhen.drivers.run import Run
from donewhen.gates.holdout import unseen_by_agents

GUIDES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "CONTRIBUTING.md")
KINDS = {
    "pyproject.toml": "Python",
    "setup.py": "Python",
    "package.json": "JavaScript or TypeScript",
    "go.mod": "Go",
    "Cargo.toml": "Rust",
}


def prompt(
    run: Run,
    command: Anchor,
    state: LoopState,
    verdict: Verdict | None,
    previous: Verdict | None = None,
) -> str:
    """The prompt of the iteration, bounded, never with a previous agent's own reasoning.

    `verdict` is the last one, `previous` that of the iteration before it: what is new is new since.
    """
    plan = run.plan
    place = run.workspace.path / plan.prefix
    goal_file = run.evidence.run_dir / "goal.md"
    return render(
        Parts(
            goal=plan.goal,
            goal_file=str(goal_file),
            gates=tuple((g.name, UNSEEN if g.hidden else g.command) for g in plan.gates),
            protected=_protected(plan.integrity),
            iteration=command.iteration,
            max_iterations=(state.limits or plan.limits).max_iterations,
            rung=run.plan.agents[command.rung].label,
            diffstat=_diffstat(run, state),
            feedback=feedback(unseen_by_agents(verdict), previous) if verdict else "",
            tried=state.tried,
            notes=notes(place),
            guidance=state.guidance,
            nudge=command.nudge,
        ),
        plan.templates,
    )


UNSEEN = "tests that you are not shown"


PROTECTED = (
    "existing tests and their configuration (a weakened test is found, and its old version runs)",
    "the gates' own configuration",
    "donewhen.toml and .donewhen/",
)


def _protected(rules: Integrity) -> tuple[str, ...]:
    own = PROTECTED[1:] if rules.allow_test_changes else PROTECTED
    return (*own, *rules.protect)


def _diffstat(run: Run, state: LoopState) -> str:
    if not state.tree or state.tree == run.base.tree:
        return ""
    return run.repo.git.diffstat(run.base.tree, state.tree)


def notes(place: Path) -> tuple[str, ...]:
    """What the project is, and which of its pages speak to an agent."""
    kinds = {kind: None for mark, kind in KINDS.items() if (place / mark).is_file()}
    found = [f"language: {kind}" for kind in kinds]
    found += [f"read first: {name}" for name in GUIDES if (place / name).is_file()]
    return tuple(found)
