"""One trial's worktree, from the moment it is checked out to its removal."""

import contextlib
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kcut.isolation.blame import Start, settle
from kcut.isolation.checkout import CheckoutFailed
from kcut.isolation.freeze import Freezer, Frozen
from kcut.isolation.oracle import conceal, reveal
from kcut.isolation.presence import Share
from kcut.isolation.pristine import Pristine
from kcut.isolation.restore import changed_paths, detach_around, make_folder, restore
from kcut.model.plan import OraclePlan
from kcut.system.files import identity
from kcut.system.mounts import detach, mount_points

#: Bytes of a diff that are kept.
DIFF_BYTES = 4 << 20
_PROTECTED = "protected files could not be restored"
_REPLACED = "the trial replaced the folders around its worktree"


class Worktree:
    """`path` is the root of the tree, `cwd` the folder in it that trials run in.

    `scratch` is a folder outside of the tree that is removed with it. `leftover`, after the worktree was closed,
    names what could not be removed and why.
    """

    def __init__(
        self,
        folder: Path,
        subdir: str,
        freezer: Freezer,
        kept: Path,
        protected: Mapping[str, Pristine],
        *,
        share: Share,
    ) -> None:
        self.path = folder / "tree"
        self.cwd = self.path / subdir if subdir else self.path
        self.scratch = folder / "scratch"
        self.leftover: tuple[str, ...] = ()
        self._folder = folder
        self._freezer = freezer
        self._kept = kept
        self._protected = protected
        self._share, self._held = share, share.look(self.path)
        self._own = kept.parent
        self._scratch = identity(self.scratch)
        self._start = Start.of(folder, freezer.index)
        self._known = {place: identity(place) for place in (folder.parent, folder)}

    def freeze(self) -> Frozen:
        """What differs from the base now. Never raises: what cannot be computed has a reason."""
        return self._freezer.freeze() if self._reach() else Frozen(None, (), _REPLACED)

    def diff(self, limit: int = DIFF_BYTES) -> bytes:
        """The patch from the base to the tree as it is now, new files included; one that was cut says so."""
        data, more = self._freezer.diff(limit) if self._reach() else (b"", False)
        return data + b"\n[the diff is longer]\n" if more else data

    def has_scratch(self) -> bool:
        """False if a trial has put something else in the place of `scratch`."""
        return self._reach() and identity(self.scratch) == self._scratch

    def astray(self) -> str | None:
        """What of the component is not as this worktree was made, in a clause; None if all is."""
        return self._share.astray(self.path, self._held)

    def mend(self) -> None:
        """Make sure that `cwd` is a folder again, so that a score can run.

        A link in its place is not followed, what is mounted over it is detached. Raises as `restore`.
        """
        if not self._reach():
            raise CheckoutFailed(_REPLACED)
        settle(self._mend, "the folder that the score runs in could not be made", self._start, self._own)

    def _mend(self) -> None:
        place = self.path
        make_folder(place)
        if self.cwd != place:
            detach_around(place, [self.cwd.relative_to(place).as_posix()])
        for part in self.cwd.relative_to(self.path).parts:
            place /= part
            make_folder(place)

    def restore(self) -> tuple[str, ...]:
        """Give protected files their content of the base back; returns those that had another, sorted.

        Raises CheckoutFailed if what the trial left does not let us, OSError if the machine does not.
        """
        if not self._reach():
            raise CheckoutFailed(f"{_PROTECTED}: {_REPLACED}")
        changed: dict[str, Pristine] = {}

        def act() -> None:
            if not changed:
                changed.update((path, self._protected[path]) for path in changed_paths(self.path, self._protected))
            if changed:
                restore(self.path, changed)

        def need() -> int:
            return sum(was.size for was in changed.values())

        settle(act, _PROTECTED, self._start, self._own, need)
        return tuple(changed)

    def reveal(self, oracle: OraclePlan) -> None:
        """Bring what only the score may see. Raises as `restore`, and NotReady or UsageFault if it has changed."""
        if not self._reach():
            raise CheckoutFailed(_REPLACED)
        settle(lambda: reveal(oracle, self.path), "the oracle has no place in the worktree", self._start, self._own)

    def conceal(self, oracle: OraclePlan) -> None:
        """Take away what `reveal` brought, so that the trial can go on without it. Raises as `restore`."""
        if not self._reach():
            raise CheckoutFailed(_REPLACED)
        settle(lambda: conceal(oracle, self.path), "the oracle could not be taken away", self._start, self._own)

    def _reach(self) -> bool:
        """Open the folders around the tree, kcut's own, which a trial may have closed; false if it cannot be.

        What is not the folder that was made at the start is never entered: a link or another file in the place of the
        trial's own is removed, another folder is put aside, and a fresh one is made.
        """
        place, folder = self._folder.parent, self._folder
        with contextlib.suppress(OSError):
            uncover(place, folder, self.path)
            if identity(place) != self._known[place]:
                return False
            place.chmod(0o700)
            if identity(folder) != self._known[folder]:
                if identity(folder) is not None:
                    folder.rename(place / f"{folder.name}-{secrets.token_hex(4)}")
                else:
                    folder.unlink(missing_ok=True)
                folder.mkdir(mode=0o700)
                self._known[folder] = identity(folder)
            folder.chmod(0o700)
        return identity(place) == self._known[place] and identity(folder) == self._known[folder]

    def at(self, folder: Path, protected: Sequence[str]) -> "Worktree":
        """Another worktree of the same base, with the folders around it as a trial's; this one must stay open.

        `protected` are those of this one's that are restored there.
        """
        subdir = self.cwd.relative_to(self.path)
        freezer = replace(self._freezer, tree=folder / "tree")
        known = {path: self._protected[path] for path in protected if path in self._protected}
        return Worktree(
            folder, "" if subdir == Path() else os.fspath(subdir), freezer, self._kept, known, share=Share()
        )

    def keep(self) -> Path:
        """Leave the worktree where it is when it is closed; returns its path."""
        self._kept.touch()
        return self.path

    @property
    def kept(self) -> bool:
        """True once `keep` was called."""
        return self._kept.exists()


def uncover(*folders: Path) -> None:
    """Detach what is mounted at these very folders, outer ones first; what is mounted deeper stays."""
    for folder in folders:
        if folder in mount_points(folder):
            detach(folder)
