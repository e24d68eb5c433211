"""Which files are protected, and what a change does to them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from donewhen.judge import integrity
from donewhen.judge.integrity import protected
from donewhen.system.git import Git
from tests.conftest import Project

Change = integrity.TestChange


@pytest.mark.parametrize(
    "path",
    ["tests/data/x.json", "test_a.py", "pkg/a_test.py", "conftest.py", "src/conftest.py",
     "web/a.test.ts", "a.spec.js", "pytest.ini", "tox.ini", "setup.cfg"],
)  # fmt: skip
def test_protected(path: str) -> None:
    assert protected(path)


@pytest.mark.parametrize("path", ["src/calc.py", "src/contest.py", "README", "latest.py", "a.ts"])
def test_not_protected(path: str) -> None:
    assert not protected(path)


@pytest.fixture
def repo(make_project: Callable[..., Project]) -> Project:
    return make_project(
        {
            "tests/test_a.py": "a",
            "tests/odd \udcff\n.py": "o",
            "src/x.py": "x",
            "pyproject.toml": '[project]\nname = "x"\n[tool.pytest.ini_options]\naddopts = "-q"\n',
        }
    )


def change(repo: Project) -> integrity.TestChange:
    repo.commit()
    return integrity.test_change(Git(repo.root), "HEAD~1^{tree}", "HEAD^{tree}", integrity.Known())


def test_new_tests_and_code_change_nothing(repo: Project) -> None:
    repo.write({"tests/test_b.py": "b", "src/x.py": "y", "src/y.py": "y"})
    assert not change(repo)


def test_changed_deleted_and_renamed_tests_are_restored(repo: Project) -> None:
    repo.write({"tests/test_a.py": "changed"})
    assert change(repo) == Change(restore=("tests/test_a.py",))
    repo.git("mv", "tests/test_a.py", "tests/helper_a.py")
    assert change(repo) == Change(restore=("tests/test_a.py",))
    (repo.root / "tests/odd \udcff\n.py").unlink()
    assert change(repo) == Change(restore=("tests/odd \udcff\n.py",))


def test_new_configuration_may_deselect(repo: Project) -> None:
    repo.write({"conftest.py": "", "tests/conftest.py": "", "setup.cfg": "", "pytest.ini": ""})
    assert change(repo).remove == ("conftest.py", "pytest.ini", "setup.cfg", "tests/conftest.py")


def test_pyproject_is_protected_where_pytest_obeys_it(repo: Project) -> None:
    text = repo.read("pyproject.toml")
    repo.write({"pyproject.toml": text.replace('"x"', '"x"\ndependencies = ["y"]')})
    assert not change(repo)
    repo.write({"pyproject.toml": text.replace('"-q"', '"-k nothing"')})
    assert change(repo) == Change(restore=("pyproject.toml",))
    repo.write({"pyproject.toml": "broken ["})
    assert change(repo) == Change(restore=("pyproject.toml",))
