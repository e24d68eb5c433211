"""JavaScript in a worktree: linked node_modules, workspaces, and gates that nobody can ask."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Project

Script = Callable[..., Path]
node = pytest.mark.skipif(
    shutil.which("node") is None and not os.environ.get("CI"), reason="node is not here"
)
GOAL = "make the tests pass"
ADD = "export const add = (a, b) => a {} b;\n"
PACKAGE = {"name": "calc", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}
TEST = (
    'import test from "node:test";\nimport assert from "node:assert";\n'
    'import {{ add }} from "{}";\nimport {{ one }} from "dep";\n'
    'test("adds", () => assert.equal(add(one, 1), 2));\n'
)


def installed(project: Project) -> None:
    """What `npm install` would leave: a real dependency."""
    project.write(
        {
            "node_modules/dep/package.json": json.dumps(
                {"name": "dep", "type": "module", "main": "i.js"}
            ),
            "node_modules/dep/i.js": "export const one = 1;\n",
        }
    )


@pytest.fixture
def flat(make_project: Callable[..., Project]) -> Project:
    made = make_project(
        {
            "package.json": json.dumps(PACKAGE),
            "add.js": ADD.format("-"),
            "add.test.js": TEST.format("./add.js"),
            ".gitignore": "node_modules/\n",
        }
    )
    installed(made)
    return made


@pytest.fixture
def workspaces(make_project: Callable[..., Project]) -> Project:
    """A package that another one of the same repository imports by name, through node_modules."""
    made = make_project(
        {
            "package.json": json.dumps({**PACKAGE, "workspaces": ["packages/*"]}),
            "packages/add/package.json": json.dumps(
                {"name": "@calc/add", "type": "module", "main": "i.js"}
            ),
            "packages/add/i.js": ADD.format("-"),
            "add.test.js": TEST.format("@calc/add"),
            ".gitignore": "node_modules\n",
        }
    )
    installed(made)
    (made.root / "node_modules/@calc").mkdir()
    (made.root / "node_modules/@calc/add").symlink_to("../../packages/add")
    return made


@node
def test_an_installed_node_modules_is_linked_by_itself(flat: Project, script: Script) -> None:
    ran = flat.run(GOAL, script({"write": {"add.js": ADD.format("+")}})).expect(0)
    assert "shared  node_modules" in ran.err
    assert ran.json()["proof"] == "goal"


@node
def test_workspace_packages_are_those_of_the_worktree(workspaces: Project, script: Script) -> None:
    """Linked as a whole, node_modules would lead back to the user's own files: red for ever."""
    turn = {"write": {"packages/add/i.js": ADD.format("+")}}
    workspaces.run(GOAL, script(turn)).expect(0)


@node
def test_no_false_green_through_a_workspace(workspaces: Project, script: Script) -> None:
    workspaces.write({"packages/add/i.js": ADD.format("+")})
    turn = {"write": {"packages/add/i.js": ADD.format("*")}}
    result = workspaces.run(GOAL, script(turn), "--max-iter", "1").json()
    assert result["reason"] == "max-iterations"


@node
def test_a_link_that_still_leads_elsewhere_is_an_error(workspaces: Project, script: Script) -> None:
    workspaces.write({"donewhen.toml": 'version = 1\n[workspace]\ncopy = ["node_modules"]\n'})
    link = workspaces.root / "node_modules/@calc/add"
    link.unlink()
    link.symlink_to(workspaces.root / "packages/add")  # `npm link` writes such ones
    ran = workspaces.run(GOAL, script({"say": "hi"})).expect(3)
    assert ran.json()["reason"] == "gate-error:npm-test"
    assert str(workspaces.root / "packages/add") in ran.err


@node
def test_a_gate_that_reads_other_code_is_found_out(flat: Project, script: Script) -> None:
    """Green at the start, and green with every source file broken: it reads the user's checkout."""
    test = TEST.format((flat.root / "add.js").as_uri())
    flat.write({"add.js": ADD.format("+"), "add.test.js": test})
    flat.commit()
    ran = flat.run(GOAL, script({"say": "hi"})).expect(3)
    assert ran.json()["reason"] == "gate-error:npm-test"
    assert "it stays green when its source file is broken" in ran.err


@node
def test_a_gate_that_sees_its_tree_is_left_alone(flat: Project, script: Script) -> None:
    flat.write({"add.js": ADD.format("+")})
    flat.commit()
    result = flat.run(GOAL, script({"say": "hi"})).json()
    assert result["reason"] == "needs-human:unproven"
