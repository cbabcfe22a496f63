"""A process that replaces itself by a fork of its own, in a new session each time, for some seconds."""

import os
import sys
import time

deadline = time.monotonic() + float(sys.argv[1])
while time.monotonic() < deadline:
    if os.fork():
        os._exit(0)
    os.setsid()
