"""Bring files of the base back into a worktree, whatever a trial has put in their way; links are never followed."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from kcut.isolation.freeze import is_folder
from kcut.isolation.pristine import Pristine, is_unchanged, write
from kcut.system.files import remove_tree
from kcut.system.mounts import MOUNTED, detach, mount_at, mount_of, mount_points

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def changed_paths(tree: Path, pristine: Mapping[str, Pristine]) -> list[str]:
    """The paths where something else lies than did at first, sorted. OSError if the machine lacks what it takes."""
    return sorted((path for path, was in pristine.items() if not is_unchanged(tree, path, was)), key=os.fsencode)


def restore(tree: Path, files: Mapping[str, Pristine]) -> None:
    """Give paths of the tree the content, mode and kind they had. What is mounted over them is detached.

    OSError if that cannot be done; it may be tried again.
    """
    make_folder(tree)
    detach_around(tree, files)
    for path, was in files.items():
        clear(tree, path)
        write(tree / path, was)


def detach_around(tree: Path, paths: Iterable[str]) -> None:
    """Detach what is mounted at or below one of `paths`, or at a folder above it: it may be the user's own data."""
    points = mount_points(tree)
    top = Path(os.path.realpath(tree)) if points else tree
    for point in points:
        mounted = point.relative_to(top).as_posix()
        if any(_is_at_or_below(path, mounted) or _is_at_or_below(mounted, path) for path in paths):
            detach(point)


def _is_at_or_below(path: str, folder: str) -> bool:
    return folder in {".", path} or path.startswith(f"{folder}/")


def clear(tree: Path, path: str) -> None:
    """Remove what lies at a path of the tree, or in the place of a folder above it.

    OSError if it cannot be, or if a file system is mounted at a folder above it.
    """
    *parents, name = path.split("/")
    folder = os.open(tree, _FOLDER)
    try:
        for part in parents:
            inner = _step(folder, part)
            if inner is None:
                return
            os.close(folder)
            folder = inner
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                left = remove_tree(tree / path)
                if left:
                    raise OSError(f"{path} cannot be removed: {left[0]}")
            else:
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _step(folder: int, part: str) -> int | None:
    """A descriptor of a folder in a folder, made writable; None if there is none (any more).

    OSError if another file system is mounted there: it is left as it is.
    """
    try:
        if not stat.S_ISDIR(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(part, dir_fd=folder)
            return None
        if hasattr(os, "O_PATH"):
            _must_be_same(mount_at(part, dir_fd=folder), folder, part)
        try:
            inner = os.open(part, _FOLDER, dir_fd=folder)
        except PermissionError:
            os.chmod(part, stat.S_IRWXU, dir_fd=folder)
            inner = os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return None
    try:
        _must_be_same(mount_of(inner), folder, part)
        _open_up(inner)
    except OSError:
        os.close(inner)
        raise
    return inner


def _must_be_same(mount: int, folder: int, part: str) -> None:
    if mount != mount_of(folder):
        raise OSError(errno.EBUSY, f"{part}: {MOUNTED}")


def _open_up(folder: int) -> None:
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(folder, mode | stat.S_IRWXU)


def make_folder(path: Path) -> None:
    """Make sure that `path` is a folder that can be used: another thing in its place is removed. OSError if not."""
    if not is_folder(path):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        path.mkdir()
    folder = os.open(path.parent, _FOLDER)
    try:
        inner = _step(folder, path.name)
    finally:
        os.close(folder)
    if inner is not None:
        os.close(inner)
