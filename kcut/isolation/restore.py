"""Bring files of the base back into a worktree, whatever a trial has put in their way; links are never followed."""

import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kcut.isolation.checkout import CheckoutFailed
from kcut.isolation.freeze import BATCH, LIMIT, is_folder, mode_of
from kcut.isolation.origin import Origin
from kcut.model.errors import NotReady
from kcut.system.files import remove_tree
from kcut.system.git import join

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def restore(origin: Origin, tree: Path, index: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Give `paths` the content, mode and kind they have at the base, and return those that had another.

    `index` is the pristine one. Raises CheckoutFailed with git's words if git cannot write them.
    """
    if not paths:
        return ()
    try:
        make_folder(tree)
        touched = _touched(origin, tree, index, paths)
        for path in touched:
            clear(tree, path)
        if touched:
            origin.git(tree, index).must("checkout-index", "-f", "-z", "--stdin", stdin=join(touched), timeout=LIMIT)
    except (NotReady, OSError) as error:
        raise CheckoutFailed(f"protected files could not be restored: {error}") from error
    return touched


def _touched(origin: Origin, tree: Path, index: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` that are not as they were checked out; what a sparse checkout leaves out is left out."""
    git = origin.git(tree, index)
    git = replace(git, extra_env={**(git.extra_env or {}), "GIT_LITERAL_PATHSPECS": "1"})
    tags: dict[str, set[str]] = {}
    for start in range(0, len(paths), BATCH):
        batch = paths[start : start + BATCH]
        listed = git.must("ls-files", "-t", "-z", "-c", "-m", "-d", "--", *batch, timeout=LIMIT)
        for entry in listed.fields():
            tags.setdefault(entry[2:], set()).add(entry[0])
    present = (path for path, seen in tags.items() if "S" not in seen)
    found = {path for path in present if tags[path] & {"C", "R"} or mode_of(tree, path) is None}
    return tuple(sorted(found, key=os.fsencode))


def clear(tree: Path, path: str) -> None:
    """Remove what lies at a path of the tree, or in the place of a folder above it. OSError if it cannot be."""
    *parents, name = path.split("/")
    folder = os.open(tree, _FOLDER)
    try:
        for part in parents:
            inner = _step(folder, part)
            if inner is None:
                return
            os.close(folder)
            folder = inner
        with contextlib.suppress(FileNotFoundError):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                left = remove_tree(tree / path)
                if left:
                    raise OSError(f"{path} cannot be removed: {left[0]}")
            else:
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def _step(folder: int, part: str) -> int | None:
    """A descriptor of a folder in a folder, made writable; None if there is none (any more)."""
    try:
        if not stat.S_ISDIR(os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(part, dir_fd=folder)
            return None
        try:
            inner = os.open(part, _FOLDER, dir_fd=folder)
        except PermissionError:
            os.chmod(part, stat.S_IRWXU, dir_fd=folder)
            inner = os.open(part, _FOLDER, dir_fd=folder)
    except FileNotFoundError:
        return None
    _open_up(inner)
    return inner


def _open_up(folder: int) -> None:
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.fchmod(folder, mode | stat.S_IRWXU)


def make_folder(path: Path) -> None:
    """Make sure that `path` is a folder that can be used: another thing in its place is removed. OSError if not."""
    if not is_folder(path):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        path.mkdir()
    folder = os.open(path.parent, _FOLDER)
    try:
        inner = _step(folder, path.name)
    finally:
        os.close(folder)
    if inner is not None:
        os.close(inner)
