"""Commands while descriptors run out; prints how many were refused, and how the one after went."""

import contextlib
import os
import resource
from pathlib import Path

from kcut.system.proc import Supervisors

with Supervisors() as supervised:
    assert supervised.run(["true"], cwd=Path("/"), env=dict(os.environ)).code == 0
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken: list[int] = []
    with contextlib.suppress(OSError):
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    refused = 0
    while taken:
        ran = supervised.run(["true"], cwd=Path("/"), env=dict(os.environ), keep=10)
        if ran.code == 0:
            break
        assert "Too many open files" in str(ran.error), ran
        refused += 1
        os.close(taken.pop())
    for handle in taken:
        os.close(handle)
    print(refused, supervised.run(["true"], cwd=Path("/"), env=dict(os.environ), keep=10).code)
