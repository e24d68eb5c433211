"""Write the machine's picture into docs/machine.md; with --check fail if it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from donewhen.core.diagram import mermaid

PAGE = Path(__file__).parents[1] / "docs/machine.md"
BEGIN, END = "<!-- machine -->\n", "<!-- /machine -->"


def page(text: str) -> str:
    """The page with the picture between its marks."""
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n```mermaid\n{mermaid()}\n```\n\n{END}{tail}"


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    if "--check" in sys.argv:
        return int(page(text) != text)
    PAGE.write_text(page(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
