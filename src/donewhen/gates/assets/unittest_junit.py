"""`python -m unittest` with a JUnit report; run by the project's own interpreter (3.8 or newer).

    python unittest_junit.py REPORT [arguments of unittest]

Exit codes as in Python 3.12: 0 passed, 1 failed, 5 no tests ran. The report is written last, when
everything is known; a run that ends before leaves none. Imports nothing of ours.
"""

import os
import sys
import unittest
from xml.sax.saxutils import escape, quoteattr

LONGEST = 20000  # characters of one failure, from its end
LOADER = "unittest.loader"  # where tests that stand for an import error come from
SUITE = "unittest.suite"  # ... and what stands for setUpClass and setUpModule


def clean(text):
    """Only what XML 1.0 can hold."""
    return "".join(c if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff" else "?" for c in text)


def names(test, name=None):
    """(classname, name) of a test, or of a sub-test by its own name."""
    if type(test).__name__ == "_SubTest":
        test = test.test_case  # its rows stand below the test it belongs to
    module = type(test).__module__
    whole = name or test.id()
    if module == LOADER:
        return "", getattr(test, "_testMethodName", whole)
    if module == SUITE:
        return "", whole
    classname = "%s.%s" % (module, type(test).__qualname__)
    return classname, whole[len(classname) + 1 :] if whole.startswith(classname + ".") else whole


class Result(unittest.TextTestResult):
    """Keeps one row a test; a sub-test that fails is a row of its own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rows = []

    def row(self, test, tag="", text="", name=None):
        self.rows.append((names(test, name), tag, clean(text[-LONGEST:])))

    def trace(self, err, test):
        return self._exc_info_to_string(err, test)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.row(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.row(test, "error", self.trace(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.row(test, "failure", self.trace(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            tag = "failure" if issubclass(err[0], test.failureException) else "error"
            self.row(test, tag, self.trace(err, test), subtest.id())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.row(test, "skipped", reason, test.id())

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.row(test, "xfailed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.row(test, "failure", "AssertionError: unexpected success")


class Runner(unittest.TextTestRunner):
    """A class, not an instance: unittest itself hands it -v, -f, -b and the others."""

    resultclass = Result


def write(path, rows):
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as out:
        out.write('<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="unittest">\n')
        for (classname, name), tag, text in rows:
            out.write("<testcase classname=%s name=%s>" % (quoteattr(clean(classname)), quoteattr(clean(name))))
            if tag == "xfailed":
                out.write('<skipped type="pytest.xfail"/>')
            elif tag:
                message = text if tag == "skipped" else head(text)
                out.write("<%s message=%s>%s</%s>" % (tag, quoteattr(message[:2000]), escape(text), tag))
            out.write("</testcase>\n")
        out.write("</testsuite></testsuites>\n")


def head(text):
    """The line that names the exception: the first one after the frames of the last traceback."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if line.startswith("Traceback (most recent")]
    rest = lines[starts[-1] + 1 :] if starts else lines
    return next((line for line in rest if line.strip() and not line.startswith(" ")), "")


def main():
    report, arguments = sys.argv[1], sys.argv[2:]
    sys.path[0] = os.getcwd()  # as `python -m` has it
    program = unittest.main(
        module=None, argv=["python -m unittest"] + arguments, testRunner=Runner, exit=False
    )
    result = program.result
    write(report, result.rows)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(0 if result.testsRun or result.skipped else 5)


if __name__ == "__main__":
    main()
