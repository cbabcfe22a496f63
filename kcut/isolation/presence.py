"""What a cohort has of a component on disk: made so when its worktree is, and looked at again before the task begins.

The cohort's tree alone does not tell. What git ignores is brought along, a sparse checkout leaves files out, and a
set-up may do anything.
"""

import hashlib
import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation.change import differing
from kcut.isolation.checkout import CheckoutFailed
from kcut.isolation.extras import Extras, is_below
from kcut.isolation.origin import Origin
from kcut.isolation.reads import Entries
from kcut.system.files import remove_tree

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Share:
    """A cohort's part of what differs between the cohorts: the paths that it has, and those that it lacks."""

    has: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()

    @classmethod
    def of(cls, own: Entries, others: Sequence[Entries]) -> "Share":
        """The share of a cohort whose tree has the entries `own`, beside the others'."""
        paths = sorted({path for other in others for path in differing(own, other)})
        return cls(tuple(path for path in paths if path in own), tuple(path for path in paths if path not in own))

    def settle(self, origin: Origin, tree: Path, index: Path, extras: Extras) -> None:
        """Give a fresh worktree, with what was brought along, this share and nothing else of the component.

        Raises CheckoutFailed if a link would show it, NotReady or OSError if it cannot be done.
        """
        for path in (*self.has, *self.lacks):
            if is_below(path, extras.links):
                raise CheckoutFailed(
                    f"{path} is the component's, and a link would show it to all cohorts",
                    remedy="bring it with --copy instead of --link",
                )
        wanted = [path for path in self.has if not _there(tree / path) or is_below(path, extras.copies)]
        if wanted:
            origin.put_back(tree, index, wanted)
        for path in self.lacks:
            if _there(tree / path):
                remove_tree(tree / path)

    def look(self, tree: Path) -> Mapping[str, bytes]:
        """What lies at the paths of the share now, as a hash of kind, mode and bytes."""
        return {path: _signature(tree / path) for path in self.has}

    def astray(self, tree: Path, was: Mapping[str, bytes]) -> str | None:
        """What of the component is not as it was, in a clause; None if all is."""
        for path in self.has:
            if (now := _signature(tree / path)) != was.get(path):
                return f"{path}, of the component, is {'another' if now else 'missing'} when the task begins"
        other = next((path for path in self.lacks if _there(tree / path)), None)
        return None if other is None else f"{other}, of the component, is there when the task begins"


def _there(place: Path) -> bool:
    """True for a file or link, false for a folder and for nothing."""
    return place.is_symlink() or (os.path.lexists(place) and not place.is_dir())


def _signature(place: Path) -> bytes:
    """A hash of what lies there; empty for nothing, for a folder, and for what cannot be read."""
    try:
        info = place.lstat()
        if stat.S_ISLNK(info.st_mode):
            return hashlib.sha256(b"link:" + os.fsencode(os.readlink(place))).digest()  # noqa: PTH115  # a Path tidies
        if not stat.S_ISREG(info.st_mode):
            return b""
        seen = hashlib.sha256(b"exec:" if info.st_mode & stat.S_IXUSR else b"file:")
        with os.fdopen(os.open(place, _READ), "rb") as file:
            while part := file.read(1 << 20):
                seen.update(part)
        return seen.digest()
    except OSError:
        return b""
