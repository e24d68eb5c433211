"""Write the machine's picture into docs/machine.md; with --check fail if it is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from donewhen.core.diagram import mermaid

PAGE = Path(__file__).parents[1] / "docs/machine.md"
BEGIN, END = "<!-- machine -->\n", "<!-- /machine -->"


def page(text: str) -> str:
    """The page with the picture between its marks. Raises ValueError if it has no marks."""
    if text.count(BEGIN) != 1 or END not in text.partition(BEGIN)[2]:
        raise ValueError(f"{PAGE}: the picture stands between {BEGIN.strip()} and {END}, once")
    head, _, rest = text.partition(BEGIN)
    tail = rest.partition(END)[2]
    return f"{head}{BEGIN}\n```mermaid\n{mermaid()}\n```\n\n{END}{tail}"


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(page(text), encoding="utf-8")
    elif page(text) != text:
        print(f"{PAGE} is stale. Type: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
