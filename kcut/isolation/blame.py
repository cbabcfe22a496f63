"""Whose fault it is that something cannot be made in a worktree: the machine's, or what the trial left there."""

import errno
import os
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kcut.isolation.checkout import CheckoutFailed
from kcut.system.files import LACKING

#: Seconds to wait before each try: what a machine lacks, others may give back.
PAUSES = (0.0, 0.1, 0.4, 1.0)
#: Bytes of what is written to see whether the machine lacks what it takes.
_LEAST = 1 << 16
_FULL = {errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Start:
    """The disk when a trial began: free bytes and files, and the time (of the disk's own clock, in nanoseconds)."""

    folder: Path
    blocks: int
    files: int
    moment: int

    @classmethod
    def of(cls, folder: Path, newest: Path) -> Self:
        """The state now; everything that is written to `folder` from here on is younger than the file `newest`."""
        disk = os.statvfs(folder)
        return cls(folder, disk.f_bavail * disk.f_frsize, disk.f_favail, newest.stat().st_ctime_ns)

    def filled_by_trial(self, need: int) -> bool:
        """True if the disk would have had room for `need` bytes, but for what the trial has written into its folder.

        With others that write to the same disk it is the trial that filled it if most of what went is its own.
        """
        taken = files = 0
        for info in _below(os.fspath(self.folder)):
            if info.st_ctime_ns > self.moment and not stat.S_ISDIR(info.st_mode):
                taken += info.st_blocks * 512
                files += 1
        disk = os.statvfs(self.folder)
        gone, files_gone = self.blocks - disk.f_bavail * disk.f_frsize, self.files - disk.f_favail
        no_files = disk.f_files > 0 and disk.f_favail == 0
        return (taken >= max(need, 1) and 2 * taken >= gone) or (no_files and files > 0 and 2 * files >= files_gone)


def _below(folder: str) -> Iterator[os.stat_result]:
    """What lies below a folder, as far as it is open to us; each file once, links not followed."""
    seen: set[int] = set()
    for where, folders, names in os.walk(folder):
        for name in (*names, *folders):
            try:
                info = os.lstat(f"{where}/{name}")
            except OSError:
                continue
            if info.st_nlink > 1 and not stat.S_ISDIR(info.st_mode):
                if info.st_ino in seen:
                    continue
                seen.add(info.st_ino)
            yield info


def settle(
    act: Callable[[], None], failed: str, start: Start, own: Path, need: Callable[[], int] = lambda: 0
) -> None:
    """Do something in a trial's worktree that takes `need` bytes, again after a moment where the machine lacks means.

    Raises CheckoutFailed, beginning with `failed`, if it is the trial's doing that it cannot be done. Raises OSError
    if it is the machine's: `own`, a folder that is no trial's, has the same fault, and no trial filled the disk.
    """
    for pause in PAUSES:
        time.sleep(pause)
        try:
            return act()
        except OSError as error:
            fault = error
            if error.errno not in LACKING:
                break
    else:
        lack = _lack(own, max(need(), _LEAST))
        if lack is None:
            try:
                return act()
            except OSError as error:
                fault = error
        elif lack.errno in _FULL and start.filled_by_trial(need()):
            raise CheckoutFailed(f"{failed}: the trial filled the disk") from lack
        else:
            raise lack
    raise CheckoutFailed(f"{failed}: {fault}") from fault


def _lack(own: Path, size: int) -> OSError | None:
    """What the machine lacks to write so many bytes into a folder of kcut's own; None if it lacks nothing."""
    place = own / f"look-{secrets.token_hex(4)}"
    try:
        with place.open("xb", buffering=0) as file:
            while size > 0:
                size -= file.write(bytes(min(size, 1 << 20)))
    except OSError as error:
        return error if error.errno in LACKING else None
    finally:
        place.unlink(missing_ok=True)
    return None
