"""Runs commands under supervision, some at once, without end: what a test may kill at any moment.

Arguments: a tag that every process of it carries, and how many commands at once.
"""

import os
import sys
import threading
from pathlib import Path

from kcut.system.proc import Supervisors

tag, width = sys.argv[1], int(sys.argv[2])
SCRIPT = f"sleep 0.01; env -i setsid sh -c 'sleep {tag}; :' & setsid sleep {tag} & trap '' TERM; sleep {tag}; :"


def work(supervisors: Supervisors, number: int) -> None:
    """Short commands and long ones, by turns."""
    while True:
        supervisors.run(["true", tag], cwd=Path("/"), env=dict(os.environ))
        limit = 0.02 * (number + 1)
        supervisors.run(["sh", "-c", SCRIPT], cwd=Path("/"), env=dict(os.environ), timeout=limit, grace=0.02)


with Supervisors() as supervised:
    threads = [threading.Thread(target=work, args=(supervised, number), daemon=True) for number in range(width)]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    threads[0].join()
