"""A person allows what integrity found: this once, a rule in one file, or a rule, until a day."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from donewhen.core.verdict import Finding
from donewhen.core.waiver import ONCE, Waiver
from donewhen.drivers.judging import kept_verdict
from donewhen.drivers.repo import Repo
from donewhen.drivers.run import load
from donewhen.errors import Refused, UsageError
from donewhen.judge.canary import RULE as CANARY
from donewhen.store.waivers import Waivers
from donewhen.system import clock

LASTS_D = 30  # days of a waiver that is for more than one run
LONGEST_D = 366
NEVER = frozenset({CANARY})  # a runner that lies judges nothing, whatever a person says


@dataclass(frozen=True)
class Allowed:
    """What `inbox allow` did; `left` findings of the run stay as they are."""

    run: str
    waivers: tuple[Waiver, ...]
    left: int


def findings_of(repo: Repo, run_id: str) -> tuple[Finding, ...]:
    """What integrity found in the run's last verdict, in the order in which `inbox show` has it."""
    verdict = kept_verdict(load(repo, run_id))
    return verdict.integrity if verdict else ()


def allow(repo: Repo, run_id: str, numbers: Sequence[int], scope: str, until: str) -> Allowed:
    """Allow the findings of these numbers (from 1; none: all). `until` is YYYY-MM-DD or "".

    Raises Refused where there is nothing to allow, UsageError for a number or day that is none.
    """
    found = findings_of(repo, run_id)
    show = f"Type: donewhen inbox show {run_id}"
    if not found:
        raise Refused(f"integrity found nothing in {run_id} that could be allowed", hint=show)
    for number in numbers:
        if not 1 <= number <= len(found):
            raise UsageError(f"there is no finding {number}; there are {len(found)}", hint=show)
    wanted = [found[n - 1] for n in dict.fromkeys(numbers)] if numbers else list(found)
    if never := [f for f in wanted if f.rule in NEVER]:
        raise Refused(
            f"{never[0].message}; that cannot be allowed, since nothing would be measured",
            hint=f"To put the run away, type: donewhen inbox reject {run_id}",
        )
    day = _day(scope, until)
    at = clock.stamp(clock.now())
    new = tuple(Waiver(scope, f.rule, f.path, f.fingerprint, run_id, day, at) for f in wanted)
    new = tuple(dict.fromkeys(new))
    Waivers(repo.layout).add(new)
    left = [f for f in found if not any(w.covers(f) for w in new)]
    return Allowed(run_id, new, len(left))


def _day(scope: str, until: str) -> str:
    today = date.fromisoformat(clock.stamp(clock.now())[:10])
    if scope == ONCE:
        if until:
            raise UsageError(
                "--until is for what is allowed beyond this run",
                hint="Add --for path or --for rule, or leave --until out.",
            )
        return ""
    if not until:
        return (today + timedelta(days=LASTS_D)).isoformat()
    try:
        day = date.fromisoformat(until)
    except ValueError as error:
        raise UsageError(
            f"--until {until!r} is no day", hint=f"Write it as {today.isoformat()}."
        ) from error
    if not today <= day <= today + timedelta(days=LONGEST_D):
        raise UsageError(
            f"--until {until} is {'past' if day < today else 'more than a year away'}",
            hint=f"Name a day up to {(today + timedelta(days=LONGEST_D)).isoformat()}.",
        )
    return day.isoformat()
