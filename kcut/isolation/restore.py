"""Bring files of the base back into a worktree, whatever a trial has put in their way; links are never followed."""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation.checkout import CheckoutFailed
from kcut.isolation.freeze import LIMIT, is_folder
from kcut.isolation.origin import Origin
from kcut.model.errors import NotReady
from kcut.system.files import remove_tree
from kcut.system.git import join
from kcut.system.mounts import MOUNTED, detach, mount_at, mount_of, mount_points

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class _Content:
    """A file's permission bits and bytes, or a link's target (`mode` is None then)."""

    mode: int | None
    data: bytes


def restore(origin: Origin, tree: Path, index: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Give `paths` the content, mode and kind they have at the base, and return those that had another.

    `index` is the pristine one. git makes them in an empty folder of kcut's, not in the tree: there it would read the
    attributes that the trial left. What is mounted over them is detached. Raises CheckoutFailed, with git's words
    where git cannot make them, if that cannot be done.
    """
    if not paths:
        return ()
    try:
        make_folder(tree)
        pristine = _pristine(origin, index, paths)
        touched = sorted((path for path in pristine if _content(tree, path) != pristine[path]), key=os.fsencode)
        if touched:
            _uncover(tree, touched)
        for path in touched:
            clear(tree, path)
            _write(tree, path, pristine[path])
    except (NotReady, OSError) as error:
        raise CheckoutFailed(f"protected files could not be restored: {error}") from error
    return tuple(touched)


def _pristine(origin: Origin, index: Path, paths: Sequence[str]) -> dict[str, _Content]:
    """The files as they are checked out; what a sparse checkout leaves out is left out."""
    folder = Path(tempfile.mkdtemp(prefix="pristine-", dir=index.parent))
    git = origin.git(folder, index)
    make = ("checkout-index", "-f", "-z", "--stdin")
    try:
        if not git.run(*make, stdin=join(paths), timeout=LIMIT).ok:
            # it stops at what a sparse checkout leaves out
            tags = {entry[2:]: entry[0] for entry in git.must("ls-files", "-t", "-z", timeout=LIMIT).fields()}
            git.must(*make, stdin=join(path for path in paths if tags.get(path, "S") != "S"), timeout=LIMIT)
        found = {path: _content(folder, path) for path in paths}
    finally:
        remove_tree(folder)
    return {path: content for path, content in found.items() if content is not None}


def _uncover(tree: Path, paths: Sequence[str]) -> None:
    """Detach what is mounted at or below one of `paths`, or at a folder above it: it may be the user's own data."""
    top = Path(os.path.realpath(tree))
    for point in mount_points(tree):
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


def _content(tree: Path, path: str) -> _Content | None:
    """What lies at a path of the tree, None if it is no file and no link, or a folder above it is none."""
    place = os.fspath(tree)
    *parents, name = path.split("/")
    try:
        for part in parents:
            place = f"{place}/{part}"
            if not stat.S_ISDIR(os.lstat(place).st_mode):  # a link is no folder
                return None
        place = f"{place}/{name}"
        if stat.S_ISLNK(os.lstat(place).st_mode):
            return _Content(None, os.fsencode(os.readlink(place)))  # noqa: PTH115  # a Path would tidy the name
        handle = os.open(place, _READ)
    except OSError:  # gone, closed to us, or a kind that cannot be opened: not as it was
        return None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return _Content(stat.S_IMODE(found.st_mode), file.read())


def _write(tree: Path, path: str, content: _Content) -> None:
    """Make the file anew; `clear` has left nothing in its way but folders."""
    place = tree / path
    place.parent.mkdir(parents=True, exist_ok=True)
    if content.mode is None:
        place.symlink_to(os.fsdecode(content.data))
        return
    handle = os.open(place, _WRITE, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content.data)
        os.fchmod(handle, content.mode)
