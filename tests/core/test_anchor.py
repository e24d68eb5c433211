"""core.anchor: seven parts, verbatim where it matters, bounded, never broken by what is in them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.config.templates import NAMES, shipped, templates
from donewhen.core.anchor import (
    FEEDBACK,
    GOAL,
    NEAR,
    PART,
    PLACEHOLDERS,
    TEMPLATE,
    WHOLE,
    Parts,
    bounded,
    check,
    goal_text,
    latest,
    render,
)
from donewhen.core.stuck import CYCLE, IDLE, REPEAT, STAGNATION, THRASH
from donewhen.errors import ConfigError

SHIPPED = templates({})
PLAIN = Parts(
    goal="make the tests pass",
    goal_file="/runs/r1/goal.md",
    gates=(("tests", "pytest -q"), ("lint", "ruff check .")),
    protected=("tests and their configuration",),
    iteration=2,
    max_iterations=10,
    rung="claude:sonnet",
    diffstat=" src/calc.py | 2 +-",
    feedback="- tests/test_calc.py::test_add: assert -1 == 5",
    tried=("iteration 1: 1 failing tests",),
    notes=("language: Python", "read first: AGENTS.md"),
)
HEADS = (
    "# What is wanted",
    "# How it is judged",
    "# Where we are",
    "# What fails now",
    "# What was tried and did not help",
    "# Notes on the project",
    "# From the person in charge",
)


def size(text: str) -> int:
    return len(text.encode())


def test_the_seven_parts_in_their_order() -> None:
    prompt = render(replace(PLAIN, guidance="use the other module"), SHIPPED)
    places = [prompt.index(head) for head in HEADS]
    assert places == sorted(places)
    for text in (
        PLAIN.goal,
        "tests: `pytest -q`",
        "tests and their configuration",
        "Iteration 2 of at most 10",
        "claude:sonnet",
        "src/calc.py | 2 +-",
        PLAIN.feedback,
        "iteration 1: 1 failing tests",
        "read first: AGENTS.md",
        "use the other module",
    ):
        assert text in prompt


def test_it_says_who_decides_and_that_nothing_is_pushed() -> None:
    prompt = render(PLAIN, SHIPPED)
    assert "Saying that the work is done has no effect" in prompt
    assert "do not push" in prompt


def test_empty_parts_say_so() -> None:
    prompt = render(replace(PLAIN, gates=(), diffstat="", feedback="", tried=(), notes=()), SHIPPED)
    for text in (
        "a person will look at your change",
        "Nothing has been changed since the start.",
        "Nothing has been measured as failing.",
        "Nothing yet.",
        "None.",
    ):
        assert text in prompt
    assert HEADS[-1] not in prompt
    assert "Another approach" not in prompt


@pytest.mark.parametrize("pattern", [REPEAT, CYCLE, STAGNATION, IDLE, THRASH])
def test_a_near_pattern_asks_for_another_approach(pattern: str) -> None:
    prompt = render(replace(PLAIN, nudge=pattern), SHIPPED)
    assert "## Another approach" in prompt
    assert NEAR[pattern] in prompt


@pytest.mark.parametrize(
    "goal",
    [
        "cost $5 and $goal and ${tests} $$",
        "`x` $(touch PWNED)\n---\nlast line  ",
        "漢字 🎉 é",
        "{0} %s",
    ],
)
def test_the_goal_is_verbatim(goal: str) -> None:
    assert goal in render(replace(PLAIN, goal=goal), SHIPPED)


def test_a_long_goal_is_its_head_and_a_path() -> None:
    assert goal_text("g" * GOAL, "/f") == "g" * GOAL
    text = goal_text("g" * (GOAL + 1), "/runs/r1/goal.md")
    assert size(text) <= GOAL
    assert text.startswith("ggg")
    assert "/runs/r1/goal.md" in text


def test_no_part_pushes_out_another() -> None:
    """Everything at its largest: all parts are there and the person's words are whole."""
    huge = "ü" * 100_000
    word = "w" * (PART - 10)
    prompt = render(
        Parts(
            goal=huge,
            goal_file="/runs/r1/goal.md",
            gates=((huge, huge),) * 50,
            protected=(huge,) * 9,
            iteration=999,
            max_iterations=1000,
            rung=huge,
            diffstat=huge,
            feedback=huge,
            tried=(huge,) * 20,
            notes=(huge,) * 20,
            guidance=word,
            nudge=REPEAT,
        ),
        SHIPPED,
    )
    assert size(prompt) <= WHOLE
    assert all(head in prompt for head in HEADS)
    assert word in prompt


