"""Where the record lies: `.claude/eval` at the root of the checkout, which ignores itself."""

import errno
import os
from pathlib import Path

from kcut.model.errors import NotReady
from kcut.system.faults import mend
from kcut.system.files import write_atomic

STATE = Path(".claude") / "eval"
DATABASE = "kcut.db"
#: Everything here but the artifacts: the database with its journals, the folders of runs, this file itself.
IGNORE = """\
# kcut keeps its record of runs here; only the artifacts in benchmarks/ are meant to be committed
/*
!/benchmarks/
/benchmarks/.*.tmp
"""


def state_path(root: Path) -> Path:
    """Where the state of the checkout at `root` lies or would lie; nothing is made.

    Raises NotReady if `.claude` or `.claude/eval` is no folder, or a link that leads out of the checkout or to a
    folder that holds more than kcut's own.
    """
    for part in (STATE.parent, STATE):
        _must_be_inside(root, part)
    return root / STATE


def state_dir(root: Path) -> Path:
    """The state folder of the checkout at `root`, made with its own `.gitignore` on first use.

    A `.gitignore` that is there already is left as it is. Raises NotReady if the folder cannot be made or
    written to, or leads out of the checkout.
    """
    folder = state_path(root)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        ignore = folder / ".gitignore"
        if not os.path.lexists(ignore):
            write_atomic(ignore, IGNORE.encode())
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def run_dir(root: Path, run_id: str) -> Path:
    """The folder of a run, made if missing, for its owner's eyes only. Raises NotReady as state_dir does."""
    folder = state_dir(root) / "runs" / run_id
    for part in (STATE / "runs", STATE / "runs" / run_id):
        _must_be_inside(root, part)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unwritable(folder, error) from error
    return folder


def _must_be_inside(root: Path, part: Path) -> None:
    """Raise NotReady if there is something at `part` that is no folder of the checkout."""
    path = root / part
    if not os.path.lexists(path):
        return
    if not os.path.isdir(path):  # noqa: PTH112  # pathlib's raises where a folder above may not be searched
        what = "is a link that leads nowhere" if path.is_symlink() else "is not a folder"
        raise NotReady(
            f"{part} {what}, and kcut keeps its record in {STATE}", remedy=f"move {path} away, then run again"
        )
    base, inside = root.resolve(), path.resolve()
    if not inside.is_relative_to(base) or ".git" in inside.relative_to(base).parts:
        raise NotReady(
            f"{part} is a link that leads out of the checkout, and kcut writes nothing there",
            remedy=f"make {path} a folder of the checkout, then run again",
        )
    if part == STATE and (base / STATE.parent).resolve().is_relative_to(inside):
        raise NotReady(
            f"{part} is a link to a folder above it, and what kcut keeps there is left out of every trial",
            remedy=f"make {path} a folder of its own, then run again",
        )


def _unwritable(folder: Path, error: OSError) -> NotReady:
    return NotReady(
        f"cannot write in {folder}: {error.strerror or error}",
        remedy=f"kcut keeps its record there; {mend(error, folder)}, then run again",
    )
