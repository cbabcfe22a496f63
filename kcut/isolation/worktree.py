"""One trial's worktree, from the moment it is checked out to its removal."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from kcut.isolation.freeze import Freezer, Frozen
from kcut.isolation.restore import make_folder, restore

#: Bytes of a diff that are kept.
DIFF_BYTES = 4 << 20


class Worktree:
    """`path` is the root of the tree, `cwd` the folder in it that trials run in.

    `scratch` is a folder outside of the tree that is removed with it. `leftover`, after the worktree was closed,
    names what could not be removed and why.
    """

    def __init__(self, folder: Path, subdir: str, freezer: Freezer, kept: Path) -> None:
        self.path = folder / "tree"
        self.cwd = self.path / subdir if subdir else self.path
        self.scratch = folder / "scratch"
        self.leftover: tuple[str, ...] = ()
        self._folder = folder
        self._freezer = freezer
        self._kept = kept

    def freeze(self) -> Frozen:
        """What differs from the base now. Never raises: what cannot be computed has a reason."""
        self._reach()
        return self._freezer.freeze()

    def diff(self, limit: int = DIFF_BYTES) -> bytes:
        """The patch from the base to the tree as it is now, new files included; one that was cut says so."""
        data, more = self._freezer.diff(limit)
        return data + b"\n[the diff is longer]\n" if more else data

    def mend(self) -> None:
        """Make sure that `cwd` is a folder again, so that a score can run; a link in its place is not followed."""
        self._reach()
        with contextlib.suppress(OSError):
            place = self.path
            make_folder(place)
            for part in self.cwd.relative_to(self.path).parts:
                place /= part
                make_folder(place)

    def restore(self, protected: Sequence[str]) -> tuple[str, ...]:
        """Give protected files their content of the base back; returns those that had another, sorted.

        Raises CheckoutFailed if that cannot be done.
        """
        self._reach()
        return restore(self._freezer.origin, self.path, self._freezer.index, protected)

    def _reach(self) -> None:
        """The folders around the tree are kcut's: a trial may have closed them."""
        for folder in (self._folder.parent, self._folder):
            with contextlib.suppress(OSError):
                folder.chmod(0o700)

    def keep(self) -> Path:
        """Leave the worktree where it is when it is closed; returns its path."""
        self._kept.touch()
        return self.path

    @property
    def kept(self) -> bool:
        """True once `keep` was called."""
        return self._kept.exists()
