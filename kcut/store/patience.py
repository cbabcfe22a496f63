"""Waiting for a lock on the record: in steps of Python, between which a signal is acted upon."""

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from kcut.system.signals import check, preparing, told

CONTENDED = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
#: Seconds that are spent on the lock once kcut was told to stop: what is recorded then saves the work of a trial.
_LAST = 2.0
_STEP = 0.02

_Result = TypeVar("_Result")


def primary(error: sqlite3.Error) -> int:
    """SQLite's primary result code; the codes of `sqlite_errorcode` carry details above the low byte."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


class Patience:
    """Up to `wait` seconds for each thing that is done; a second signal ends all patience.

    SQLite's own waiting cannot be used: it returns to Python, and to its signal handlers, only when it is over.
    """

    def __init__(self, wait: float) -> None:
        self._wait = wait

    def __call__(self, act: Callable[[], _Result]) -> _Result:
        """What `act` returns, tried again while another process holds the lock. Raises what it raises in the end.

        Raises Interrupted if it is for a run that was told to stop before anything ran.
        """
        start = time.monotonic()
        told_at: float | None = None
        while True:
            try:
                return act()
            except sqlite3.OperationalError as error:
                if primary(error) not in CONTENDED:
                    raise
                if preparing():
                    check()
                now = time.monotonic()
                if told_at is None and told():
                    told_at = now
                hurried = told_at is not None and (told() > 1 or now - told_at >= _LAST)
                if hurried or now - start >= self._wait:
                    raise
            time.sleep(_STEP)
