"""`judge --quick`: one edited file, within seconds, and clear words for what is no such file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.cli.test_javascript import LINTED
from tests.conftest import Project
from tests.node import link, tools

Make = Callable[..., Project]
MERGE = "a = 1\n<<<<<<< HEAD\nb = 2\n=======\nb = 3\n>>>>>>> other\n"
FILES = {
    "good.py": "x = 1\n",
    "broken.py": "def f(:\n",
    "merge.md": MERGE,
    "prose.rst": "Title\n=======\n\n>>>>>>> quoted\n",
    "data.json": '{"a": 1,}\n',
    "tsconfig.json": '{"a": 1, /* allowed */}\n',
    "conf.toml": "a = \n",
    "sub/deep.py": "y = 2\n",
    "tests/test_a.py": "def test_a():\n    raise SystemExit\n",
}


def gates(project: Project, *paths: str, code: int, cwd: str = ".") -> dict[str, Any]:
    said = project.donewhen("judge", "--quick", "--json", *paths, cwd=cwd).expect(code).json()
    return {gate["name"]: gate for gate in said["gates"]}


def test_what_is_cheap_is_done_in_process(make_project: Make) -> None:
    project = make_project(FILES)
    bad = ("broken.py", "merge.md", "prose.rst", "data.json", "tsconfig.json", "conf.toml")
    found = [f for g in gates(project, *bad, code=1).values() for f in g["findings"]]
    assert {(f["path"], f["line"], f["rule"]) for f in found} == {
        ("broken.py", 1, "syntax-error"),
        ("merge.md", 2, "conflict-marker"),
        ("data.json", 1, "syntax-error"),
        ("conf.toml", 1, "syntax-error"),
    }
    good = gates(project, "good.py", "tests/test_a.py", code=0)  # whose tests are not run
    assert set(good) == {"conflicts", "syntax"}
    assert "syntax" in gates(project, "deep.py", cwd="sub", code=0)


REFUSED = {
    ("nope.py",): "there is no such file",
    ("tests",): "is a folder",
    ("../x",): "lies outside the repository",
    (".git/config",): "is git's own",
    (): "--quick names no file",
    ("good.py", "--since", "HEAD"): "compares with nothing",
}


def test_what_is_no_file_of_the_repository(make_project: Make) -> None:
    project = make_project({"good.py": "x = 1\n", "tests/a.py": ""})
    for path, said in REFUSED.items():
        assert said in project.donewhen("judge", "--quick", *path).expect(2).err
    assert "judge --quick good.py" in project.donewhen("judge", "good.py").expect(2).err


@tools
def test_the_projects_own_tools_look_at_that_file_alone(make_project: Make) -> None:
    package = '{"type": "module", "devDependencies": {"@typescript/native-preview": "7"}}\n'
    project = make_project({**LINTED, "package.json": package})
    link(project.root)
    found = gates(project, "src/b.js", code=1)
    assert set(found) == {"conflicts", "syntax", "eslint", "biome", "oxlint", "tsgo"}
    assert {f["path"] for g in found.values() for f in g["findings"]} == {"src/b.js"}
    assert found["eslint"]["command"] == "eslint src/b.js"
    assert found["tsgo"]["why"] == "nothing found in these files (1 elsewhere)"
    typed = gates(project, "src/a.ts", code=1)  # which eslint has no configuration for
    assert [f["line"] for f in typed["tsgo"]["findings"]] == [3]
    assert (typed["eslint"]["state"], typed["eslint"]["weak"]) == ("pass", True)
