"""`python -m unittest` with a JUnit report; run by the project's own interpreter (3.8 or newer).

    python unittest_junit.py REPORT [arguments of unittest]

Exit codes as in Python 3.12: 0 passed, 1 failed, 5 no tests ran. Imports nothing of ours.
"""

import os
import sys
import time
import unittest
from xml.sax.saxutils import escape, quoteattr


def clean(text):
    return "".join(c if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c else "?" for c in text)


class Result(unittest.TextTestResult):
    """Keeps one row a test; a sub-test that fails is a row of its own."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.rows = []
        self.bad = set()

    def row(self, test, tag="", text="", name=None):
        self.rows.append((test, name or test.id(), tag, clean(text)))

    def startTest(self, test):
        self.began = time.perf_counter()
        super().startTest(test)

    def addSuccess(self, test):
        super().addSuccess(test)
        if test.id() not in self.bad:
            self.row(test)

    def addError(self, test, err):
        super().addError(test, err)
        self.row(test, "error", self._exc_info_to_string(err, test))

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.row(test, "failure", self._exc_info_to_string(err, test))

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.bad.add(test.id())
            tag = "failure" if issubclass(err[0], test.failureException) else "error"
            self.row(test, tag, self._exc_info_to_string(err, test), subtest.id())

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.row(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.row(test, "xfailed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.row(test, "failure", "AssertionError: unexpected success")


def write(path, rows):
    out = ['<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="unittest">\n']
    for test, name, tag, text in rows:
        module = type(test).__module__
        if module == "unittest.loader":
            classname, short = "", getattr(test, "_testMethodName", name)
        else:
            classname = "%s.%s" % (module, type(test).__qualname__)
            short = name[len(classname) + 1 :] if name.startswith(classname + ".") else name
        out.append("<testcase classname=%s name=%s>" % (quoteattr(classname), quoteattr(clean(short))))
        if tag == "xfailed":
            out.append('<skipped type="pytest.xfail"/>')
        elif tag:
            last = [line for line in text.splitlines() if line.strip()] or [""]
            message = text if tag == "skipped" else last[-1]
            out.append("<%s message=%s>%s</%s>" % (tag, quoteattr(message[:2000]), escape(text), tag))
        out.append("</testcase>\n")
    out.append("</testsuite></testsuites>\n")
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as report:
        report.write("".join(out))


def main():
    report, arguments = sys.argv[1], sys.argv[2:]
    sys.path[0] = os.getcwd()
    runner = unittest.TextTestRunner(resultclass=Result)
    program = unittest.main(
        module=None, argv=["python -m unittest"] + arguments, testRunner=runner, exit=False
    )
    result = program.result
    write(report, result.rows)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(0 if result.testsRun or result.skipped else 5)


if __name__ == "__main__":
    main()
