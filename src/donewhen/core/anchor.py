"""The prompt of an iteration: seven parts, each bounded, rendered from templates. Pure.

The parts' bounds add up to less than the whole, so that no part can push out another; the words
of the person in charge come last and are never what is cut. Nothing of a previous agent's own
reasoning may enter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from donewhen.errors import ConfigError

WHOLE = 60_000  # bytes of a prompt
GOAL = 20_000
FEEDBACK = 20_000
PART = 2_500  # every other part
TEMPLATE = 15_000  # a template's own words
CUT = "\n[... cut ...]"

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "anchor": (
        "goal", "gates", "protected", "iteration", "max_iterations", "rung", "state", "feedback",
        "tried", "nudge", "notes", "guidance",
    ),
    "nudge": ("pattern", "meaning"),
}  # fmt: skip
NEEDED = {"anchor": ("goal",), "nudge": ()}  # without it nothing can succeed
AGAIN = frozenset({"iteration", "max_iterations", "pattern", "meaning"})  # too short to matter

NEAR = {
    "repeat": "exactly the same failures came back",
    "cycle": "the work goes round in a circle",
    "stagnation": "no attempt came closer than an earlier one",
    "idle": "nothing in the files was changed, and only files are judged",
    "thrash": "a failure was mended and came back, more than once",
}


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
    nudge: str = ""  # the stuck pattern that is near, "" for none


def render(parts: Parts, templates: Mapping[str, str]) -> str:
    """The whole prompt, at most WHOLE bytes of UTF-8. Raises ConfigError for a broken template."""
    values = {
        "goal": goal_text(parts.goal, parts.goal_file),
        "gates": bounded(_gates(parts.gates), PART),
        "protected": bounded(_listed(parts.protected, "nothing is named"), PART),
        "iteration": str(parts.iteration),
        "max_iterations": str(parts.max_iterations),
        "rung": bounded(parts.rung, 200),
        "state": bounded(_state(parts.diffstat), PART),
        "tried": _listed(latest(parts.tried, PART), "Nothing yet."),
        "nudge": _nudge(parts.nudge, templates),
        "notes": bounded(_listed(parts.notes, "None."), PART),
        "guidance": _guidance(parts.guidance),
    }
    room = WHOLE - _size(templates["anchor"]) - sum(map(_size, values.values()))
    failing = parts.feedback or "Nothing has been measured as failing."
    values["feedback"] = bounded(failing, min(FEEDBACK, room))
    text = _fill("anchor", templates, values)
    # what came in as no UTF-8 is shown escaped: it is no reason to end a run
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def check(name: str, text: str) -> None:
    """Can this text be rendered as template `name`? Raises ConfigError naming what is wrong."""
    template = Template(text)
    known = PLACEHOLDERS[name]
    if not template.is_valid():
        raise _broken(name, "a lone $ (a dollar sign is written $$)")
    used = template.get_identifiers()
    if unknown := [word for word in used if word not in known]:
        said = ", ".join(f"${word}" for word in known)
        raise _broken(name, f"unknown placeholder ${unknown[0]}; known: {said}")
    if twice := [word for word in used if word not in AGAIN and _times(template, word) > 1]:
        raise _broken(name, f"${twice[0]} stands there twice: the prompt would have no bound")
    if _size(text) > TEMPLATE:
        raise _broken(name, f"longer than {TEMPLATE} bytes")
    if missing := [word for word in NEEDED[name] if word not in used]:
        raise _broken(name, f"${missing[0]} is missing: the agent would not be told")


def _times(template: Template, word: str) -> int:
    found = template.pattern.finditer(template.template)
    return sum(word in (match["named"], match["braced"]) for match in found)


def _broken(name: str, what: str) -> ConfigError:
    file = f".donewhen/prompts/{name}.md"
    return ConfigError(f"{file}: {what}", hint=f"Mend it, or remove it: rm {file}")


def _fill(name: str, templates: Mapping[str, str], values: Mapping[str, str]) -> str:
    check(name, templates[name])
    return Template(templates[name]).substitute(values)


# -- the parts ---------------------------------------------------------------------------------


def goal_text(goal: str, file: str) -> str:
    """The goal verbatim; of a very long one the head, and where all of it is."""
    goal = goal.removeprefix("\ufeff")  # a byte order mark is no word
    if _size(goal) <= GOAL:
        return goal
    rest = f"\n\nThat is only its beginning. The whole goal is in {file}: read that file first."
    return bounded(goal, GOAL - _size(rest)) + rest


def _gates(gates: Sequence[tuple[str, str]]) -> str:
    return _listed(
        [f"{name}: `{command}`" for name, command in gates],
        "(none is known: a person will look at your change)",
    )


def _state(diffstat: str) -> str:
    if not diffstat.strip():
        return "Nothing has been changed since the start."
    return f"Changed since the start:\n\n{diffstat}"


def _nudge(pattern: str, templates: Mapping[str, str]) -> str:
    if not pattern:
        return ""
    meaning = NEAR.get(pattern, "the last attempts did not come closer")
    return bounded(_fill("nudge", templates, {"pattern": pattern, "meaning": meaning}), PART)


def _guidance(text: str) -> str:
    if not text.strip():
        return ""
    return f"\n# From the person in charge\n\n{bounded(text, PART)}\n"


def _listed(rows: Sequence[str], otherwise: str) -> str:
    return "\n".join(f"- {row}" for row in rows) or otherwise


def latest(rows: Sequence[str], most: int) -> tuple[str, ...]:
    """The last rows that fit into `most` bytes, each at most a quarter of it; newest are kept."""
    kept: list[str] = []
    left = most
    for row in reversed(rows):
        line = bounded(row, most // 4)
        left -= _size(line) + 3
        if left < 60:
            return (f"({len(rows) - len(kept)} earlier ones)", *kept)
        kept.insert(0, line)
    return tuple(kept)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def bounded(text: str, most: int) -> str:
    """At most `most` bytes of UTF-8, cut between characters, saying that it was cut."""
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= most:
        return text
    return (data[: max(0, most - len(CUT))].decode("utf-8", "ignore") + CUT)[:most]
