"""The local engine: how many at once, retries that wait, waking, and errors that reach the caller."""

import threading
import time

import pytest

from kcut.engine.local import LocalEngine


class Numbers:
    """Hands out 0..n-1; `gap` makes it pause before each further one."""

    def __init__(self, count: int, gap: float = 0.0) -> None:
        self.left = list(range(count))
        self.gap = gap
        self.due = 0.0

    def take(self) -> int | None:
        if not self.left or time.monotonic() < self.due:
            return None
        self.due = time.monotonic() + self.gap
        return self.left.pop(0)

    def wait(self) -> float | None:
        return max(0.0, self.due - time.monotonic()) if self.left else None


@pytest.mark.parametrize("jobs", [1, 3, 8])
def test_all_run_and_never_more_than_jobs_at_once(jobs: int) -> None:
    running, most, lock = 0, 0, threading.Lock()
    together = threading.Barrier(jobs)  # the first ones end when all of them run

    def work(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        if number < jobs:
            together.wait(timeout=60)
        with lock:
            running -= 1
        return number * number

    results = list(LocalEngine(jobs).map_unordered(work, Numbers(12)))
    assert sorted(results) == [number * number for number in range(12)]
    assert most == jobs


def test_waits_for_what_is_due_later() -> None:
    assert list(LocalEngine(4).map_unordered(str, Numbers(4, gap=0.02))) == ["0", "1", "2", "3"]


def test_ends_at_once_when_there_is_nothing() -> None:
    assert list(LocalEngine(2).map_unordered(str, Numbers(0))) == []


def test_wake_makes_it_ask_again() -> None:
    schedule = Numbers(2, gap=3600)
    engine = LocalEngine(1)
    results = engine.map_unordered(str, schedule)
    assert next(results) == "0"

    def end() -> None:
        schedule.left.clear()
        engine.wake()

    timer = threading.Timer(0.05, end)
    timer.start()
    assert list(results) == []  # without waking it would wait for an hour
    timer.join()


def test_an_error_reaches_the_caller() -> None:
    with pytest.raises(ZeroDivisionError):
        list(LocalEngine(2).map_unordered(lambda number: 1 // number, Numbers(3)))
