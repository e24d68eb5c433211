"""The prompt of an iteration: seven parts, each bounded, rendered from templates. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Template

from donewhen.errors import ConfigError

WHOLE = 60_000  # bytes of a prompt
GOAL = 20_000
FEEDBACK = 20_000
PART = 6_000


@dataclass(frozen=True)
class Parts:
    """What an iteration's prompt is made of. `gates` are (name, command) pairs."""

    goal: str
    goal_file: str
    gates: tuple[tuple[str, str], ...]
    protected: tuple[str, ...]
    iteration: int
    max_iterations: int
    rung: str
    diffstat: str = ""
    feedback: str = ""
    tried: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    guidance: str = ""
    nudge: str = ""


def render(parts: Parts, templates: Mapping[str, str]) -> str:
    """The whole prompt, at most WHOLE bytes. Raises ConfigError for a broken template."""
    nudge = _fill("nudge", templates, {"pattern": parts.nudge}) if parts.nudge else ""
    guidance = f"\n# From the person in charge\n\n{parts.guidance}\n" if parts.guidance else ""
    text = _fill(
        "anchor",
        templates,
        {
            "goal": goal_text(parts.goal, parts.goal_file),
            "gates": bounded(_gates(parts.gates), PART),
            "protected": "; nor ".join(parts.protected),
            "iteration": str(parts.iteration),
            "max_iterations": str(parts.max_iterations),
            "rung": parts.rung,
            "state": bounded(_state(parts.diffstat), PART),
            "feedback": bounded(
                parts.feedback or "Nothing has been measured as failing.", FEEDBACK
            ),
            "tried": bounded("\n".join(f"- {t}" for t in parts.tried) or "Nothing yet.", PART),
            "notes": bounded("\n".join(f"- {n}" for n in parts.notes) or "None.", PART),
            "guidance": bounded(guidance, PART),
            "nudge": nudge,
        },
    )
    return bounded(text, WHOLE)


def goal_text(goal: str, file: str) -> str:
    """The goal verbatim; of a very long one the head, and where all of it is."""
    if len(goal.encode("utf-8", "surrogateescape")) <= GOAL:
        return goal
    return f"{bounded(goal, GOAL)}\n\nThe whole goal is in {file}. Read it first."


def _gates(gates: tuple[tuple[str, str], ...]) -> str:
    if not gates:
        return "(none: a person will look at your change)"
    return "\n".join(f"- {name}: `{command}`" for name, command in gates)


def _state(diffstat: str) -> str:
    if not diffstat.strip():
        return "Nothing has been changed since the start."
    return f"Changed since the start:\n\n{diffstat}"


def bounded(text: str, most: int) -> str:
    """At most `most` bytes of UTF-8, cut between characters, saying that it was cut."""
    data = text.encode("utf-8", "surrogateescape")
    if len(data) <= most:
        return text
    end = "\n[... cut ...]"
    return data[: most - len(end)].decode("utf-8", "ignore") + end


def _fill(name: str, templates: Mapping[str, str], values: Mapping[str, str]) -> str:
    try:
        return Template(templates[name]).substitute(values)
    except KeyError as error:
        raise ConfigError(
            f"template {name}.md: unknown placeholder ${error.args[0]}; known: {', '.join(values)}",
            hint=f"Mend .donewhen/prompts/{name}.md",
        ) from error
    except ValueError as error:
        raise ConfigError(
            f"template {name}.md: {error} (a dollar sign is written $$)",
            hint=f"Mend .donewhen/prompts/{name}.md",
        ) from error
