"""Whether the user's checkout changed while trials ran: its files, its HEAD, and what trials reach through links."""

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation.checkout import Checkout, status
from kcut.model.errors import Interrupted, NotReady

#: Seconds that git gets: a filter of the user's that hangs must not hang the run.
_LIMIT = 120.0
_Stat = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The state of a checkout at one moment: HEAD and its branch, and what is at each path that could differ.

    `known` is false if git could not read the checkout then.
    """

    head: str
    files: dict[str, tuple[str, _Stat | None]]
    known: bool = True

    def differences(self, later: "Fingerprint") -> tuple[str, ...]:
        """What changed up to `later`: `HEAD`, and paths relative to the root, sorted; nothing if one is not known."""
        if not (self.known and later.known):
            return ()
        paths = {path for path in {*self.files, *later.files} if self.files.get(path) != later.files.get(path)}
        moved = ("HEAD",) if self.head != later.head else ()
        return (*moved, *sorted(paths, key=os.fsencode))


def fingerprint(checkout: Checkout, links: Sequence[str] = ()) -> Fingerprint:
    """The checkout's state now. Never raises; no lock is taken, nothing is written.

    `links` are watched though git ignores them.
    """
    try:
        result = checkout.git().must(*status(checkout, "--branch", "--porcelain=v2"), timeout=_LIMIT)
    except (NotReady, Interrupted):
        return Fingerprint("", {}, known=False)
    fields = result.fields()
    head = "\n".join(field for field in fields if field.startswith(("# branch.oid", "# branch.head")))
    files: dict[str, tuple[str, _Stat | None]] = {}
    for field in fields:
        if field.startswith("#"):
            continue
        kind, path = _entry(field)
        files[path] = (kind, _look(checkout.root / path))
    for link in links:
        _watch(checkout, link, files)
    return Fingerprint(head, files)


def _entry(field: str) -> tuple[str, str]:
    """(everything but the path, the path) of a line of `git status --porcelain=v2` without renames."""
    columns = {"1": 8, "u": 10, "?": 1}[field[0]]
    *before, path = field.split(" ", columns)
    return " ".join(before), path


def _look(path: Path) -> _Stat | None:
    try:
        info = path.lstat()
    except OSError:
        return None
    return info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino


def _watch(checkout: Checkout, link: str, files: dict[str, tuple[str, _Stat | None]]) -> None:
    """Add everything below a linked path but kcut's own folder."""
    root = checkout.root
    if link in checkout.state:
        return
    seen = _look(root / link)
    files[link] = ("linked", seen)
    if seen is not None and stat.S_ISDIR(seen[0]):
        try:
            names = [entry.name for entry in (root / link).iterdir()]
        except OSError:
            return
        for name in names:
            _watch(checkout, f"{link}/{name}", files)
