"""What makes a finding the same in the next iteration: never its position, never its noise."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from donewhen.core.verdict import Finding

COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# In this order: each takes away one kind of noise; ordinary numbers stay, since 5 is not 6.
NOISE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), put)
    for pattern, put in (
        (r"(?i)\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d{1,2}:\d\d:\d\d([.,]\d+)?\b", "<time>"),
        (r"\b0x[0-9a-fA-F]+\b", "<address>"),
        (r"(/private)?(/var/folders|/tmp|/var/tmp)/[^\s'\":,)]+", "<tmp>"),
        (r"(?i)\b[0-9a-f]{12,}\b", "<hex>"),
        (r"\b\d+([.,]\d+)?\s?(ms|µs|us|ns|s|sec|seconds|minutes|min)\b", "<duration>"),
        (r"(?i)\b(pid|port|thread|process)([ =:#]+|-)\d+", r"\1 <n>"),
        (r"(thread '[^']*' )\(\d+\)", r"\1(<n>)"),
        (r":\d+:\d+\b", ""),
        (r"(\.[A-Za-z]\w*):\d+(?=:(\s|$))", r"\1"),  # a.py:12: but never x.size:3
        (r"(/[^\s:/]+\.[A-Za-z]\w*):\d+\b", r"\1"),  # src/a.py:12
        (r"(?i)\bline \d+\b", "line"),
        (r"(\.[A-Za-z]\w*)\(\d+,\s?\d+\)(?=:)", r"\1"),  # a.ts(3,5): but never f(1, 2)
        (r"\s+", " "),
    )
)


def normalised(text: str, root: str = "") -> str:
    """`text` without colours, places, times, addresses and other noise.

    Colours go first, since they may stand within a path; then `root`, which may be a temp folder.
    """
    text = COLOUR.sub("", text)
    if top := root.rstrip("/"):
        text = re.sub(rf"{re.escape(top)}(/|(?![\w.-]))", "", text)
    for pattern, put in NOISE:
        text = pattern.sub(put, text)
    return text.strip()


def digest(*parts: str) -> str:
    """64 bits of blake2b over the parts, as hex; each with its length, so that none runs over."""
    whole = "".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=8).hexdigest()


def squeezed(text: str) -> str:
    """Without any white space."""
    return "".join(text.split())


def test_fp(test: str, kind: str, failing_line: str) -> str:
    """A failed test: its id, the exception's type, the source line that failed."""
    return digest("test", test, kind, squeezed(failing_line))


def exit_fp(gate: str, code: int, output: str, root: str = "") -> str:
    """A failing command: gate, exit code, and its last lines without noise."""
    last = [line for line in output.splitlines() if line.strip()][-10:]
    return digest("exit", gate, str(code), normalised("\n".join(last), root))


def error_fp(gate: str, why: str) -> str:
    """A gate that could not measure."""
    return digest("error", gate, normalised(why))


def assigned(
    findings: Iterable[Finding], line_text: Callable[[str, int], str], root: str = ""
) -> tuple[Finding, ...]:
    """Static findings with fingerprints: equal ones are numbered in line order."""
    seen: Counter[str] = Counter()
    done = []
    for finding in sorted(findings, key=lambda f: (f.path, f.line, f.col, f.rule)):
        source = squeezed(line_text(finding.path, finding.line))
        message = normalised(finding.message, root)
        same = digest(finding.tool, finding.rule, finding.path, source, message)
        done.append(replace(finding, fingerprint=digest(same, str(seen[same]))))
        seen[same] += 1
    return tuple(done)


def set_digest(fingerprints: Iterable[str]) -> str:
    """One value for a set, whatever its order."""
    return digest(*sorted(set(fingerprints)))
