"""Worktrees that a run kept: each is put aside, and copies of it take its place, so that no path in it changes.

A build folder or a virtual environment knows where it was made: elsewhere, a copy would not be scored as the trial
was.
"""

import contextlib
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kcut.isolation.checkout import CheckoutFailed
from kcut.isolation.freeze import is_folder
from kcut.isolation.leftovers import ASIDE, is_kept, put_back
from kcut.isolation.worktree import Worktree
from kcut.system.files import copy_tree, remove_tree, write_atomic
from kcut.system.lease import Lease

_GITDIR = re.compile(rb"gitdir: (.+)\n?")


def kept_folder(kept: str) -> Path | None:
    """The folder around a kept worktree; None if there is no worktree any more, or the place is none of kcut's."""
    tree = Path(kept)
    folder = tree.parent
    try:
        put_back(folder)
    except OSError:
        return None
    return folder if tree.name == "tree" and is_kept(folder) and is_folder(tree) else None


@contextlib.contextmanager
def set_aside(folder: Path, *, common_dir: Path, state: Path) -> Iterator["Aside"]:
    """Put a kept worktree aside, and back in the end; if this process dies, the next sweep of `state` puts it back.

    `common_dir` is the user's repository: of a linked worktree what git keeps there is put back as well. Raises
    CheckoutFailed if it cannot be moved.
    """
    try:
        lease = Lease(state / f"lease-kept-{secrets.token_hex(8)}.json", {"kept": str(folder)})
    except OSError as error:
        raise CheckoutFailed(f"cannot write in {state}: {error.strerror}") from error
    try:
        with _as_it_was(_admin(folder, common_dir)):
            aside = folder.with_name(folder.name + ASIDE)
            try:
                folder.rename(aside)
            except OSError as error:
                raise CheckoutFailed(f"{folder} cannot be moved: {error.strerror}") from error
            try:
                yield Aside(folder, aside)
            finally:
                left = put_back(folder)
            if left:
                raise CheckoutFailed(f"{folder} stays in {aside}: {left[0]}")
    finally:
        lease.release()


@dataclass(frozen=True, slots=True)
class Aside:
    """A kept worktree: where it belongs, and where it is meanwhile."""

    folder: Path
    kept: Path

    @contextlib.contextmanager
    def copy(self, base: Worktree, protected: Sequence[str]) -> Iterator[Worktree]:
        """A fresh copy in its place, removed afterwards; `base` is a worktree at the same base, with those files.

        Raises CheckoutFailed if it cannot be copied: something in it cannot be read.
        """
        try:
            copy_tree(self.kept, self.folder)
        except OSError as error:
            remove_tree(self.folder)
            raise CheckoutFailed(f"{error.filename or self.folder} cannot be copied: {error.strerror}") from error
        try:
            yield base.at(self.folder, protected)
        finally:
            remove_tree(self.folder)


def _admin(folder: Path, common_dir: Path) -> Path | None:
    """What the user's repository keeps of a linked worktree; None if the worktree has a repository of its own."""
    try:
        link = folder / "tree" / ".git"
        found = _GITDIR.fullmatch(link.read_bytes()) if link.is_file() and not link.is_symlink() else None
    except OSError:
        return None
    place = common_dir / "worktrees" / f"{folder.parent.name}-{folder.name}"
    return place if found and Path(os.fsdecode(found[1])) == place and is_folder(place) else None


@contextlib.contextmanager
def _as_it_was(admin: Path | None) -> Iterator[None]:
    """Give the files of a small folder the bytes that they have now when the block ends."""
    if admin is None:
        yield
        return
    before = {path: path.read_bytes() for path in admin.rglob("*") if path.is_file() and not path.is_symlink()}
    try:
        yield
    finally:
        for path in admin.rglob("*"):
            if not path.is_dir() and path not in before:
                path.unlink()
        for path, data in before.items():
            if not path.is_file() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                write_atomic(path, data)
