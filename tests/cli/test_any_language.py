"""Checks for projects of any language: conflict markers, ast-grep, and what a change weakens."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import CALC, FIX, GREPPED, Project
from tests.node import E2E, link, tools

Make = Callable[..., Project]
Script = Callable[..., Path]
SHELLCHECK = E2E / "bin" / "shellcheck"
MERGE = "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n"
TRUE = {"donewhen.toml": "version = 1\n[gates.ok]\nrun = \"sh -c 'exit 0'\"\n"}


def test_conflict_markers_in_what_changed(make_project: Make) -> None:
    """Red for what the change brings in, not for what stood there, prose and pictures."""
    old = {"old.md": MERGE, "head.rst": "Title\n=======\n"}
    project = make_project({**TRUE, **old})
    project.write(
        {"notes.txt": f"a\n{MERGE}", "old.md": f"{MERGE}more\n", "head.rst": "T\n=======\n"}
    )
    (project.root / "picture.bin").write_bytes(b"\0" + MERGE.encode())
    said = project.donewhen("judge", "--json").expect(1).json()
    (red,) = (gate for gate in said["gates"] if gate["state"] == "fail")
    found = [(f["path"], f["line"], f["rule"]) for f in red["findings"]]
    assert found == [("notes.txt", 2, "conflict-marker")]
    project.commit()
    project.donewhen("judge").expect(0)
    assert "notes.txt:2" in project.donewhen("judge", "--since", "HEAD~1").expect(1).out


def test_an_agent_leaves_no_conflict(make_project: Make, script: Script) -> None:
    """Green gates are not enough; it is told, and may clean up."""
    project = make_project(GREPPED)
    turns = ({"write": {**FIX, "notes.md": MERGE}}, {"write": {"notes.md": "both\n"}})
    said = project.run("mend add", script(*turns), "--max-iter", "2").expect(0).json()
    assert said["iterations"] == 2
    first = project.root / ".git/donewhen/runs" / said["run"] / "iterations/1/verdict.json"
    assert "conflict-marker" in first.read_text()


@tools
def test_a_linter_that_is_told_to_look_away(make_project: Make, script: Script) -> None:
    """Its configuration is protected: with the base's version the finding is still there."""
    files = {".oxlintrc.json": '{ "rules": { "no-debugger": "error" } }\n', "a.js": "debugger;\n"}
    project = make_project({**files, ".gitignore": "node_modules\n"})
    link(project.root)
    turn = script({"write": {".oxlintrc.json": '{ "rules": { "no-debugger": "off" } }\n'}})
    said = project.run("lint", turn, "--gate", "oxlint", "--max-iter", "1").json()
    assert (said["exit"], said["reason"]) in {(1, "integrity"), (4, "needs-human:test-change")}


def test_since_tells_what_a_change_weakens(make_project: Make) -> None:
    """Compared with any ref; it is told, and does not decide."""
    project = make_project({**CALC, **FIX})
    test = "from calc import add\n\n\ndef test_add():\n    assert add(2, 3)\n"
    project.write({"tests/test_calc.py": test})
    project.commit()
    assert project.donewhen("judge", "--json").expect(0).json()["integrity"] == []
    said = project.donewhen("judge", "--since", "HEAD~1", "--json").expect(0).json()
    assert {f["path"] for f in said["integrity"]} == {"tests/test_calc.py"}
    assert any("that is for you to decide" in note for note in said["notes"])
    ran = project.donewhen("judge", "--since", "nosuch").expect(2)
    assert "--since 'nosuch' is no commit here" in ran.err


RULES = {
    "sgconfig.yml": "ruleDirs: [rules]\n",
    "rules/a.yml": "id: no-console\nlanguage: JavaScript\nseverity: error\nmessage: No console\n"
    "rule: { pattern: console.log($A) }\n",
    "a.js": "console.log(1);\n",
    "b.js": "console.log(2);\n",
    ".gitignore": "node_modules\n",
}


@tools
def test_rules_of_ast_grep(make_project: Make) -> None:
    project = make_project(RULES)
    link(project.root)
    (gate,) = project.donewhen("judge", "--json").expect(1).json()["gates"]
    assert (gate["name"], gate["origin"]) == ("ast-grep", "sgconfig.yml")
    assert {f["path"] for f in gate["findings"]} == {"a.js", "b.js"}
    quick = project.donewhen("judge", "--quick", "a.js", "--json").expect(1).json()["gates"]
    assert [f["path"] for g in quick for f in g["findings"]] == ["a.js"]
    project.write({"a.js": "", "b.js": ""})
    assert "nothing found in 2 files" in project.donewhen("judge").expect(0).out
    missing = project.donewhen("judge", "--gate", "ast-grep scan nope").expect(3)
    assert "No such file" in missing.out


@pytest.mark.skipif(
    not SHELLCHECK.is_file() and not os.environ.get("CI"), reason="no shellcheck: make e2e"
)
def test_shellcheck(make_project: Make) -> None:
    project = make_project(
        {"run.sh": "#!/bin/sh\nrm $1\n", ".shellcheckrc": "", ".gitignore": "node_modules\n"}
    )
    place = project.root / "node_modules/.bin"  # one of the folders that a project's tools are in
    place.mkdir(parents=True)
    (place / "shellcheck").symlink_to(SHELLCHECK)
    (gate,) = project.donewhen("judge", "--json").expect(1).json()["gates"]
    assert [(f["path"], f["line"], f["rule"]) for f in gate["findings"]] == [
        ("run.sh", 2, "SC2086")
    ]
    project.write({"run.sh": '#!/bin/sh\nrm "$1"\n'})
    project.donewhen("judge").expect(0)
