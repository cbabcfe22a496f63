"""What a trial left in its worktree, read with kcut's own repository and index: the trial's are not believed."""

import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kcut.isolation.origin import Origin
from kcut.isolation.snapshot import QUIET
from kcut.isolation.state import without
from kcut.isolation.tree_id import tree_of_index
from kcut.model.errors import NotReady
from kcut.system.git import Git, GitFailed, GitResult, join

#: Seconds that git gets for one step: a filter or a file system that hangs must not hang the run.
LIMIT = 120.0
#: Bytes of an index up to which its tree is computed here and not by a process.
SMALL_INDEX = 1 << 16
#: Bytecode holds the time it was made: it would make every two trees of a Python project differ.
_BYTECODE = ("--exclude=__pycache__/", "--exclude=*.pyc")
_LIST = ("ls-files", "-t", "-z", "-m", "-d", "-o", "--exclude-standard", *_BYTECODE)
_DROP = ("update-index", "-z", "--force-remove", "--stdin")
#: Paths for one command line.
BATCH = 500
#: What git reads, wherever it finds it, while it looks at a tree; a pipe of that name would keep it waiting.
_READ = (".gitattributes", ".gitignore", ".gitmodules")
#: Seconds after which it is worth a walk through the tree to see whether git waits for such a pipe.
PATIENCE = 4.0
#: Bytes of changed files up to which they are read and hashed.
MOST_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Frozen:
    """The state of a worktree. `tree` is its tree id, None if it could not be computed; `reason` says why then.

    `changed` are the paths that differ from the base, sorted, new and deleted ones included.
    """

    tree: str | None
    changed: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Freezer:
    """Compares one worktree with what was checked out there. `index` is the pristine one, kept by kcut.

    `objects` is a folder that borrows from the origin and takes what has to be written.

    Made before the trial starts: where a filter must not run later, the files that it made are taken into `index` as
    they lie there, so that they compare, and are restored, byte for byte. Raises NotReady if git cannot do that.
    """

    origin: Origin
    tree: Path
    index: Path
    objects: Path
    limit: float = LIMIT
    prepared: bool = False

    def __post_init__(self) -> None:
        """Take the filtered files as they are, once."""
        if self.origin.raw and not self.prepared:
            self._take_as_they_are()
        object.__setattr__(self, "prepared", True)

    def _take_as_they_are(self) -> None:
        git = self._git(self.index)
        listed = [name for name in git.must("ls-files", "-z").fields() if self._is_file(name)]
        asked = git.must("check-attr", "-z", "--stdin", "filter", stdin=join(listed), timeout=self.limit).fields()
        names = {driver.removeprefix("filter.") for driver in self.origin.raw}
        made = [path for path, value in zip(asked[::3], asked[2::3], strict=True) if value in names]
        if made:
            os.utime(self.index, (1, 1))  # older than all of its entries: git looks at their content
            git.must("update-index", "-z", "--stdin", stdin=join(made), timeout=self.limit)

    def _is_file(self, path: str) -> bool:
        mode = mode_of(self.tree, path)
        return mode is not None and stat.S_ISREG(mode)

    def with_limit(self, seconds: float) -> "Freezer":
        """The same, with another limit for each of git's steps."""
        return replace(self, limit=seconds)

    def freeze(self) -> Frozen:
        """The tree of the worktree now, without files that git ignores and without bytecode. Never raises."""
        try:
            found = self._look()
            if found.reason is not None:
                return Frozen(None, found.changed, found.reason)
            if not found.changed:
                return Frozen(self.origin.tree, ())
            work = self.index.with_suffix(".work")
            try:
                self._update(found, work)
                return Frozen(self._tree(work), found.changed)
            except NotReady as error:
                return Frozen(None, found.changed, str(error))
            finally:
                work.unlink(missing_ok=True)
        except (NotReady, OSError) as error:
            return Frozen(None, (), str(error))

    def diff(self, limit: int) -> tuple[bytes, bool]:
        """The first `limit` bytes of the patch from the base to the worktree, and whether it is longer.

        Never raises; what cannot be read is not in it.
        """
        work = self.index.with_suffix(".diff")
        try:
            found = self._look()
            if not found.changed or found.too_large:
                return b"", False
            base = self.origin.commit
            if self.origin.raw:
                base = self._git(self.index).must("write-tree", "--missing-ok", timeout=self.limit).text
            self._update(found, work)
            options = ("--cached", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames")
            return self._git(work).head("diff", *options, "--ignore-submodules=dirty", base, limit=limit)
        except (NotReady, OSError):
            return b"", False
        finally:
            work.unlink(missing_ok=True)

    def _git(self, index: Path) -> Git:
        git = self.origin.git(self.tree, index, config=QUIET)
        return replace(git, objects=self.objects)

    def _look(self) -> "_Found":
        """What differs from the pristine index. Raises NotReady if git cannot tell."""
        if not is_folder(self.tree):
            raise NotReady("the trial removed or replaced its worktree")
        for name in _READ:
            self._refuse_special(name)
        git = self._git(self.index)
        listing = (*_LIST, "--", *without(self.origin.state))
        listed = git.run(*listing, timeout=min(self.limit, PATIENCE))
        if listed.code is None:
            special = _special_below(self.tree)
            if special is not None:
                raise NotReady(f"{special} is neither a file nor a link")
            listed = git.run(*listing, timeout=self.limit)
        if not listed.ok:
            raise GitFailed(listed)
        found = _entries(self.tree, listed)
        if found.links:
            found = found.without(self._below(git, found.links))
        for folder in {above for path in found.changed for above in _folders_above(path)}:
            self._refuse_special(f"{folder}/{_READ[0]}")
        return found

    def _refuse_special(self, path: str) -> None:
        """Raise NotReady for a pipe or device where git would read a file, and wait for ever."""
        mode = mode_of(self.tree, path)
        if mode is not None and _is_special(mode):
            raise NotReady(f"{path} is neither a file nor a link")

    def _below(self, git: Git, links: Sequence[str]) -> list[str]:
        """The files of the base that lie where new links are now: git may have looked at others through the links."""
        literal = replace(git, extra_env={**(git.extra_env or {}), "GIT_LITERAL_PATHSPECS": "1"})
        found: list[str] = []
        for start in range(0, len(links), BATCH):
            batch = (f"{link}/" for link in links[start : start + BATCH])
            found += literal.must("ls-files", "-z", "--", *batch, timeout=self.limit).fields()
        return found

    def _update(self, found: "_Found", work: Path) -> None:
        """Make `work` the index of the changed worktree. Raises NotReady with git's words if that fails."""
        shutil.copy2(self.index, work)  # with its time, by which git knows which entries it must not take as they are
        large = work.stat().st_size > SMALL_INDEX
        add = ("update-index", "-z", "--add", "--remove", "--replace", "--stdin")
        # writing an index, git reads every file again whose time is not before the index's, which after a quick
        # checkout is all of them: a large one is dated later, and what did change goes out before it comes in
        drop = [*found.gone, *found.replaced] if large else found.gone
        for args, paths in ((_DROP, drop), (add, found.present)):
            if paths:
                if large:
                    _date_later(work)
                self._git(work).must(*args, stdin=join(paths), timeout=self.limit)

    def _tree(self, work: Path) -> str:
        """The id of the tree that an index stands for."""
        if work.stat().st_size <= SMALL_INDEX:
            tree = tree_of_index(work.read_bytes(), self.origin.trials.object_format)
            if tree is not None:
                return tree
        _date_later(work)
        return self._git(work).must("write-tree", "--missing-ok", timeout=self.limit).text


def _is_special(mode: int) -> bool:
    return not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode))


