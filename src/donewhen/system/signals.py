"""Signals that end the runner, turned into a value that loops poll.

Handlers are installed by a driver for the time of a run and put back afterwards.
"""

from __future__ import annotations

import signal
from types import FrameType, TracebackType

CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupts:
    """`with Interrupts() as stop:` then `stop.signal` is 0 or the number that asked to end.

    A second SIGINT raises KeyboardInterrupt, so that a person is never locked in.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, object] = {}

    def _caught(self, number: int, _frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = int(number)

    def __enter__(self) -> Interrupts:
        import threading

        if threading.current_thread() is threading.main_thread():
            for number in CAUGHT:
                self._before[number] = signal.signal(number, self._caught)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal() itself returned
