"""The door to the disk: atomic writes, copies, removal that nothing in a trial can stop."""

import errno
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from kcut.system.mounts import MOUNTED, detach, mount_at, mount_of
from kcut.system.signals import check

#: What a machine lacks, for a moment or for good, when a call fails with one of these: no file or folder is at fault.
LACKING = frozenset(
    {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.ENOLCK}
)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: How deep removal descends before it moves what lies deeper to the top: bounds open files and the stack.
_DEEP = 64


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or the new ones, never a part. OSError if not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101  # mkstemp gives a string
        os.replace(name, path)  # noqa: PTH105  # a string, as above
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read_regular(path: Path, *, limit: int) -> bytes:
    """The bytes of a regular file of at most `limit` bytes; links are followed.

    OSError with a clause for people if it cannot be read, is larger, or is anything else: a FIFO or a device is
    not waited for.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit // 1024} KiB")
    return data


def read_end(path: Path, *, size: int) -> bytes:
    """The last `size` bytes of a regular file, all if it has fewer. OSError with a clause for people if it cannot."""
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        file.seek(max(0, os.fstat(file.fileno()).st_size - size))
        return file.read(size)


def copy_tree(source: Path, target: Path) -> None:
    """Copy a file, a link or a folder with all that is in it: bytes, modes and times, links as links.

    What is at `target` already stays: folders are joined, files are not overwritten. Sockets, FIFOs and devices
    are left out. Folders above `target` must exist. Raises OSError if something cannot be read or written,
    Interrupted if what runs is to end.
    """
    check()
    info = source.lstat()
    if stat.S_ISDIR(info.st_mode):
        if not target.is_dir() or target.is_symlink():
            target.mkdir(mode=0o700)
        with os.scandir(source) as entries:
            names = sorted(entry.name for entry in entries)
        for name in names:
            copy_tree(source / name, target / name)
        shutil.copystat(source, target)
    elif os.path.lexists(target):
        return
    elif stat.S_ISLNK(info.st_mode):
        target.symlink_to(source.readlink())
    elif stat.S_ISREG(info.st_mode):
        _copy_bytes(source, target)
        shutil.copystat(source, target)


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _copy_bytes(source: Path, target: Path) -> None:
    """Copy a file's content; within a file system that can, the blocks are shared and nothing is written."""
    # a FIFO may have taken the file's place meanwhile
    with open(source, "rb", opener=_at_once) as reader, target.open("xb") as writer:  # for the opener
        if hasattr(os, "copy_file_range"):
            try:
                while os.copy_file_range(reader.fileno(), writer.fileno(), 1 << 30):
                    pass
            except OSError as error:
                # EXDEV, EINVAL and the like: this pair of file systems cannot; nothing has been written then
                if error.errno in {errno.ENOSPC, errno.EIO, errno.EDQUOT} or writer.tell():
                    raise
            else:
                if os.fstat(writer.fileno()).st_size == os.fstat(reader.fileno()).st_size:
                    return
        reader.seek(0)
        writer.seek(0)
        shutil.copyfileobj(reader, writer, 1 << 20)


def identity(path: Path) -> tuple[int, int] | None:
    """What a folder is known by, whatever its name; None if there is none. A link to a folder is none."""
    try:
        info = path.lstat()
    except OSError:
        return None
    return (info.st_dev, info.st_ino) if stat.S_ISDIR(info.st_mode) else None


def remove_tree(path: Path) -> list[str]:
    """Remove a folder, read-only and mode-000 ones included; links are removed, never followed.

    Any depth and any length of path. What is mounted in it is detached; if that cannot be, it is not entered. Returns
    the paths that are still there, with the reason; empty if all went.
    """
    left: list[str] = []
    for pause in (0.0, 0.05, 0.2):
        # a process that was ended a moment ago may still have written something
        time.sleep(pause)
        detach(path)
        left = _Removal(path).run()
        if not left:
            break
    return left


class _Removal:
    """One attempt to remove `path`, by descriptors, so that a link in the way leads nowhere."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._left: list[str] = []
        self._top = -1
        self._mount = -1
        self._moved = 0

    def run(self) -> list[str]:
        try:
            if not stat.S_ISDIR(self._path.lstat().st_mode):
                self._path.unlink()
                return []
            self._mount = mount_at(self._path.parent.resolve())
            self._top = self._open(os.fspath(self._path), None)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            return [f"{self._path}: {error.strerror}"]
        try:
            before = -1
            while self._moved != before and not self._left:
                before = self._moved
                self._empty(self._top, os.fspath(self._path), 0)
        finally:
            os.close(self._top)
        if not self._left:
            try:
                self._path.rmdir()
            except FileNotFoundError:
                pass
            except OSError as error:
                self._left.append(f"{self._path}: {error.strerror}")
        return self._left

    def _empty(self, folder: int, where: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            listed = [(entry.name, _is_folder(entry)) for entry in entries]
        for name, is_folder in listed:
            try:
                if is_folder:
                    self._drop_folder(folder, name, where, depth)
                else:
                    _granted(folder, os.unlink, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                self._left.append(f"{where}/{name}: {error.strerror}")

    def _drop_folder(self, folder: int, name: str, where: str, depth: int) -> None:
        if depth >= _DEEP:
            self._hoist(folder, name)
            return
        inner = self._open(name, folder)
        before = len(self._left)
        try:
            self._empty(inner, f"{where}/{name}", depth + 1)
        finally:
            os.close(inner)
        if len(self._left) == before:
            _granted(folder, os.rmdir, name)

    def _hoist(self, folder: int, name: str) -> None:
        """Move a folder from the deep to the top, where a later round empties it."""
        inner = self._open(name, folder)
        try:
            os.fchmod(inner, stat.S_IRWXU)
        finally:
            os.close(inner)
        self._moved += 1
        target = f".{self._moved}-{os.getpid()}"
        os.fchmod(folder, stat.S_IRWXU)
        os.fchmod(self._top, stat.S_IRWXU)
        os.rename(name, target, src_dir_fd=folder, dst_dir_fd=self._top)  # by descriptor

    def _open(self, name: str, parent: int | None) -> int:
        """A descriptor of a folder on the mount that is emptied; OSError if another is mounted there.

        Its owner is given every right on it, and above it, if that is what it takes.
        """
        try:
            inner = os.open(name, _FOLDER, dir_fd=parent)
        except PermissionError:
            if parent is not None:
                os.fchmod(parent, stat.S_IRWXU)
            self._must_be_here(mount_at(name, dir_fd=parent) if hasattr(os, "O_PATH") else self._mount)
            os.chmod(name, stat.S_IRWXU, dir_fd=parent)  # by descriptor
            inner = os.open(name, _FOLDER, dir_fd=parent)
        try:
            self._must_be_here(mount_of(inner))
        except OSError:
            os.close(inner)
            raise
        return inner

    def _must_be_here(self, mount: int) -> None:
        if mount != self._mount:
            raise OSError(errno.EBUSY, MOUNTED)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _granted(folder: int, act: Callable[..., None], name: str) -> None:
    """Do something to an entry of a folder; if the folder forbids it, give its owner every right, and again."""
    try:
        act(name, dir_fd=folder)
    except PermissionError:
        os.fchmod(folder, stat.S_IRWXU)
        act(name, dir_fd=folder)
