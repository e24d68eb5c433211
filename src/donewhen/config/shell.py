"""What of a command line only a shell would act on. Commands run without one, so it is refused. Pure."""

from __future__ import annotations

import re

OPERATOR = re.compile(r"&&|\|\||\|&|[|;&`\n]|\d*[<>]+&?|\$(?:[A-Za-z_(]|\{)")
EXPANDED = re.compile(r"`|\$(?:[A-Za-z_(]|\{)")  # a shell does this also within double quotes
VARIABLE = re.compile(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?")
ASSIGNED = re.compile(r"[A-Z_][A-Z0-9_]*=\S*\s+\S")


def shell_only(text: str) -> str:
    """The first bare operator, variable or substitution of a command line; "" where there is none."""
    quote, at = "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'":
            at += 2
        elif char in "'\"" and quote in ("", char):
            quote = "" if quote else char
            at += 1
        else:
            pattern = {"": OPERATOR, '"': EXPANDED}.get(quote)
            if pattern and (found := pattern.match(text, at)):
                variable = VARIABLE.match(text, at)
                return (variable or found)[0].replace("\n", "\\n")
            at += 1
    return ""


def assigns(text: str) -> bool:
    """`FOO=1 pytest`: variables are written in upper case, and a command follows."""
    return bool(ASSIGNED.match(text))
