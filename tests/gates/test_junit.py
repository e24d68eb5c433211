"""JUnit XML from anybody: what is believed, what is refused, and that memory stays bounded."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from donewhen.core.verdict import GateState
from donewhen.gates import junit, junitxml
from donewhen.gates.base import Completed
from donewhen.gates.parse import parse_flag
from tests.gates.conftest import DATA, Run, Write


def suite(inner: str, head: str = "") -> str:
    return f"{head}<testsuites><testsuite name='s'>{inner}</testsuite></testsuites>"


GOOD = suite("<testcase classname='c' name='a'/>")
LOL = "<!DOCTYPE lolz [<!ENTITY a 'lol'>" + "".join(
    f"<!ENTITY {name} '{f'&{old};' * 10}'>"
    for old, name in zip("abcdefgh", "bcdefghi", strict=True)
)

REFUSED = {
    "empty": ("", "no JUnit report"),
    "no XML": ("ok 1 - fine\n", "no JUnit report"),
    "another XML": ("<html><testsuite/></html>", "<html> is no JUnit report"),
    "cut off in a tag": (GOOD[:40], "cut off"),
    "cut off before its end": (GOOD[:-5], "cut off"),
    "more behind its end": (GOOD + "<x/>", "report"),
    "doctype": (suite("", "<!DOCTYPE x>"), "DOCTYPE"),
    "late doctype": (
        suite("", f"<?xml version='1.0'?><!--{'x' * 200_000}--><!DOCTYPE x>"),
        "DOCTYPE",
    ),
    "billion laughs": (suite("<testcase name='&i;'/>", LOL + "]>"), "DOCTYPE"),
    "external entity": (
        suite("<testcase name='&x;'/>", "<!DOCTYPE x [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"),
        "DOCTYPE",
    ),
    "undefined entity": (suite("<testcase name='&x;'/>"), "broken"),
    "odd encoding": (f"<?xml version='1.0' encoding='rot13'?>{GOOD}", "report"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    text, why = REFUSED[case]
    path = tmp_path / "report.xml"
    path.write_text(text)
    with pytest.raises(junitxml.BadReport, match=why):
        junitxml.parse(path)


def test_a_doctype_in_another_encoding_is_one_too(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    path.write_bytes(suite("", "<!DOCTYPE x>").encode("utf-16"))
    with pytest.raises(junitxml.BadReport, match="DOCTYPE"):
        junitxml.parse(path)
    path.write_bytes(GOOD.encode("utf-16"))
    assert junitxml.parse(path).count("passed") == 1


def test_only_a_plain_file_of_its_own_is_read(tmp_path: Path) -> None:
    (tmp_path / "old.xml").write_text(GOOD)
    link, pipe = tmp_path / "link.xml", tmp_path / "pipe.xml"
    link.symlink_to(tmp_path / "old.xml")
    os.mkfifo(pipe)
    for path in (link, pipe, tmp_path):
        with pytest.raises(junitxml.BadReport, match="no plain file"):
            junitxml.parse(path)
    with pytest.raises(junitxml.BadReport, match="no report was written"):
        junitxml.parse(tmp_path / "nosuch.xml")


def test_a_report_over_the_cap(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    with path.open("wb") as out:
        out.write(b"<testsuites>")
        out.truncate(junitxml.CAP + 1)
    with path.open("r+b") as out:
        for _ in range((junitxml.CAP >> 20) + 1):
            out.write(b" " * (1 << 20))
    path.write_bytes(b"<testsuites>" + path.read_bytes()[12:])
    with pytest.raises(junitxml.BadReport, match="over 100 MB"):
        junitxml.parse(path)


def test_memory_is_bounded_whatever_a_failure_says(tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    noise = b"some output\n" * 100_000
    with path.open("wb") as out:
        out.write(b"<testsuites><testsuite><testcase name='a'><failure message='m'>")
        for _ in range(30):
            out.write(noise)
        out.write(b"the end</failure><system-out>")
        for _ in range(30):
            out.write(noise)
        out.write(b"</system-out></testcase></testsuite></testsuites>")
    tracemalloc.start()
    report = junitxml.parse(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 << 20
    assert report.cases[0].text.endswith("the end")
    assert len(report.cases[0].text) <= junitxml.TEXT


READ = {
    "pass": (GOOD, 0, GateState.PASS, "1 test passed"),
    "fail": (suite("<testcase name='a'><failure/></testcase>"), 1, GateState.FAIL, "1 failed of 1"),
    "contradiction": (
        suite("<testcase name='a'><failure/></testcase>"), 0, GateState.ERROR, "has 1 failure"),
    "no test failed": (GOOD, 2, GateState.ERROR, "exit 2, but no test failed"),
    "nothing": (suite(""), 0, GateState.ERROR, "no tests ran"),
    "all skipped": (
        suite("<testcase name='a'><skipped/></testcase>"), 0, GateState.ERROR, "the only test was skipped"),
    "googletest's disabled": (
        suite("<testcase name='a' status='notrun' result='suppressed'/>"), 0, GateState.ERROR,
        "the only test was skipped"),
    "a suite that could not start": (
        suite("<error message='no database'/><testcase name='a'/>"), 1, GateState.FAIL, "1 failed"),
    "claims a failure that it does not show": (
        "<testsuites><testsuite failures='2'><testcase name='a'/></testsuite></testsuites>", 0,
        GateState.ERROR, "has 2 failures"),
    "crashed after a green report": (GOOD, -11, GateState.ERROR, "killed by signal 11"),
    "odd numbers": (
        "<testsuite failures='many'><testcase name='a' line='12x' file='x.py'/></testsuite>", 0,
        GateState.PASS, "1 test passed"),
    "the same test twice": (
        suite("<testcase name='a'/><testcase name='a'><error/></testcase>"), 1, GateState.FAIL,
        "1 failed of 2"),
    "namespaces": (
        "<j:testsuite xmlns:j='urn:x'><j:testcase name='a'><j:failure/></j:testcase></j:testsuite>", 1,
        GateState.FAIL, "1 failed of 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", READ)
def test_exit_code_and_report_must_agree(tmp_path: Path, case: str) -> None:
    text, code, state, why = READ[case]
    path = tmp_path / "report.xml"
    path.write_text(text)
    reading = junit.read(parse_flag("x {report}"), Completed(code, "", "", path, tree=tmp_path))
    assert reading.state is state
    assert why in reading.why
    assert not set(reading.passed_tests) & {f.test for f in reading.findings}


def test_a_recorded_report_of_nodes_runner(tmp_path: Path) -> None:
    (tmp_path / "a.test.js").write_text("1\n2\n")
    report = (DATA / "node-test.xml").read_text().replace("/project", str(tmp_path))
    path = tmp_path / "report.xml"
    path.write_text(report)
    gate = parse_flag("node --test --test-reporter=junit --test-reporter-destination={report}")
    assert (gate.format, gate.weak, gate.kind) == ("junit", False, "test")
    reading = junit.read(gate, Completed(1, "", "", path, tree=tmp_path))
    assert reading.why == "1 failed of 2 tests"
    (finding,) = reading.findings
    assert (finding.test, finding.path, finding.line) == ("test::breaks", "a.test.js", 2)


def test_the_path_of_the_report_is_one_word_also_in_a_script(write: Write, run: Run) -> None:
    """The attempts of these tests lie in a folder with a blank in its name."""
    root = write({"given.xml": GOOD})
    assert run(root, "cp given.xml {report}").state is GateState.PASS
    assert run(root, "sh: cat given.xml > {report}").state is GateState.PASS


def test_an_older_report_is_never_found(write: Write, run: Run) -> None:
    root = write({"given.xml": GOOD, "report.xml": GOOD})
    assert run(root, "cp given.xml {report}").state is GateState.PASS
    assert "no report" in run(root, "sh: true # {report}").why
    assert "no plain file" in run(root, 'sh: ln -s "$PWD/report.xml" {report}').why


def test_paths_of_a_report_cannot_lead_out_of_the_tree(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tmp_path / "secret.py").write_text("x\n")
    (tree / "site-packages").mkdir()
    (tree / "site-packages/lib.py").write_text("x\n")
    text = f"../secret.py:1: E\n{tmp_path}/secret.py:1: E\nsite-packages/lib.py:1: E\n{'a' * 5000}.py:1: E\n"
    path = tmp_path / "report.xml"
    path.write_text(
        suite(f"<testcase name='a' file='../secret.py'><failure>{text}</failure></testcase>")
    )
    reading = junit.read(parse_flag("x {report}"), Completed(1, "", "", path, tree=tree))
    assert [(f.path, f.line) for f in reading.findings] == [("", 0)]


def test_many_failures_stay_readable(tmp_path: Path) -> None:
    case = f"<testcase name='t%d'><failure>{'x' * 5000}</failure></testcase>"
    path = tmp_path / "report.xml"
    path.write_text(suite("".join(case % n for n in range(2000))))
    reading = junit.read(parse_flag("x {report}"), Completed(1, "", "", path, tree=tmp_path))
    assert len(reading.findings) == 2000
    assert len({f.fingerprint for f in reading.findings}) == 2000
    assert sum(len(f.text) for f in reading.findings) <= 400_000
