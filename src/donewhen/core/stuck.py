"""Five named patterns of not getting closer. Sets are compared, never counts.

Precedence: idle (nothing changed at all explains every other pattern), then repeat, cycle, thrash,
stagnation, from the most exact evidence to the least. Only iterations whose ACT completed are in
the history, and the baseline is none. A pattern needs red gates: an empty set is never stuck.

Against false alarms: an iteration that found another set than the one before *and* is a new best is
progress, so that an earlier tree seen again is no `cycle` then (a gate that flickers, not a circle).
`idle`, `repeat` and `stagnation` rule that out by themselves. `thrash` does not ask for it: a finding
that came back three times is one, however much else gets better. But it must be there now; what
stays fixed is past.
"""

from __future__ import annotations

from donewhen.core.contract import Thresholds
from donewhen.core.state import FLIPS, LoopState, Past
from donewhen.core.verdict import Score

IDLE, REPEAT, CYCLE, THRASH, STAGNATION = "idle", "repeat", "cycle", "thrash", "stagnation"


def find(state: LoopState, at: Thresholds) -> str:
    """The pattern that the history shows, or ""."""
    past = state.history
    if not past or not past[-1].red:
        return ""
    if idle(past) >= at.idle:
        return IDLE
    if repeats(past) >= at.repeat:
        return REPEAT
    if cycle(past, at) and not progressed(state):
        return CYCLE
    if thrash(state) >= at.thrash:
        return THRASH
    return STAGNATION if state.stale >= at.stagnation else ""


def near(state: LoopState, at: Thresholds) -> str:
    """The pattern that is one iteration away: the next prompt asks for another approach."""
    past = state.history
    if not past or not past[-1].red:
        return ""
    if idle(past) >= at.nudge:
        return IDLE
    if repeats(past) >= at.nudge:
        return REPEAT
    if thrash(state) >= at.thrash - 1:
        return THRASH
    return STAGNATION if state.stale >= at.stagnation - 1 else ""


def progressed(state: LoopState) -> bool:
    """The last iteration found something else than the one before, and came closer than any."""
    past = state.history
    return state.stale == 0 and (len(past) < 2 or past[-2].red != past[-1].red)


def idle(past: tuple[Past, ...]) -> int:
    """How many iterations at the end left the tree as they found it."""
    count = 0
    for entry in reversed(past):
        if entry.before != entry.tree:
            break
        count += 1
    return count


def thrash(state: LoopState) -> int:
    """How often the most restless of the findings that are there now was fixed and came back."""
    return max((state.flips.get(fingerprint, 0) for fingerprint in state.red), default=0)


def repeats(past: tuple[Past, ...]) -> int:
    """How many iterations at the end found exactly the same non-empty set."""
    count = 0
    for entry in reversed(past):
        if entry.red != past[-1].red:
            break
        count += 1
    return count


def cycle(past: tuple[Past, ...], at: Thresholds) -> bool:
    """The set, or the tree, of the last iteration was there before, with others in between."""
    last = past[-1]
    for distance in range(at.cycle_min, at.cycle_max + 1):
        if distance >= len(past):
            return False
        then, between = past[-1 - distance], past[-distance:-1]
        if then.red == last.red and all(p.red != last.red for p in between):
            return True
        if then.tree == last.tree and all(p.tree != last.tree for p in between):
            return True
    return False


def flipped(state: LoopState, red: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Count the findings that were fixed and are back; returns the counts and what is gone now."""
    now, before, gone = set(red), set(state.red), set(state.gone)
    flips = dict(state.flips)
    for fingerprint in sorted(now & gone):
        flips[fingerprint] = flips.get(fingerprint, 0) + 1
    gone = (gone | before) - now
    if len(flips) > FLIPS:
        flips = dict(sorted(flips.items(), key=lambda item: -item[1])[:FLIPS])
    return flips, tuple(sorted(gone)[:FLIPS])


def better(score: Score, best: Score | None) -> bool:
    """A new best, compared lexicographically."""
    return best is None or score.key() < best.key()
