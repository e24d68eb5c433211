"""A verdict as text for the agent: what fails now, new findings first, bounded. Pure.

What the gates printed is not ours: it may be huge, and every piece of it is cut to a size of its
own, so that one finding cannot hide the others. What is left out is counted, never dropped silently.
"""

from __future__ import annotations

from collections.abc import Iterable

from donewhen.core.verdict import Finding, GateResult, GateState, Novelty, Severity, Verdict

WHOLE = 20_000  # bytes
MOST = 20  # findings a gate
GATES = 40
EXCERPT = 1500  # characters
MESSAGE = 500
NAME = 300  # a place, a test id, a command, a path
RESTORE = "Put back what is named here. If the change is right, leave it: then a person decides."
LEAST = 400  # bytes a gate may always use; with GATES of them the whole is not exceeded


def feedback(verdict: Verdict, previous: Verdict | None = None, most: int = WHOLE) -> str:
    """Markdown of at most `most` bytes; "" where nothing is red.

    New is what `previous`, the verdict of the iteration before, did not find; without one, what
    the baseline did not.
    """
    known = None if previous is None else _fingerprints(previous)
    red = [_part(gate, known) for gate in verdict.gates if gate.state is not GateState.PASS]
    if verdict.integrity:
        red.append((f"## integrity\n\n{RESTORE}", [_finding(f) for f in verdict.integrity], ""))
    left_out = len(red) - GATES
    parts: list[str] = []
    room = most - 80
    for number, (head, rows, tail) in enumerate(red[:GATES]):
        share = max(room // (min(len(red), GATES) - number), min(LEAST, room))
        parts.append(_fitted(head, rows, tail, share))
        room -= _size(parts[-1]) + 2
    if left_out > 0:
        parts.append(f"... and {left_out} more gates")
    return _cut("\n\n".join(parts), most)


def _part(gate: GateResult, known: set[str] | None) -> tuple[str, list[str], str]:
    """Heading, one text a finding, and where all of it is."""
    findings = sorted(
        (f for f in gate.findings if f.novelty is not Novelty.FIXED),
        key=lambda f: (not _new(f, known), f.severity is not Severity.ERROR),
    )
    optional = "" if gate.required else " (not required)"
    head = f"## {_line(gate.name)}{optional}: {gate.state.value}, {_line(gate.why, MESSAGE)}"
    if gate.command:
        head += f"\n\n`{_line(gate.command)}`"
    log = f"Full output: {gate.log}" if gate.log else ""
    return head, [_finding(f, known) for f in findings], log


def _fitted(head: str, rows: list[str], tail: str, share: int) -> str:
    """As many rows as go into `share` bytes; the rest is counted."""
    used = _size(head) + _size(tail) + 30
    kept: list[str] = []
    for row in rows[:MOST]:
        used += _size(row) + 2
        if used > share:
            break
        kept.append(row)
    if len(kept) < len(rows):
        kept.append(f"... and {len(rows) - len(kept)} more")
    return _cut("\n\n".join(part for part in (head, *kept, tail) if part), share)


def _finding(finding: Finding, known: set[str] | None = None) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    names = " ".join(_line(word) for word in (finding.test, place, finding.rule) if word)
    row = f"- {names}{_age(finding, known)}: {_line(finding.message, MESSAGE)}"
    excerpt = finding.text.strip("\n")
    if not excerpt:
        return row
    cut = "[...]\n" if len(excerpt) > EXCERPT else ""
    body = "\n".join(f"      {line}" for line in (cut + excerpt[-EXCERPT:]).splitlines())
    return f"{row}\n\n{body}"


def _new(finding: Finding, known: set[str] | None) -> bool:
    if known is None:
        return finding.novelty is Novelty.NEW
    return finding.fingerprint not in known


def _age(finding: Finding, known: set[str] | None) -> str:
    if finding.novelty is Novelty.PRE_EXISTING:
        return ", there before"
    return ", new" if known is not None and _new(finding, known) else ""


def _fingerprints(verdict: Verdict) -> set[str]:
    found: Iterable[Finding] = (f for gate in verdict.gates for f in gate.findings)
    return {f.fingerprint for f in (*found, *verdict.integrity) if f.novelty is not Novelty.FIXED}


def _line(text: str, most: int = NAME) -> str:
    """On one line, at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 4]} ..."


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def _cut(text: str, most: int) -> str:
    return text.encode("utf-8", "backslashreplace")[: max(most, 0)].decode("utf-8", "ignore")
