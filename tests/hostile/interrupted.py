"""An exception out of a signal handler goes through a run; prints whether it came out."""

import os
import signal
import sys
from pathlib import Path

from kcut.system.proc import Supervisors

before = sorted(Path("/dev/fd").iterdir())
with Supervisors() as supervised:
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        supervised.run(["sh", "-c", sys.argv[1]], cwd=Path("/"), env=dict(os.environ))
    except KeyboardInterrupt:
        print("interrupted")
    print(supervised.run(["true"], cwd=Path("/"), env=dict(os.environ)).code)
print(sorted(Path("/dev/fd").iterdir()) == before)
