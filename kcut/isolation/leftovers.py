"""What a run owns outside of its state folder, how it is removed, and how a dead run's is found and removed."""

import contextlib
import os
import re
from pathlib import Path

from kcut.isolation import linked
from kcut.isolation.freeze import is_folder
from kcut.system.files import remove_tree
from kcut.system.lease import dead_lease
from kcut.system.mounts import MOUNTED, detach, mount_at

#: The names of runs' folders: a number that nobody else has.
NAME = re.compile("w-[0-9a-f]{16}")
#: Leases lie in the folder of their run, one per time that it was started.
LEASES = "lease-*.json"
#: kcut's own part of a run's folder; trials' folders lie beside it.
OWN = "own"
#: Where the cohorts' bases differ, the folders of their repositories in kcut's part have names that begin so.
BASE = "base-"
#: A worktree that is to stay has a file of this ending, named like its folder, in kcut's part.
KEPT = ".kept"
#: A kept worktree that is put aside, while copies of it are scored in its place, has this ending.
ASIDE = ".aside"
_TRIAL = re.compile("[0-9a-f]{12}")


def clear(folder: Path, common_dir: Path | None) -> list[str]:
    """Remove a run's folder, and its registrations in the user's repository, but for worktrees that are kept.

    Returns what could not be removed, with the reason.
    """
    left: list[str] = []
    detach(folder)
    ours = _is_ours(folder)
    # a link in the place of kcut's own part leads to what is not kcut's
    marks = (folder / OWN).glob(f"*{KEPT}") if ours and is_folder(folder / OWN) else ()
    kept = {file.stem for file in marks}
    if common_dir is not None:
        left += linked.unregister(common_dir, folder, but=kept)
    if folder.is_symlink():
        with contextlib.suppress(OSError):
            folder.unlink()
        return [*left, f"{folder}: it was moved away, and a link put in its place"]
    if not is_folder(folder) or folder.lstat().st_uid != os.getuid():
        return left
    if not ours:
        return [*left, f"{folder}: {MOUNTED}"]
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
    if not kept:
        return left + remove_tree(folder)
    for entry in list(folder.iterdir()):
        if entry.name not in {OWN, *kept}:
            left += remove_tree(entry)
    for entry in list((folder / OWN).iterdir()):
        # kept worktrees go on reading what their repository borrows; nothing else is needed any more
        if entry.name not in {"origin", "store"} and not entry.name.startswith(BASE) and entry.suffix != KEPT:
            left += remove_tree(entry)
    return left


def _is_ours(folder: Path) -> bool:
    """True for a folder, false for a link to one and for what is mounted there."""
    try:
        return is_folder(folder) and mount_at(folder) == mount_at(folder.parent.resolve())
    except OSError:
        return False


def _is_a_runs(folder: str, lease: Path) -> bool:
    """True if a lease's file and the folder that it claims have a name that only kcut gives: a file that came with
    the repository must not make kcut remove anything else."""
    name = Path(folder).name
    return Path(folder).is_absolute() and NAME.fullmatch(name) is not None and lease.name == f"lease-{name}.json"


def _returned(folder: Path) -> list[str]:
    try:
        return put_back(folder)
    except OSError as error:
        return [f"{folder}{ASIDE}: {error.strerror}"]


def is_kept(folder: Path) -> bool:
    """True for the folder of a trial in a run's folder, by their names, which only kcut gives."""
    return (
        folder.is_absolute()
        and NAME.fullmatch(folder.parent.name) is not None
        and _TRIAL.fullmatch(folder.name) is not None
    )


def put_back(folder: Path) -> list[str]:
    """Put a kept worktree back, if it is aside, in the place of its copy; returns what could not be removed there.

    OSError if it cannot be moved.
    """
    aside = folder.with_name(folder.name + ASIDE)
    if not is_kept(folder) or not is_folder(aside) or aside.lstat().st_uid != os.getuid():
        return []
    left = remove_tree(folder)
    if not left:
        aside.rename(folder)
    return left


def sweep(state_root: Path) -> list[str]:
    """Remove what dead kcut processes of this checkout left behind, and nothing else.

    `state_root` is the state folder. Worktrees that were to be kept stay. Returns a line for each run's folder that
    was removed or, with the reason, could not be.
    """
    told: list[str] = []
    for path in sorted(state_root.glob(f"runs/*/{LEASES}")):
        lease = dead_lease(path)
        if lease is None:
            continue
        left: list[str] = []
        folder, common_dir = lease.claim.get("folder"), lease.claim.get("common_dir")
        kept = lease.claim.get("kept")
        if isinstance(kept, str):
            left += _returned(Path(kept))
            told += [f"could not remove {line}" for line in left]
        if isinstance(folder, str) and _is_a_runs(folder, path):
            left = clear(Path(folder), Path(common_dir) if isinstance(common_dir, str) else None)
            for prepared in path.parent.glob(f"{Path(folder).name}-*"):
                left += remove_tree(prepared)
            told += [f"could not remove {line}" for line in left] or [f"removed {folder}"]
        if not left:
            path.unlink(missing_ok=True)
            if f"lease-{path.parent.name}.json" == path.name:  # made for this lease alone, no run's
                with contextlib.suppress(OSError):
                    path.parent.rmdir()
    return told
