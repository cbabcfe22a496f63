"""Processes that watch each other and start a dead one anew; for some seconds, whatever happens."""

import contextlib
import os
import signal
import sys
import time

deadline = time.monotonic() + float(sys.argv[1])
signal.signal(signal.SIGTERM, signal.SIG_IGN)


def watch(reading: int, writing: int) -> None:
    """Start another process when the one at the other end has gone; its end of the pipe is closed then."""
    os.close(writing)
    while time.monotonic() < deadline:
        os.read(reading, 1)  # EOF
        start()


def start() -> None:
    """Two processes in sessions of their own: one that waits, one that watches it."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        os.close(reading)
        while time.monotonic() < deadline:
            time.sleep(0.01)
        os._exit(0)
    if os.fork() == 0:
        os.setsid()
        with contextlib.suppress(OSError):
            watch(reading, writing)
        os._exit(0)
    os.close(reading)
    os.close(writing)


for _ in range(5):
    start()
