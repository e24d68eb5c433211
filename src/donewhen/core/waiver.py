"""What a person allowed of what integrity found: one finding, a rule in one file, or a rule. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from donewhen.core.verdict import Finding

# Reasons that rest on what integrity found.
WAIVABLE = ("needs-human:test-change", "integrity")
ONCE, PATH, RULE = "once", "path", "rule"
SCOPES = (ONCE, PATH, RULE)


@dataclass(frozen=True)
class Waiver:
    """`once` allows the finding with this fingerprint in this run; `path` the rule in that file and

    `rule` the rule everywhere, in every run, up to and with the day `until` (YYYY-MM-DD).
    """

    scope: str
    rule: str
    path: str
    fingerprint: str
    run: str
    until: str
    at: str  # when it was said

    def covers(self, finding: Finding) -> bool:
        """Is this what was allowed? Whether it is still in force is `in_force`'s to say."""
        if self.scope == ONCE:
            return finding.fingerprint == self.fingerprint
        if finding.rule != self.rule:
            return False
        return self.scope == RULE or finding.path == self.path

    def in_force(self, run: str, day: str) -> bool:
        return self.run == run if self.scope == ONCE else day <= self.until

    @property
    def text(self) -> str:
        """`test-removed in tests/test_a.py, until 2027-01-31`."""
        where = "" if self.scope == RULE else f" in {self.path or 'no file'}"
        how = f"for {self.run} only" if self.scope == ONCE else f"until {self.until}"
        return f"{self.rule}{where}, {how}"


def parted(
    findings: Iterable[Finding], waivers: Iterable[Waiver]
) -> tuple[list[Finding], list[str]]:
    """(what is left, what was allowed and by which word)."""
    left, notes, known = [], [], tuple(waivers)
    for finding in findings:
        word = next((w for w in known if w.covers(finding)), None)
        if word is None:
            left.append(finding)
        else:
            notes.append(f"allowed by you ({word.text}): {finding.message}"[:500])
    return left, notes
