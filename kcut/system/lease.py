"""Leases: a file says which process owns folders elsewhere, so that they can be removed once it has died.

The file is locked while its process lives; the process's number, start time and boot stand in it for file systems
that know no locks.
"""

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kcut.system.proc import is_alive, process_identity

#: Seconds after which a lease that says nothing is taken for one whose process died while writing it.
_STALE = 60.0
#: Seconds to wait, again and again, for the lock of a process whose number is gone.
_PAUSES = (0.02, 0.05, 0.1, 0.2)


class Lease:
    """A lease of this process, held until `release`."""

    def __init__(self, path: Path, claim: Mapping[str, Any]) -> None:
        """Write and lock the file, durable before anything that it claims is made. OSError if that fails."""
        self.path = path
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        document = {
            "pid": os.getpid(),
            "identity": process_identity(os.getpid()),
            "uid": os.getuid(),
            "claim": dict(claim),
        }
        try:
            os.write(self._handle, json.dumps(document).encode())
            os.fsync(self._handle)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Give the lease up: what it claimed is gone, or is to stay. What cannot be removed is dead soon."""
        with contextlib.suppress(OSError):
            self.path.unlink()
        os.close(self._handle)


@dataclass(frozen=True, slots=True)
class DeadLease:
    """A lease of this user whose process is gone; `claim` is what it owned."""

    path: Path
    claim: Mapping[str, Any]


def dead_lease(path: Path) -> DeadLease | None:
    """What a file says if its process was this user's and is gone; None if it lives, or the file is another's."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        info = os.fstat(handle)
        if info.st_uid != os.getuid() or not stat.S_ISREG(info.st_mode):
            return None
        locked = _is_locked(handle)
        try:
            document = json.loads(os.read(handle, 1 << 20))
            owner, identity, claim = int(document["pid"]), str(document["identity"]), dict(document["claim"])
        except (ValueError, KeyError, TypeError):
            return DeadLease(path, {}) if not locked and time.time() - info.st_mtime > _STALE else None
        if is_alive(owner, identity):
            return None
        for pause in _PAUSES if locked else ():
            # a child that the process was just starting holds the lock for a moment longer
            time.sleep(pause)
            locked = _is_locked(handle)
            if not locked:
                break
        return None if locked else DeadLease(path, claim)
    except OSError:
        return None
    finally:
        os.close(handle)


def _is_locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # no locks here: the process's identity decides
    return False