def test_a_large_template_takes_from_the_feedback_only() -> None:
    own = "$goal $gates $feedback $guidance " + "x" * (TEMPLATE - 40)
    huge = replace(PLAIN, goal="g" * 90_000, feedback="f" * 90_000, guidance="the last word")
    prompt = render(huge, templates({"anchor": own}))
    assert size(prompt) <= WHOLE
    assert "the last word" in prompt
    assert prompt.count("f") > FEEDBACK // 3


@pytest.mark.parametrize("most", range(20))
def test_a_bound_smaller_than_its_own_mark_still_holds(most: int) -> None:
    assert size(bounded("ü" * 100, most)) <= most


@pytest.mark.parametrize("again", ["$goal $goal", "$goal ${goal}", "$goal $tried $tried"])
def test_a_large_part_stands_there_once(again: str) -> None:
    """Else three long goals would be 60 kB before anything else is said."""
    with pytest.raises(ConfigError, match="twice"):
        check("anchor", again)
    check("anchor", "$goal $iteration of $max_iterations, I repeat: $iteration; $$goal")


@given(
    st.text(
        st.sampled_from(["$", "'", '"', "{", "}", "\\", "🎉", "é", "\n", "\r", "\t", "g", "`"]),
        max_size=300,
    )
)
def test_any_goal_is_byte_exact(goal: str) -> None:
    template = "<<$goal>>"
    assert render(replace(PLAIN, goal=goal), templates({"anchor": template})) == f"<<{goal}>>"


def test_what_was_tried_keeps_the_newest() -> None:
    rows = [f"iteration {n}: {'x' * 80}" for n in range(1, 60)]
    kept = latest(rows, PART)
    assert kept[-1] == rows[-1]
    assert kept[0] == f"({60 - len(kept)} earlier ones)"
    assert size("\n".join(f"- {row}" for row in kept)) <= PART
    assert latest(rows[:3], PART) == tuple(rows[:3])
    assert latest((), PART) == ()


@given(st.text(), st.integers(20, 60))
def test_cutting_keeps_characters_whole(text: str, most: int) -> None:
    cut = bounded(text, most)
    assert len(cut.encode("utf-8", "backslashreplace")) <= most
    if cut != text:
        assert cut.endswith("[... cut ...]")
        assert text.startswith(cut.removesuffix("\n[... cut ...]")) or "\\" in cut


@given(
    st.builds(
        Parts,
        *[st.text()] * 2,
        *[st.just(())] * 2,
        *[st.integers()] * 2,
        st.text(),
        *[st.text()] * 2,
    )
)
def test_any_text_renders_to_utf8(parts: Parts) -> None:
    assert size(render(parts, SHIPPED)) <= WHOLE


def test_bytes_that_are_no_utf8_are_shown_escaped() -> None:
    goal = b"fix \xff".decode("utf-8", "surrogateescape")
    assert "fix \\udcff" in render(replace(PLAIN, goal=goal), SHIPPED)


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_templates_use_every_placeholder(name: str) -> None:
    check(name, shipped(name))
    for word in PLACEHOLDERS[name]:
        assert f"${word}" in shipped(name)


def test_a_template_of_the_users_own() -> None:
    own = templates({"anchor": "$goal -- costs $$5 -- $gates -- $feedback"})
    assert render(PLAIN, own).startswith("make the tests pass -- costs $5 -- - tests")


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("anchor", "$goal $gates $feedback $wish", "unknown placeholder $wish; known: $goal, "),
        ("anchor", "$goal $gates $feedback costs $ 5", "a dollar sign is written $$"),
        ("anchor", "$gates $feedback", "$goal is missing"),
        ("anchor", "$goal $gates $feedback " + "x" * TEMPLATE, "longer than"),
        ("nudge", "$goal", "unknown placeholder $goal; known: $pattern, $meaning"),
        ("ancor", "$goal", "is no template and would be ignored; known: anchor.md, nudge.md"),
    ],
)
def test_a_broken_template_names_file_and_fault(name: str, text: str, says: str) -> None:
    with pytest.raises(ConfigError, match=rf"{name}\.md") as caught:
        templates({name: text})
    assert f".donewhen/prompts/{name}.md" in caught.value.message
    assert says in caught.value.message
    assert caught.value.hint
