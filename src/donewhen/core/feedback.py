"""A verdict as text for the agent: what fails now, new findings first, bounded. Pure."""

from __future__ import annotations

from donewhen.core.verdict import Finding, GateResult, GateState, Novelty, Verdict

EXCERPT = 1500
MOST = 20  # findings a gate


def feedback(verdict: Verdict) -> str:
    """Markdown; "" where nothing is red."""
    red = [g for g in verdict.gates if g.state is not GateState.PASS]
    parts = [_gate(g) for g in red]
    if verdict.integrity:
        rows = "\n".join(_finding(f) for f in verdict.integrity[:MOST])
        parts.append(f"## integrity\n\n{rows}")
    return "\n\n".join(parts)


def _gate(gate: GateResult) -> str:
    findings = sorted(gate.findings, key=lambda f: f.novelty is not Novelty.NEW)
    rows = [_finding(f) for f in findings[:MOST]]
    if len(findings) > MOST:
        rows.append(f"... and {len(findings) - MOST} more")
    head = f"## {gate.name}: {gate.state.value}, {gate.why}\n\n`{gate.command}`"
    log = f"\n\nFull output: {gate.log}" if gate.log else ""
    return "\n\n".join((head, *rows)) + log


def _finding(finding: Finding) -> str:
    place = f"{finding.path}:{finding.line}" if finding.line else finding.path
    old = ", there before" if finding.novelty is Novelty.PRE_EXISTING else ""
    names = " ".join(word for word in (finding.test, place, finding.rule) if word)
    row = f"- {names}{old}: {finding.message}"
    excerpt = finding.text.strip("\n")[-EXCERPT:]
    if not excerpt:
        return row
    body = "\n".join(f"      {line}" for line in excerpt.splitlines())
    return f"{row}\n\n{body}"
