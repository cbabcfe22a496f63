"""A folder held by its descriptor: whatever is put in its place or in its way, no link is followed."""

import contextlib
import os
import stat
from pathlib import Path
from types import TracebackType
from typing import Self

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """A folder that is open until `close`. `path` is where it was when it was opened."""

    def __init__(self, path: Path, *, parent: int | None = None) -> None:
        """Open it; OSError if it is not there, or no folder itself: a link to one is none."""
        self.path = path
        self._handle = os.open(path if parent is None else path.name, _FLAGS, dir_fd=parent)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """It is not used any more."""
        os.close(self._handle)

    def inner(self, path: Path) -> "Folder":
        """The folder that was at `path`, in this one, made as far as it is not there, its owner's only.

        What is in the way and no folder, a link for one, is removed. OSError if it lies elsewhere or cannot be.
        """
        if not path.is_relative_to(self.path) or ".." in path.parts:
            raise OSError(f"{path} does not lie in {self.path}")
        here = Folder(self.path / ".", parent=self._handle) if path == self.path else self
        for name in path.relative_to(self.path).parts:
            try:
                there = here._made(name)
            finally:
                if here is not self:
                    here.close()
            here = there
        return here

    def _made(self, name: str) -> "Folder":
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISDIR(os.lstat(name, dir_fd=self._handle).st_mode):
                self.remove(name)
        with contextlib.suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=self._handle)  # by descriptor
        return Folder(self.path / name, parent=self._handle)

    def has(self, name: str) -> bool:
        """True if there is a file of its own by that name."""
        try:
            return stat.S_ISREG(os.lstat(name, dir_fd=self._handle).st_mode)
        except OSError:
            return False

    def read(self, name: str, *, limit: int) -> bytes:
        """At most `limit` bytes of a file; OSError if it cannot be read, or is a link."""
        with os.fdopen(os.open(name, _READ, dir_fd=self._handle), "rb") as file:
            return file.read(limit)

    def write(self, name: str, data: bytes, *, mode: int = 0o600) -> None:
        """Write a file so that a reader sees all of it or none; what is there is replaced. Raises OSError."""
        part = f".{name[:40]}.{os.getpid()}.tmp"
        self.remove(part)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            with os.fdopen(os.open(part, flags, mode, dir_fd=self._handle), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.rename(part, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)  # by descriptor
        except BaseException:
            self.remove(part)
            raise

    def remove(self, name: str) -> None:
        """Remove a file or a link, whatever the folder's mode; none is left, or OSError."""
        with contextlib.suppress(FileNotFoundError):
            try:
                os.unlink(name, dir_fd=self._handle)
            except PermissionError:
                os.fchmod(self._handle, stat.S_IRWXU)
                os.unlink(name, dir_fd=self._handle)
