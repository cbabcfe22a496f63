"""Worktrees that runs kept for a look (`--keep`): found again by what the record says, and removed on request."""

import os
from collections.abc import Iterable
from pathlib import Path

from kcut.isolation.freeze import is_folder
from kcut.isolation.leftovers import KEPT, NAME, OWN, clear


def kept_folders(trees: Iterable[str]) -> tuple[Path, ...]:
    """The runs' folders, still there, that hold the kept worktrees `trees`.

    A folder counts only if its name is one that kcut gives, it is this user's, and it has kcut's own part: a record
    that came with the repository must not make kcut remove anything else.
    """
    places = dict.fromkeys(Path(tree).parent.parent for tree in trees if Path(tree).is_absolute())
    return tuple(place for place in places if NAME.fullmatch(place.name) and _is_a_runs(place))


def remove_kept(place: Path, common_dir: Path) -> list[str]:
    """Remove a run's folder with the worktrees kept in it, and their registrations in the user's repository.

    Returns what could not be removed, with the reason.
    """
    for mark in (place / OWN).glob(f"*{KEPT}"):
        mark.unlink(missing_ok=True)
    return clear(place, common_dir)


def _is_a_runs(place: Path) -> bool:
    try:
        return is_folder(place) and place.lstat().st_uid == os.getuid() and is_folder(place / OWN)
    except OSError:
        return False
