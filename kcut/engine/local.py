"""The engine of this machine: up to `jobs` threads, each waiting on the processes of one trial."""

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, cast

from kcut.engine import Request, Result, Schedule
from kcut.model.errors import NotReady


class LocalEngine:
    """Runs trials in threads: a trial's time is spent in its own processes, not here."""

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        # SimpleQueue.put is reentrant, so a signal handler may call it
        self._done: queue.SimpleQueue[Future[Any] | None] = queue.SimpleQueue()

    def wake(self) -> None:
        """Make the iteration ask its schedule again at once; callable from a signal handler."""
        self._done.put(None)

    def map_unordered(self, function: Callable[[Request], Result], schedule: Schedule[Request]) -> Iterator[Result]:
        """Yield each result as it comes; ends when nothing runs and the schedule has nothing more."""
        running, jobs = 0, self._jobs
        pending: Request | None = None
        with ThreadPoolExecutor(max_workers=self._jobs, thread_name_prefix="trial") as pool:
            while True:
                while running < jobs and (request := pending or schedule.take()) is not None:
                    try:
                        future = pool.submit(function, request)
                    except RuntimeError:  # no further thread: the machine's limit, so go on with those there are
                        if not running:
                            raise NotReady(
                                "this machine lets kcut start no thread", remedy="see: ulimit -a"
                            ) from None
                        pending, jobs = request, running
                        break
                    pending = None
                    future.add_done_callback(self._done.put)
                    running += 1
                wait = schedule.wait() if running < jobs else None
                if running == 0 and wait is None:
                    return
                try:
                    finished = self._done.get(timeout=wait)
                except queue.Empty:
                    continue
                if finished is not None:
                    running -= 1
                    yield cast("Result", finished.result())
