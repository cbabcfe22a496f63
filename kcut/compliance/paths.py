"""Where a path of a recorded run lies: paths of Windows and of POSIX, compared as their systems do. Pure."""

import ntpath
import posixpath
import re
from dataclasses import dataclass

_DRIVE = re.compile(r"(?:[A-Za-z]:[\\/]|\\\\)")
#: A drive as Unix shells on Windows write it: `/c/Users`, `/C:/Users`, `/mnt/c/Users`, `/cygdrive/c/Users`.
_UNIX_DRIVE = re.compile(r"/(?:(?:mnt/|cygdrive/)?([A-Za-z])|([A-Za-z]):)(?=/|\Z)")
#: Before a path that Windows is to take as it is.
_VERBATIM = re.compile(r"[\\/]{2}[?.][\\/](?=[A-Za-z]:)")
#: macOS: these folders are links below /private.
_PRIVATE = re.compile(r"/private(?=/(?:tmp|var|etc)(?:/|\Z))")


def is_windows(path: str) -> bool:
    """True for an absolute path of Windows."""
    return _DRIVE.match(path) is not None


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a run, None if it is unknown; `windows`: its paths are those of Windows."""

    path: str | None

    @property
    def windows(self) -> bool:
        """True if the run was on Windows."""
        return self.path is not None and is_windows(self.path)

    def inside(self, path: str) -> str | None:
        """The path relative to the folder, with `/`, in lower case on Windows; None if it lies outside.

        ValueError if that cannot be told: the path is absolute, and the folder is unknown.
        """
        windows = self.windows or (self.path is None and is_windows(path))
        if path.startswith("~"):
            return None
        whole = _whole(path, windows=windows)
        if not _absolute(whole, windows=windows):
            whole = posixpath.normpath(whole)
            return None if whole.split("/", 1)[0] == ".." else whole
        if self.path is None:
            raise ValueError("the run's folder is unknown")
        folder = posixpath.normpath(_whole(self.path, windows=windows))
        whole = posixpath.normpath(whole)
        if whole == folder:
            return "."
        return whole.removeprefix(folder.rstrip("/") + "/") if whole.startswith(folder.rstrip("/") + "/") else None


def name_of(path: str) -> str:
    """The last part of a path, of either system."""
    return ntpath.basename(path)


def _whole(path: str, *, windows: bool) -> str:
    if not windows:
        return _PRIVATE.sub("", path, count=1) if path.startswith("/private/") else path
    path = _VERBATIM.sub("", path, count=1) if _VERBATIM.match(path) else path
    path = path.replace("\\", "/")
    if drive := _UNIX_DRIVE.match(path):
        path = f"{drive[1] or drive[2]}:{path[drive.end() :]}"
    return path.lower()


def _absolute(path: str, *, windows: bool) -> bool:
    return path.startswith("/") or (windows and path[1:2] == ":")
