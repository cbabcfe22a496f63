"""Half a gigabyte on both streams; prints how much the peak of memory grew (bytes), and what was kept."""

import os
import resource
from pathlib import Path

from kcut.system.proc import Supervisors

MIB = 1 << 20
SCRIPT = (
    "head -c 262144000 /dev/zero >&2 & head -c 262144000 /dev/zero | tr '\\0' x; wait; printf end; printf END >&2"
)
with Supervisors() as supervised:
    supervised.run(["true"], cwd=Path("/"), env=dict(os.environ), keep=MIB)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = supervised.run(["sh", "-c", SCRIPT], cwd=Path("/"), env=dict(os.environ), keep=MIB, head=MIB)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
assert ran.stdout == b"x" * (MIB - 3) + b"end", ran.stdout[-10:]
assert ran.stderr == b"\0" * (MIB - 3) + b"END"
assert ran.stdout_head == b"x" * MIB
assert ran.stdout_total == ran.stderr_total == 262144003, (ran.stdout_total, ran.stderr_total)
print(grown * 1024, ran.code)