def _special_below(tree: Path) -> str | None:
    """The first of the files that git reads, anywhere in the tree, which is a pipe, a socket or a device."""
    for where, folders, names in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        for name in _READ:
            if name in names:
                path = os.path.relpath(f"{where}/{name}", tree)
                mode = mode_of(tree, path)
                if mode is not None and _is_special(mode):
                    return path
    return None


def _folders_above(path: str) -> Iterator[str]:
    parts = path.rstrip("/").split("/")
    for number in range(1, len(parts)):
        yield "/".join(parts[:number])


def _date_later(index: Path) -> None:
    """Date a throwaway index after its entries, so that git takes them as they are."""
    ahead = time.time() + 60
    os.utime(index, (ahead, ahead))


@dataclass(frozen=True, slots=True)
class _Found:
    """Changed paths: `present` are to be read, `gone` to be dropped.

    `replaced` are those of `present` that are no folders, `links` those that are new links. `reason` says what stands
    in the way of hashing them all.
    """

    changed: tuple[str, ...]
    present: list[str]
    gone: list[str]
    replaced: list[str]
    links: list[str]
    reason: str | None
    too_large: bool

    def without(self, paths: Sequence[str]) -> "_Found":
        """The same with more paths that are gone."""
        gone = list(dict.fromkeys([*self.gone, *paths]))
        return replace(self, changed=tuple(sorted({*self.changed, *gone}, key=os.fsencode)), gone=gone)


def _entries(tree: Path, listed: GitResult) -> _Found:
    """Sort what git listed by what is really there, links in a path not followed."""
    present: dict[str, None] = {}
    gone: dict[str, None] = {}
    replaced: dict[str, None] = {}
    nested: list[str] = []
    links: list[str] = []
    reasons = [line for line in listed.error.splitlines() if "could not open directory" in line]
    for entry in listed.fields():
        path = entry[2:]
        mode = mode_of(tree, path)
        if path.endswith("/"):
            nested.append(path)
            reasons.append(f"{path} is a repository of its own")
        elif mode is None:
            gone.setdefault(path)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode):
            # a folder: of a submodule its commit is compared; in the place of a file git drops the file
            present.setdefault(path)
            if not stat.S_ISDIR(mode):
                replaced.setdefault(path)
            if stat.S_ISLNK(mode) and entry.startswith("?"):
                links.append(path)
        else:
            gone.setdefault(path)
            reasons.append(f"{path} is neither a file nor a link")
    too_large = _size(tree, present) > MOST_BYTES
    if too_large:
        reasons.append(f"the changed files hold more than {MOST_BYTES >> 20} MiB")
    changed = tuple(sorted({*present, *gone, *nested}, key=os.fsencode))
    return _Found(
        changed, list(present), list(gone), list(replaced), links, reasons[0] if reasons else None, too_large
    )


def mode_of(tree: Path, path: str) -> int | None:
    """The mode of what lies at a path in the tree; None if nothing does, or only by way of a link."""
    parts = path.split("/")
    where = os.fspath(tree)
    for number, part in enumerate(parts, start=1):
        where = f"{where}/{part}"
        try:
            mode = os.lstat(where).st_mode
        except OSError:
            return None
        if number < len(parts) and not stat.S_ISDIR(mode):
            return None
    return mode


def is_folder(path: Path) -> bool:
    """True for a folder, false for a link to one."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _size(tree: Path, paths: Iterable[str]) -> int:
    """The bytes that the regular files among `paths` hold together."""
    total = 0
    for path in paths:
        try:
            info = os.lstat(f"{tree}/{path}")
        except OSError:
            continue
        total += info.st_size if stat.S_ISREG(info.st_mode) else 0
    return total
