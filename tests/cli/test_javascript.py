"""JavaScript and TypeScript from the command line, with the real tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Project
from tests.node import link, tools

Make = Callable[..., Project]
Script = Callable[..., Path]
pytestmark = tools
ADD = "export const add = (a, b) => a {} b;\n"
NODE = (
    'import test from "node:test";\nimport assert from "node:assert";\nimport { add } from "./add.js";\n'
    'test("adds two numbers", () => assert.equal(add(1, 2), 3));\n'
)
VITEST = (
    'import { expect, test } from "vitest";\nimport { add } from "./add.js";\n'
    'test("adds two numbers", () => { expect(add(1, 2)).toBe(3); });\n'
)
JEST = (
    'const { add } = require("./add.js");\n'
    'test("adds two numbers", () => { expect(add(1, 2)).toBe(3); });\n'
)
CJS = "exports.add = (a, b) => a {} b;\n"
# script -> the source of add, its test
RUNNERS = {"node --test": (ADD, NODE), "vitest": (ADD, VITEST), "jest": (CJS, JEST)}


def files(script: str, sign: str) -> dict[str, str]:
    source, test = RUNNERS[script]
    module = {} if script == "jest" else {"type": "module"}
    package = {"name": "calc", **module, "scripts": {"test": script}}
    return {
        "package.json": json.dumps(package),
        "add.js": source.format(sign),
        "add.test.js": test,
        ".gitignore": "node_modules\n",
    }


def gates(project: Project, *args: str, code: int) -> dict[str, Any]:
    said = project.donewhen("judge", "--no-cache", "--json", *args).expect(code).json()
    return {gate["name"]: gate for gate in said["gates"]}


@pytest.mark.parametrize("script", RUNNERS)
def test_npm_test_is_what_it_runs(make_project: Make, script: str) -> None:
    """Red with the test's name, green, and "passes with 0 tests", all behind `npm test`."""
    project = make_project(files(script, "-"))
    link(project.root)
    red = gates(project, code=1)["npm-test"]
    assert red["command"].startswith(script)
    assert (red["why"], red["weak"]) == ("1 failed of 1 test", False)
    assert (red["findings"][0]["test"], red["findings"][0]["line"]) == (
        "add.test.js::adds two numbers", len(project.read("add.test.js").splitlines()),
    )  # fmt: skip
    project.write({"add.js": files(script, "+")["add.js"]})
    words = f"pnpm {script}" if script != "node --test" else "npm run unit"
    package = {
        **json.loads(project.read("package.json")),
        "scripts": {"test": words, "unit": "node --test"},
    }
    project.write({"package.json": json.dumps(package)})  # opened through what it calls
    green = gates(project, "--gate", "npm test", code=0)
    (gate,) = green.values()
    assert (gate["counts"]["tests"], gate["passed_tests"]) == (1, ["add.test.js::adds two numbers"])
    nothing = "passWithNoTests" if script != "node --test" else "nothing"
    (project.root / "add.test.js").unlink()
    words = script if script == "node --test" else f"{script} --{nothing}"
    project.write({"package.json": json.dumps({"scripts": {"test": words}})})
    assert gates(project, code=3)["npm-test"]["why"] == "your npm test passes with 0 tests"


# Each makes the project's assertion succeed whatever it is given.
LIES = {
    "node --test": 'import assert from "node:assert";\nassert.equal = assert.strictEqual = () => {};\n',
    "vitest": 'import { expect } from "vitest";\n'
    'expect.extend({ toBe: () => ({ pass: true, message: () => "" }) });\n',
    "jest": 'expect.extend({ toBe: () => ({ pass: true, message: () => "" }) });\n',
}


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_run_with_this_runner(make_project: Make, script: Script, runner: str) -> None:
    """Worktree, sight, clean room and canary: a fix is proven, a runner that lies is found out."""
    project = make_project(files(runner, "-"))
    link(project.root)
    good, bad = (files(runner, sign)["add.js"] for sign in "+-")
    turns = ({"write": {"add.js": f"{LIES[runner]}{bad}"}}, {"write": {"add.js": good}})
    said = project.run("make the tests pass", script(*turns), "--max-iter", "2").expect(0).json()
    assert (said["proof"], said["iterations"]) == ("goal", 2)
    assert "tests of our own" not in json.dumps(said["verdict"])
    first = project.root / ".git/donewhen/runs" / said["run"] / "iterations/1/verdict.json"
    assert "does not tell the truth" in first.read_text()


