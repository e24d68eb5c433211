"""What the documentation shows is what the program prints, links lead somewhere, fragments fit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tools import blocks

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s#]+)[^)]*\)")
FRAGMENT = re.compile(r"(\+[a-z0-9-]+|\d+)\.(feature|fix|doc)\.md")
SHOWN = list(blocks.blocks())


@pytest.mark.parametrize("block", SHOWN, ids=lambda b: f"{b.page}:{b.command[:40]}")
def test_a_block_is_what_the_program_prints(
    block: blocks.Block, tmp_path: Path, plain_tools: Path
) -> None:
    stale = blocks.difference(block, blocks.output(block.command, tmp_path, plain_tools))
    assert not stale, f"type: make docs\n{stale}"


def test_a_stale_block_is_found_and_mended(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "# Page\n\n<!-- run: donewhen --version -->\n\n```\nold\n```\n\nWords.\n\n```\nnot run\n```\n"
    )
    (block,) = blocks.blocks(tmp_path)
    assert (block.page, block.line, block.text) == ("docs/page.md", 3, "old\n")
    assert "+donewhen 0." in blocks.difference(block, blocks.fresh(block.command))
    blocks.write(page)
    (mended,) = blocks.blocks(tmp_path)
    assert blocks.difference(mended, blocks.fresh(block.command)) == ""
    assert page.read_text().endswith("Words.\n\n```\nnot run\n```\n")


def test_stand_ins_hide_only_what_differs_from_run_to_run(tmp_path: Path) -> None:
    said = "run r20261201-034341-9f2c took (12.5s), 3 tests"
    shown = blocks.output(f"python -c \"print('{said}')\"", tmp_path)
    assert shown == "run r20260102-030405-a1b2 took (1s), 3 tests\n"


@pytest.mark.parametrize("page", blocks.pages(), ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_fragment_of_the_changelog_is_collected() -> None:
    names = [p.name for p in (ROOT / "changes").iterdir() if not p.name.startswith(".")]
    assert [n for n in names if not FRAGMENT.fullmatch(n)] == []
    draft = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "9.9.9"]
    done = subprocess.run(draft, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.count("\n- ") == len(names)


def test_the_changelog_has_the_place_where_fragments_go() -> None:
    assert "<!-- towncrier release notes start -->" in (ROOT / "CHANGELOG.md").read_text()
