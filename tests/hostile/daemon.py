"""A daemon by the book: double fork, own session, no descriptors, no environment, ignores what it can."""

import os
import signal
import sys
import time

if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.chdir("/")
os.closerange(0, 256)
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    signal.signal(number, signal.SIG_IGN)
if len(sys.argv) < 3:
    os.execve(sys.executable, [sys.executable, __file__, sys.argv[1], "again"], {})
time.sleep(600)
