"""The door to signals: a run is told to stop, it is not torn down.

Python runs a handler in the main thread, between two steps of the program; a signal whose handler was taken away
meanwhile is complained about on stderr. So handlers are replaced only while signals are held back.
"""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any

from kcut.model.errors import Interrupted

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Told(BaseException):
    """A signal came where no run sees to signals. No Exception: nothing on the way may take it for a fault."""

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


def raise_told() -> None:
    """From now on the first INT, TERM or HUP raises Told in the main thread, and further ones do nothing.

    A signal that is ignored (a job under nohup, a background job of a plain script) stays ignored.
    """
    came = False

    def handle(signum: int, _frame: FrameType | None) -> None:
        nonlocal came
        if not came:
            came = True
            raise Told(signum)

    for signum in STOPPING:
        if signal.getsignal(signum) is not signal.SIG_IGN:
            signal.signal(signum, handle)


def ignore() -> None:
    """From now on INT, TERM and HUP do nothing, what became of the process is decided. May raise Told once."""
    with held():
        for signum in STOPPING:
            signal.signal(signum, signal.SIG_IGN)


@contextlib.contextmanager
def held() -> Iterator[None]:
    """While entered, in the main thread, INT, TERM and HUP wait."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class StopSignals:
    """While entered, INT, TERM and HUP call `first` once, and `again` each further time, in the main thread.

    Until `on_stop` says what these are, each calls `preparing`, and `check` raises once a signal came.
    A signal that is ignored stays ignored.
    """

    def __init__(self, preparing: Callable[[], None] = lambda: None) -> None:
        self.signum: int | None = None
        self.count = 0
        self._preparing = True
        self._first = self._again = preparing
        self._ends: Callable[[], bool] = lambda: self.stopped
        self._before: dict[signal.Signals, Any] = {}
        self._outer: StopSignals | None = None

    def __enter__(self) -> "StopSignals":
        global _current  # a process has one set of handlers
        self._outer, _current = _current, self
        for signum in STOPPING:
            before = signal.getsignal(signum)
            if before is not signal.SIG_IGN:
                self._before[signum] = signal.signal(signum, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        global _current  # noqa: PLW0603  # as above
        with held():
            for signum, before in self._before.items():
                # once stopped, the process is on its way out: a further signal must not cut its last words
                signal.signal(signum, before if self.signum is None else signal.SIG_IGN)
        _current = self._outer

    def on_stop(
        self, first: Callable[[], None], again: Callable[[], None], ends: Callable[[], bool] = lambda: False
    ) -> None:
        """Set what a signal does beside being remembered; if one came already, `first` is called now.

        `ends` says, in any thread, whether what runs is to end: `check` raises then.
        """
        self._first, self._again, self._ends, self._preparing = first, again, ends, False
        if self.signum is not None:
            first()

    @property
    def stopped(self) -> bool:
        """True once a signal came."""
        return self.signum is not None

    @property
    def preparing(self) -> bool:
        """True until `on_stop` was called: nothing has been done yet that were lost."""
        return self._preparing

    @property
    def ends(self) -> bool:
        """True if what runs now is to end."""
        return self._ends()

    def _handle(self, signum: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.signum is None:
            self.signum = signum
            self._first()
        else:
            self._again()


_current: StopSignals | None = None


def told() -> int:
    """How many signals a run that sees to them was sent so far; 0 without one."""
    return 0 if _current is None else _current.count


def preparing() -> bool:
    """True if a run that sees to signals has not come to its work yet."""
    return _current is not None and _current.preparing


def ending() -> bool:
    """True if what runs now is to end, as a run was told to stop."""
    return _current is not None and _current.ends


def check() -> None:
    """Raise Interrupted if what runs now is to end. For what may take long: before each of its steps."""
    if _current is not None and _current.ends:
        signum = _current.signum or signal.SIGTERM
        raise Interrupted(f"stopped by {signal.Signals(signum).name}", signum=signum)
