"""`donewhen judge` again: what nothing changed for is not run again, and what may not be kept is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import FIX, Project

Script = Callable[..., Path]
COUNTED = (
    "import pathlib, os\n\n\ndef test_it():\n"
    "    with open(os.environ['STARTS'], 'a') as out:\n        out.write('.')\n"
)


@pytest.fixture
def counted(make_project: Callable[..., Project], tmp_path: Path) -> Project:
    """A project whose test leaves a mark outside of the tree each time that it runs."""
    (tmp_path / "starts").write_text("")
    made = make_project({"tests/test_it.py": COUNTED, "README": "one\n"}, name="counted")
    return Project(made.root, {"STARTS": str(tmp_path / "starts")})


def starts(project: Project) -> int:
    return len(Path(project.env["STARTS"]).read_text())


def judged(project: Project, *flags: str) -> dict[str, Any]:
    verdict: dict[str, Any] = project.donewhen("judge", "--json", *flags).expect(0).json()
    return verdict


def test_an_unchanged_tree_starts_no_gate(counted: Project) -> None:
    first = judged(counted)
    again = judged(counted)
    assert starts(counted) == 1
    assert first["gates"][0]["cached_from"] == ""
    assert again["gates"][0]["cached_from"].endswith("Z")
    assert again["gates"][0]["counts"] == first["gates"][0]["counts"]
    assert again["tree"] == first["tree"]
    assert "(kept from " in counted.donewhen("judge").expect(0).out


def test_no_cache_measures(counted: Project) -> None:
    judged(counted)
    judged(counted, "--no-cache")
    assert starts(counted) == 2


def test_what_a_result_depends_on_makes_it_measured_again(counted: Project) -> None:
    counted.write({".gitignore": "local.ini\n__pycache__/\n"})
    judged(counted)
    changes: list[tuple[dict[str, str], tuple[str, ...], dict[str, str]]] = [
        ({"README": "two\n"}, (), {}),  # tracked
        ({"data.txt": "new\n"}, (), {}),  # untracked
        ({"local.ini": "[a]\n"}, (), {}),  # ignored
        ({}, (), {"MODE": "strict"}),  # the environment
        ({}, ("--gate", "pytest -q -p no:randomly"), {}),  # the definition
    ]
    for number, (files, flags, env) in enumerate(changes, 2):
        counted.write(files)
        counted.donewhen("judge", *flags, **env).expect(0)
        assert starts(counted) == number, (files, flags, env)


def test_what_differs_from_shell_to_shell_does_not(counted: Project) -> None:
    counted.donewhen("judge", SHLVL="3", TERM="dumb", COLUMNS="80").expect(0)
    counted.donewhen("judge", SHLVL="4", TERM="xterm", COLUMNS="132").expect(0)
    assert starts(counted) == 1


def test_inputs_say_what_a_gate_reads(counted: Project) -> None:
    counted.write(
        {"donewhen.toml": 'version = 1\n[gates.tests]\nrun = "pytest -q"\ninputs = ["**/*.py"]\n'}
    )
    judged(counted)
    counted.write({"README": "two\n"})
    assert judged(counted)["gates"][0]["cached_from"]
    counted.write({"tests/test_more.py": "def test_more():\n    pass\n"})
    assert not judged(counted)["gates"][0]["cached_from"]
    assert starts(counted) == 2


def test_a_failure_is_kept_too_and_an_error_never(counted: Project) -> None:
    counted.write({"tests/test_it.py": f"{COUNTED}    assert False\n"})
    counted.donewhen("judge").expect(1)
    ran = starts(counted)
    verdict = counted.donewhen("judge", "--json").expect(1).json()
    assert verdict["gates"][0]["cached_from"]
    assert verdict["gates"][0]["findings"][0]["test"] == "tests/test_it.py::test_it"
    assert starts(counted) == ran
    counted.write({"tests/test_it.py": f"{COUNTED}    os._exit(0)\n"})
    counted.donewhen("judge").expect(3)
    counted.donewhen("judge").expect(3)
    assert starts(counted) == ran + 2


def test_a_command_that_nothing_is_known_of_runs_each_time(
    counted: Project, tmp_path: Path
) -> None:
    """It may look anywhere; `hermetic = true` says that it does not."""
    flag = tmp_path / "flag"
    flag.write_text("")
    counted.write({"donewhen.toml": f'version = 1\n[gates.flag]\nrun = "test -e {flag}"\n'})
    judged(counted)
    flag.unlink()
    counted.donewhen("judge").expect(1)
    flag.write_text("")
    counted.write(
        {"donewhen.toml": f'version = 1\n[gates.flag]\nrun = "test -e {flag}"\nhermetic = true\n'}
    )
    judged(counted)
    flag.unlink()
    assert judged(counted)["gates"][0]["cached_from"]


def test_hermetic_false_is_never_kept(counted: Project) -> None:
    counted.write(
        {"donewhen.toml": 'version = 1\n[gates.tests]\nrun = "pytest -q"\nhermetic = false\n'}
    )
    judged(counted)
    judged(counted)
    assert starts(counted) == 2


def test_an_entry_that_somebody_else_wrote_is_no_result(counted: Project) -> None:
    counted.write({"tests/test_it.py": f"{COUNTED}    assert False\n"})
    counted.donewhen("judge").expect(1)
    (entry,) = (counted.root / ".git/donewhen/cache").glob("?" * 64)
    data = entry.read_bytes()
    result = json.loads(data[64:])
    forged = {
        "forged": data.replace(b'"state": "fail"', b'"state": "pass"'),
        "torn": data[: len(data) // 2],
        "unsigned": json.dumps({**result, "state": "pass", "findings": []}).encode(),
    }
    for what, entered in forged.items():
        entry.write_bytes(entered)
        before = starts(counted)
        counted.donewhen("judge").expect(1)
        assert starts(counted) > before, what
    counted.write({"tests/test_it.py": f"{COUNTED}    assert 0\n"})
    counted.donewhen("judge").expect(1)
    for other in entry.parent.glob("?" * 64):  # a true one, of another tree
        other.write_bytes(data)
    before = starts(counted)
    counted.donewhen("judge").expect(1)
    assert starts(counted) > before


def test_a_run_keeps_what_did_not_change_and_measures_the_last_verdict(
    counted: Project, script: Script
) -> None:
    """One gate reads Python only: a turn that changes the README does not start it again."""
    counted.write(
        {
            "donewhen.toml": (
                'version = 1\n[gates.tests]\nrun = "pytest -q"\ninputs = ["**/*.py"]\n'
                '[gates.readme]\nrun = "grep -q three README"\n'
            )
        }
    )
    counted.commit()
    turns = script({"write": {"README": "two\n"}}, {"write": {"README": "three\n"}})
    counted.run("write three", turns).expect(0)
    assert starts(counted) == 2  # the baseline, and the clean room


def test_a_read_only_cache_is_no_error(counted: Project) -> None:
    (counted.root / ".git" / "donewhen").mkdir()
    (counted.root / ".git" / "donewhen" / "cache").write_text("not a folder")
    judged(counted)
    judged(counted)
    assert starts(counted) == 2


def test_slow_gates_wait_for_the_quick_ones_and_run_before_the_last_verdict(
    project: Project, script: Script, tmp_path: Path
) -> None:
    """A gate that took long is not started for a verdict that a quick one decided already."""
    started = tmp_path / "started"
    project.write(
        {
            "donewhen.toml": (
                f'version = 1\n[gates.slow]\nrun = "sh: echo x >> {started}"\n[gates.tests]\nrun = "pytest -q"\n'
            )
        }
    )
    project.commit()
    times = project.root / ".git/donewhen/cache/times.json"
    slow_now = f"sed -i 's/[0-9.]*, false/900, false/g' {times}"  # as if it had taken so long
    turns = script({"write": {"notes": "tried\n"}, "run": slow_now}, {"write": FIX})
    result = project.run("make the tests pass", turns).expect(0).json()
    said = project.root / f".git/donewhen/runs/{result['run']}/iterations/1/verdict.json"
    (slow, tests) = json.loads(said.read_text())["gates"]
    assert (slow["name"], slow["skipped"], tests["state"]) == ("slow", True, "fail")
    assert "not run yet: tests failed first" in slow["why"]
    verdict = project.donewhen("inbox", "show", result["run"], "--json").json()["verdict"]
    assert [g["skipped"] for g in verdict["gates"]] == [False, False]
