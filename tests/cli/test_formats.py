"""Formats that any tool may write: SARIF, one finding a line, TAP, by `format` of a gate."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.conftest import Project

Make = Callable[..., Project]
LOG = {
    "version": "2.1.0",
    "runs": [{"tool": {"driver": {"name": "t", "rules": []}}, "results": [
        {"ruleId": "R1", "level": "error", "message": {"text": "bad"}, "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 2}}}]},
        {"ruleId": "R2", "level": "warning", "message": {"text": "odd"}, "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": {"startLine": 1}}}]},
    ]}],
}  # fmt: skip
CONFIG = """version = 1
[gates.sarif]
run = "sh -c 'cat log.sarif; exit 1'"
format = "sarif"
severity = {{ R1 = "{level}" }}
[gates.lines]
run = "sh -c 'cat lines.txt; exit $(cat code)'"
format = "lines"
[gates.tap]
run = "cat tests.tap"
format = "tap"
"""
FILES = {
    "a.c": "int a;\nint b;\n",
    "log.sarif": json.dumps(LOG),
    "lines.txt": "a.c:2:5: error: unknown [-Wx]\nsome words\n",
    "code": "1",
    "tests.tap": "TAP version 13\n1..2\nok 1 - a\n",
    "donewhen.toml": CONFIG.format(level="error"),
}


def test_formats_of_any_tool(make_project: Make) -> None:
    project = make_project(FILES)

    def states(code: int) -> dict[str, tuple[str, str]]:
        said = project.donewhen("judge", "--json", "--no-cache").expect(code).json()
        return {g["name"]: (g["state"], g["why"]) for g in said["gates"]}

    red = states(1)
    assert {name: state for name, (state, _why) in red.items()} == {
        "sarif": "fail", "lines": "fail", "tap": "error",
    }  # fmt: skip
    assert red["sarif"][1] == "1 error, 1 warning"
    assert "2 tests were planned, 1 were reported" in red["tap"][1]
    project.write({"log.sarif": json.dumps(LOG)[:200], "lines.txt": "", "code": "0"})
    project.write({"tests.tap": "1..2\nok 1 - a\nok 2 - b # SKIP no\n"})
    mixed = states(3)
    assert (mixed["sarif"][0], mixed["lines"][0], mixed["tap"]) == (
        "error", "pass", ("pass", "1 test passed"),
    )  # fmt: skip


def test_a_project_says_how_bad_a_rule_is(make_project: Make) -> None:
    sarif = CONFIG.partition("[gates.lines]")[0]
    project = make_project({**FILES, "donewhen.toml": sarif.format(level="off")})
    project.write(
        {"donewhen.toml": sarif.format(level="warning").replace("R1 =", 'R2 = "info", R1 =')}
    )
    said = project.donewhen("judge", "--json").expect(0).json()["gates"][0]
    assert {f["rule"]: f["severity"] for f in said["findings"]} == {"R1": "warning", "R2": "info"}


def test_under_p1_only_errors_decide(make_project: Make) -> None:
    """A tool that exits 1 for a warning: red as a rule, green where the project says so."""
    sarif = CONFIG.partition("[gates.lines]")[0].format(level="warning")
    project = make_project({**FILES, "donewhen.toml": sarif})
    log = LOG["runs"][0]["results"][1]  # type: ignore[index]  # as it is written above
    runs = [{**LOG["runs"][0], "results": [log]}]  # type: ignore[dict-item]  # as above
    project.write({"log.sarif": json.dumps({**LOG, "runs": runs})})
    project.donewhen("judge").expect(1)
    project.write({"donewhen.toml": sarif.replace("version = 1", 'version = 1\nexit = "p1"')})
    said = project.donewhen("judge").expect(0).out
    assert 'by exit = "p1" none decides' in said
    project.write(
        {
            "log.sarif": json.dumps(LOG),
            "donewhen.toml": sarif.replace('R1 = "warning"', 'R9 = "info"').replace(
                "version = 1", 'version = 1\nexit = "p1"'
            ),
        }
    )
    project.donewhen("judge").expect(1)
