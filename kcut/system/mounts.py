"""File systems that a trial mounted in a folder: found, and detached so that nothing of theirs is touched."""

import os
import re
from collections.abc import Iterable
from pathlib import Path

#: What is said of a folder that is not entered.
MOUNTED = "a file system is mounted there"
_PATH = getattr(os, "O_PATH", os.O_RDONLY)
_ESCAPE = re.compile(rb"\\([0-7]{3})")
_MNT_DETACH = 2
_MS_REC, _MS_PRIVATE = 1 << 14, 1 << 18


def mount_of(handle: int) -> int:
    """A number that two open files share if they lie on one mount: a bind mount has its own, on one device too.

    Where the system does not tell, it is the device's.
    """
    try:
        with open(f"/proc/self/fdinfo/{handle}", "rb", buffering=0) as file:  # noqa: PTH123  # once per folder
            for line in file.read(4096).splitlines():
                if line.startswith(b"mnt_id:"):
                    return int(line[7:])
    except FileNotFoundError:
        pass
    return os.fstat(handle).st_dev


def mount_at(path: Path | str, *, dir_fd: int | None = None) -> int:
    """`mount_of` what lies at a path; a link there is not followed. OSError if there is nothing."""
    flags = _PATH | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    handle = os.open(path, flags, dir_fd=dir_fd)
    try:
        return mount_of(handle)
    finally:
        os.close(handle)


def mount_points(folder: Path) -> list[Path]:
    """Where file systems are mounted at a folder or below it, each as often as it is; outer ones first."""
    return [Path(os.fsdecode(point)) for point in _sorted(_mounts(folder).values())]


def detach(folder: Path) -> None:
    """Detach what is mounted at a folder or below it, as far as the system lets us: `mount_points` tells.

    Each is made private first: in a mount of the whole system, say, what is detached would else go there as well.
    """
    mounts = _mounts(folder)
    while mounts:
        outermost = _sorted(mounts.values())[0]
        try:
            handle = os.open(outermost, _PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return
        try:
            # by number: the path may lead elsewhere by now
            if mount_of(handle) not in mounts or not _detach(f"/proc/self/fd/{handle}".encode()):
                return
        except OSError:
            return
        finally:
            os.close(handle)
        before, mounts = len(mounts), _mounts(folder)
        if len(mounts) >= before:
            return


def _detach(point: bytes) -> bool:
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    private = libc.mount(None, point, None, ctypes.c_ulong(_MS_REC | _MS_PRIVATE), None) == 0
    return private and bool(libc.umount2(point, _MNT_DETACH) == 0)


def _sorted(points: Iterable[bytes]) -> list[bytes]:
    return sorted(points, key=lambda point: (point.count(b"/"), point))


def _mounts(folder: Path) -> dict[int, bytes]:
    """The number and the place of every mount at a folder or below it; none where the system does not tell."""
    top = os.fsencode(os.path.join(os.path.realpath(folder.parent), folder.name))  # noqa: PTH118  # bytes
    try:
        with open("/proc/self/mountinfo", "rb") as file:  # noqa: PTH123  # a fixed name
            lines = file.read().splitlines()
    except OSError:
        return {}
    found: dict[int, bytes] = {}
    for line in lines:
        fields = line.split(b" ", 5)
        point = _ESCAPE.sub(lambda match: bytes([int(match[1], 8)]), fields[4])
        if point == top or point.startswith(top + b"/"):
            found[int(fields[0])] = point
    return found
