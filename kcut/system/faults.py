"""What a user can do about an error of the system: one answer for every place where a file cannot be had."""

import errno
import os
from pathlib import Path

#: Not kcut's bugs: a full, read-only or broken disk, no more files, processes or memory, a path that cannot be.
MACHINE_FAULTS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN}
    | {errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EFBIG}
)


def mend(error: OSError, place: Path | str, must_be: str = "writable") -> str:
    """A clause that says what to do, such as `free some space`; `place` is what must be `writable` or `readable`."""
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "free some space"
        case errno.EFBIG:
            return "raise the limit on the size of files (ulimit -f)"
        case errno.EMFILE | errno.ENFILE:
            return "raise the limit on open files (ulimit -n)"
        case errno.ENOMEM | errno.EAGAIN:
            return "free some memory, or end other processes"
        case errno.EROFS:
            return f"{place} is on a file system that is read-only: make it {must_be}"
        case errno.EIO:
            return f"see to the disk that {place} is on"
        case errno.ENAMETOOLONG | errno.ELOOP | errno.ENOTDIR | errno.ENOENT:
            return f"see to {place}"
        case _:
            return f"make {_closed_above(Path(place)) or place} {must_be}"


def _closed_above(place: Path) -> Path | None:
    """The outermost folder above that may not be entered: with it closed nothing can be said of what lies in it."""
    return next((folder for folder in reversed(place.parents) if not os.access(folder, os.X_OK)), None)
