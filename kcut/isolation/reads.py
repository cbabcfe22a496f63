"""Reading trees, files and refs of a repository: by pygit2 where it can open the repository, else by git."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcut.system.git import Git

if TYPE_CHECKING:
    import pygit2

#: path -> (mode as git prints it, object id)
Entries = dict[str, tuple[str, str]]


class Reader:
    """Reads one repository. The answers are the same either way; replacements of objects are not followed."""

    def __init__(self, git: Git, git_dir: Path, *, by_git: bool = False) -> None:
        """`git` speaks to the repository at `git_dir`; with `by_git` pygit2 is not tried."""
        self._git = git
        self._opened = None if by_git else _open(git_dir)

    @property
    def by_pygit2(self) -> bool:
        """True if pygit2 could open the repository."""
        return self._opened is not None

    def entries(self, commit: str) -> Entries:
        """Every file, link and submodule of a commit's tree. Raises GitFailed if it cannot be read."""
        found: Entries = {}
        if self._opened is not None:
            import pygit2

            try:
                _walk(self._opened.revparse_single(f"{commit}^{{tree}}"), "", found)
            except (KeyError, TypeError, ValueError, pygit2.GitError):
                found = {}  # what it borrows in a way that libgit2 does not read, or has not fetched: git says so
            else:
                return found
        for entry in self._git.must("ls-tree", "-r", "-z", commit).fields():
            facts, _, path = entry.partition("\t")
            mode, _, name = facts.split(" ")
            found[path] = (mode, name)
        return found

    def blob(self, name: str) -> bytes:
        """A file's bytes as they are stored. Raises GitFailed if they cannot be read."""
        if self._opened is not None:
            import pygit2

            try:
                found = self._opened[name]
            except (KeyError, ValueError, pygit2.GitError):
                found = None
            if isinstance(found, pygit2.Blob):
                return found.data
        return self._git.must("cat-file", "blob", name).stdout

    def refs(self, below: Sequence[str]) -> list[tuple[str, str]]:
        """(object id, name) of the refs below these folders, sorted by name; symbolic ones as what they lead to."""
        prefixes = tuple(f"{folder}/" for folder in below)
        if self._opened is not None:
            import pygit2

            try:
                listed = [(str(ref.resolve().target), ref.name) for ref in self._opened.references.objects]
            except (KeyError, ValueError, pygit2.GitError):
                pass  # a broken ref: git leaves it out
            else:
                return sorted((ref for ref in listed if ref[1].startswith(prefixes)), key=_by_name)
        lines = self._git.must("for-each-ref", "--format=%(objectname) %(refname)", *below).text.split("\n")
        pairs = [(name, ref) for line in lines for name, _, ref in [line.partition(" ")] if ref]
        return sorted(pairs, key=_by_name)


def _by_name(ref: tuple[str, str]) -> bytes:
    return os.fsencode(ref[1])


def _open(git_dir: Path) -> "pygit2.Repository | None":
    """The repository, None if libgit2 cannot read it: sha256, an extension it does not know, another user's."""
    import pygit2

    try:
        return pygit2.Repository(os.fspath(git_dir))
    except (KeyError, ValueError, pygit2.GitError):
        return None


def _walk(tree: "pygit2.Object", prefix: str, found: Entries) -> None:
    import pygit2

    if not isinstance(tree, pygit2.Tree):
        raise TypeError(tree)
    for entry in tree:
        path = prefix + os.fsdecode(entry.raw_name or b"")
        if isinstance(entry, pygit2.Tree):
            _walk(entry, f"{path}/", found)
        else:
            found[path] = (f"{int(entry.filemode):06o}", str(entry.id))
