"""Where a run's worktrees lie: outside of the user's repository, and below nothing that an agent would read."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kcut.isolation.checkout import Checkout
from kcut.model.errors import NotReady

#: What agents and git read from the folders above the one they work in.
MARKERS = ("CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude", ".git")
_SYSTEM = ("/tmp", "/var/tmp", "/usr/tmp")  # noqa: S108  # the system's temporary folders, as tempfile has them


def find_place(checkout: Checkout, workdir: str | None) -> Path:
    """The real path of the first clean folder of `workdir`, TMPDIR, the system's temporary folders.

    A `workdir` that was given is the only candidate. Raises NotReady naming what is in the way of each.
    """
    reasons: list[str] = []
    for candidate in _candidates(workdir):
        place = Path(os.path.realpath(candidate))
        reason = _unfit(place, checkout)
        if reason is None:
            return place
        reasons.append(f"{candidate}: {reason}")
    which = "--workdir is no clean place" if workdir is not None else "there is no clean place for the worktrees"
    raise NotReady(
        f"{which}: {'; '.join(reasons)}",
        remedy="name a folder outside of any checkout, below nothing that agents read: --workdir DIR",
    )


def _candidates(workdir: str | None) -> Iterator[str]:
    if workdir is not None:
        yield workdir
        return
    yield from dict.fromkeys(path for path in (os.environ.get("TMPDIR", ""), *_SYSTEM) if path)


def _unfit(place: Path, checkout: Checkout) -> str | None:
    """Why trials cannot lie in this folder; None if they can."""
    if not place.is_dir():
        return "it is not a folder" if place.exists() else "it does not exist"
    for inside in (checkout.root, checkout.git_dir, checkout.common_dir):
        if place.is_relative_to(inside):
            return f"it lies inside your repository, {inside}"
    marker = marker_above(place)
    if marker is not None:
        return f"agents would read {marker}"
    if not os.access(place, os.W_OK | os.X_OK):
        return "it is not writable"
    try:
        Path(tempfile.mkdtemp(dir=place)).rmdir()
        if os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0):  # macOS does not tell
            return "nothing can be executed there (mounted noexec)"
    except OSError as error:
        return f"it is not writable: {error.strerror}"
    return None


def marker_above(folder: Path) -> Path | None:
    """The first file in this folder or above it that agents or git would read; None if there is none."""
    for above in (folder, *folder.parents):
        for name in MARKERS:
            if os.path.lexists(above / name):
                return above / name
    return None
