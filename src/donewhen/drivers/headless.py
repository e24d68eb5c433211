"""The headless loop: ask the core, perform its command, feed back what happened.

Everything that decides stands in core.machine; everything that acts in drivers.effects.
"""

from __future__ import annotations

from collections.abc import Callable

from donewhen.core.events import Fact, Resumed, RunStarted, Tampered
from donewhen.core.machine import decide
from donewhen.core.state import LoopState
from donewhen.drivers.effects import Effects
from donewhen.drivers.progress import Progress, silent
from donewhen.drivers.run import Run, fresh_state
from donewhen.errors import Conflict, Corrupt
from donewhen.system import clock, locks
from donewhen.system.signals import Interrupts

Watcher = Callable[[Progress], None]


def start_run(run: Run, watch: Watcher = silent) -> LoopState:
    """Drive a fresh run to its end."""
    return _driven(run, fresh_state(), RunStarted(clock.now(), run.id, run.base.tree), watch)


def resume_run(run: Run, state: LoopState, resumed: Resumed, watch: Watcher = silent) -> LoopState:
    """Drive a run on from `state`, which its journal adds up to."""
    return _driven(run, state, resumed, watch)


def _driven(run: Run, state: LoopState, fact: Fact, watch: Watcher) -> LoopState:
    with locks.lock(run.repo.layout.runner_lock(run.id)), Interrupts() as interrupts:
        effects = Effects(run, interrupts, watch)
        return drive(run, state, fact, effects)


def drive(run: Run, state: LoopState, fact: Fact, effects: Effects) -> LoopState:
    """ANCHOR -> ACT -> JUDGE -> RECORD until the core has no command left."""
    while True:
        before = state
        state, commands = decide(run.contract, state, fact)
        try:
            run.append(fact, commands[0] if commands else None)
        except (Conflict, Corrupt) as error:  # nobody else may write: it was changed behind us
            if isinstance(fact, Tampered):
                raise
            run.restore_journal()
            state, fact = before, Tampered(clock.now(), error.message)
            continue
        effects.show(state, fact)
        if not commands:
            return state
        fact = effects.perform(commands[0], state)
