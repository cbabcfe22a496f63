"""The door to the disk: atomic writes, removal that nothing in a trial can stop."""

import os
import shutil
import stat
import tempfile
from pathlib import Path


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write `data` to `path` so that a reader sees the old bytes or the new ones, never a part. OSError if not."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)  # noqa: PTH101  # mkstemp gives a string
        os.replace(name, path)  # noqa: PTH105
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def remove_tree(path: Path) -> list[str]:
    """Remove a folder, read-only and mode-000 ones included; links are removed, never followed.

    Returns the paths that are still there, with the reason; empty if all went.
    """
    if not os.path.lexists(path):
        return []
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return []
    shutil.rmtree(path, ignore_errors=True)
    if not os.path.lexists(path):
        return []
    _open_up(path)
    left: list[str] = []
    shutil.rmtree(path, onerror=lambda _call, where, info: left.append(f"{where}: {info[1]}"))
    return left if os.path.lexists(path) else []


def _open_up(path: Path) -> None:
    """Give the owner every right on the folders below `path`, so that they can be emptied."""
    try:
        path.chmod(stat.S_IRWXU)
        entries = list(os.scandir(path))
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            _open_up(Path(entry.path))
