"""Gets a controlling terminal, and asks a supervised command whether it has one too; prints both answers."""

import os
import pty
import sys
from pathlib import Path

from kcut.system.proc import Supervisors

os.setsid()
_, slave = pty.openpty()
name = os.ttyname(slave)
os.close(os.open(name, os.O_RDWR))  # a session leader's first terminal becomes its controlling one
os.close(os.open("/dev/tty", os.O_RDWR))
with Supervisors() as supervised:
    script = "import os; os.open('/dev/tty', os.O_RDWR)"
    ran = supervised.run([sys.executable, "-c", script], cwd=Path("/"), env={}, keep=1000)
print("terminal", ran.code, ran.stderr.decode().splitlines()[-1])
