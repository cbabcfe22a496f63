"""The door to signals: a run is told to stop, it is not torn down."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """While entered, INT, TERM and HUP call `first` once, and `again` each further time, in the main thread.

    A signal that is ignored (a job under nohup, a background job of a plain script) stays ignored.
    """

    def __init__(self) -> None:
        self.signum: int | None = None
        self._first: Callable[[], None] | None = None
        self._again: Callable[[], None] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSignals":
        for signum in STOPPING:
            before = signal.getsignal(signum)
            if before is not signal.SIG_IGN:
                self._before[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for signum, before in self._before.items():
            # once stopped, the process is on its way out: a further signal must not cut its last words
            signal.signal(signum, before if self.signum is None else signal.SIG_IGN)

    def on_stop(self, first: Callable[[], None], again: Callable[[], None]) -> None:
        """Set what a signal does beside being remembered; if one came already, `first` is called now."""
        self._first, self._again = first, again
        if self.signum is not None:
            first()

    @property
    def stopped(self) -> bool:
        """True once a signal came."""
        return self.signum is not None

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        if self.signum is None:
            self.signum = signum
            if self._first is not None:
                self._first()
        elif self._again is not None:
            self._again()
