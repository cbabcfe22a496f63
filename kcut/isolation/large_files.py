"""LFS objects for repositories that do not borrow the user's: git-lfs looks for them beside borrowed objects."""

import re
from collections.abc import Iterable
from pathlib import Path

from kcut.isolation.reads import Reader
from kcut.system.files import copy_tree
from kcut.system.git import Git

_POINTER = re.compile(rb"\Aversion https://git-lfs\.github\.com/spec/v1\n(?:.*\n)*?oid sha256:([0-9a-f]{64})\n")
#: Where git-lfs keeps its files in a git directory.
LARGE_FILES = Path("lfs") / "objects"
#: Bytes that a pointer has at most, by the specification of git-lfs.
_LONGEST = 1024


def bring_large_files(git: Git, commit: str, stores: Iterable[Path], target: Path) -> None:
    """Copy the LFS objects that a commit's files point to from `stores` to `target`, both `lfs/objects` folders.

    What no store has is left to git-lfs, which may download it. OSError if a copy fails.
    """
    present = [store for store in stores if store.is_dir()]
    if not present:
        return
    for oid in _pointers(git, commit):
        inner = Path(oid[:2]) / oid[2:4] / oid
        for store in present:
            if (store / inner).is_file():
                (target / inner).parent.mkdir(parents=True, exist_ok=True)
                copy_tree(store / inner, target / inner)
                break


def _pointers(git: Git, commit: str) -> list[str]:
    """The ids of the LFS objects that the files of a commit point to."""
    blobs = {name for mode, name in Reader(git, git.cwd, by_git=True).entries(commit).values() if mode != "160000"}
    asked = "".join(f"{name}\n" for name in sorted(blobs)).encode()
    sizes = git.must("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=asked).text.split("\n")
    small = [
        name for line in sizes for name, _, size in [line.partition(" ")] if size.isdigit() and int(size) <= _LONGEST
    ]
    found = (_POINTER.match(data) for data in _contents(git, small))
    return [match[1].decode() for match in found if match is not None]


def _contents(git: Git, names: list[str]) -> Iterable[bytes]:
    data = git.must("cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()).stdout
    position = 0
    while position < len(data):
        end = data.index(b"\n", position)
        size = int(data[position:end].split(b" ")[2])
        yield data[end + 1 : end + 1 + size]
        position = end + 2 + size