def test_a_script_that_is_no_gate(make_project: Make) -> None:
    text = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})
    project = make_project({"package.json": text})
    assert "no gate was found here" in project.donewhen("judge").expect(2).err
    project.write({"package.json": json.dumps({"scripts": {"test": "make test && node --test"}})})
    shown = project.donewhen("init").expect(0).out
    assert "npm-test: env CI=1 npm test --silent  (scripts.test in package.json: make" in shown


BAD = "export function half(n: number): string {\n  debugger;\n  return n / 2;\n}\n"
LINTED = {
    "package.json": '{"name": "l", "type": "module", "scripts": {}}\n',
    "pnpm-lock.yaml": "",
    "tsconfig.json": '{ "compilerOptions": { "strict": true, "module": "esnext", /* x */ '
    '"moduleResolution": "bundler", "types": [] }, "include": ["src"], }\n',
    "eslint.config.js": 'export default [{ rules: { "no-debugger": "error" } }];\n',
    "biome.json": '{ "formatter": { "enabled": false }, "assist": { "enabled": false } }\n',
    ".oxlintrc.json": '{ "rules": { "no-debugger": "error" } }\n',
    "src/a.ts": BAD,
    "src/b.js": "debugger;\n",
    ".gitignore": "node_modules\n",
}


def test_linters_and_type_checkers(make_project: Make) -> None:
    """Found by what configures them, run from node_modules/.bin, red and green."""
    project = make_project(LINTED)
    link(project.root)
    shown = project.donewhen("init").expect(0).out
    for said in ("tsc: tsc --noEmit  (tsconfig.json)", "eslint: eslint .  (eslint.config.js)",
                 "biome: biome check  (biome.json)", "oxlint: oxlint  (.oxlintrc.json)"):  # fmt: skip
        assert said in shown
    project.write(
        {
            "donewhen.toml": project.read("donewhen.toml").replace(
                "tsc --noEmit", "npx tsgo --noEmit"
            )
        }
    )
    found = gates(project, code=1)
    places = {n: {f"{f['path']}:{f['line']}" for f in g["findings"]} for n, g in found.items()}
    assert places["tsc"] == {"src/a.ts:3"}
    assert places["eslint"] == {"src/b.js:1"}
    assert places["oxlint"] == {"src/a.ts:2", "src/b.js:1"}
    assert {"src/a.ts:2", "src/b.js:1"} <= places["biome"]
    assert found["oxlint"]["program"].endswith("node_modules/.bin/oxlint")
    (project.root / "donewhen.toml").unlink()
    project.write(
        {
            "src/a.ts": "export const half = (n: number): number => n / 2;\n",
            "src/b.js": "export const b = 1;\n",
        }
    )
    assert {g["state"] for g in gates(project, code=0).values()} == {"pass"}
    odd = ("tsc --nope", "eslint nope.js", "biome lint nope.js", "oxlint nope.js")
    flags = [word for command in odd for word in ("--gate", command)]
    assert {g["state"] for g in gates(project, *flags, code=3).values()} == {"error"}


def test_a_package_of_a_monorepo(make_project: Make, script: Script) -> None:
    """Started in a folder with project files of its own: its gates, its tools, paths from the top."""
    inner = {f"packages/web/{name}": text for name, text in files("node --test", "-").items()}
    inner["packages/web/.oxlintrc.json"] = '{ "rules": { "no-debugger": "error" } }\n'
    outer = {
        "package.json": '{"scripts": {"test": "node -e process.exit(1)"}}',
        "other/b.js": "debugger;\n",
    }
    project = make_project({**outer, **inner})
    place = project.root / "packages/web"
    link(place)
    project.write({"packages/web/add.js": f"{inner['packages/web/add.js']}debugger;\n"})
    said = project.donewhen("judge", "--json", cwd="packages/web").expect(1).json()
    found = {g["name"]: {f["path"] for f in g["findings"]} for g in said["gates"]}
    assert found == {"npm-test": {"packages/web/add.test.js"}, "oxlint": {"packages/web/add.js"}}
    linter = next(g["program"] for g in said["gates"] if g["name"] == "oxlint")
    assert linter == str(place / "node_modules/.bin/oxlint")
    quick = project.donewhen("judge", "--quick", "add.js", "--json", cwd="packages/web").expect(1)
    assert {f["path"] for g in quick.json()["gates"] for f in g["findings"]} == {
        "packages/web/add.js"
    }
    turn = script({"write": {"add.js": files("node --test", "+")["add.js"]}})
    args = ("run", "make it work", "--agent", f"scripted:{turn}", "--yes", "--json")
    ran = project.donewhen(*args, cwd="packages/web").expect(0).json()
    assert ran["proof"] == "goal"
