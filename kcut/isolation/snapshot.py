"""Uncommitted changes as a tree, and commits made for trials: in kcut's own object folders, never in the user's."""

import contextlib
import filecmp
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kcut.isolation.carried import carried
from kcut.isolation.checkout import Checkout
from kcut.isolation.place import find_place
from kcut.isolation.reads import Reader
from kcut.isolation.repository import Blueprint
from kcut.isolation.state import before_links, without_adding
from kcut.model.errors import NotReady, UsageFault
from kcut.system.faults import mend
from kcut.system.files import remove_tree
from kcut.system.git import Git, join
from kcut.system.lease import Lease

#: The index of a snapshot, in its git directory.
INDEX = "snapshot.index"


class Snapshot(NamedTuple):
    """The id of a tree, and the changed files that a checkout of it gives other bytes: git's filters are one-way."""

    tree: str
    altered: tuple[str, ...]


def snapshot(checkout: Checkout, *, workdir: str | None = None) -> str:
    """The id of the tree that holds the checkout's uncommitted changes: edits, deletions, new files.

    What git ignores and kcut's own folder are left out. Nothing is written into the user's repository: what has to
    be written lies where worktrees would (`workdir` is the user's choice of that) and is removed. kcut's own folder
    is made if missing.
    Raises UsageFault if the base is not HEAD, GitFailed with git's words if a file cannot be read, NotReady if
    nothing can be written.
    """
    with _repository(checkout, workdir) as git_dir:
        return write_snapshot(checkout, git_dir)


def take_snapshot(
    checkout: Checkout,
    *,
    workdir: str | None = None,
    look: Callable[[Reader, str], None] = lambda _reader, _tree: None,
) -> Snapshot:
    """As `snapshot`, with the changed files that no trial will have as they are; `look` may read the tree."""
    with _repository(checkout, workdir) as git_dir:
        tree = write_snapshot(checkout, git_dir)
        look(Reader(Git(checkout.root, git_dir=git_dir), git_dir), tree)
        return Snapshot(tree, _altered(checkout, git_dir))


def _altered(checkout: Checkout, git_dir: Path) -> tuple[str, ...]:
    """The changed files that come out of the snapshot's index with other bytes than they went in with."""
    out = git_dir / "out"
    git = Git(checkout.root, git_dir=git_dir, work_tree=checkout.root, index=git_dir / INDEX, config=QUIET)
    inside = set(git.must("ls-files", "-z").fields())
    files = [checkout.root / path for path in checkout.dirty if path in inside]
    asked = [os.path.relpath(file, checkout.root) for file in files if file.is_file() and not file.is_symlink()]
    if not asked:
        return ()
    done = git.run("checkout-index", "-z", "--stdin", f"--prefix={out}/", stdin=join(asked))
    if not done.ok:
        return ()  # the first worktree says what is wrong in git's own words
    return tuple(path for path in asked if not filecmp.cmp(checkout.root / path, out / path, shallow=False))


@contextlib.contextmanager
def _repository(checkout: Checkout, workdir: str | None) -> Iterator[Path]:
    """A git directory for what a snapshot writes, removed in the end."""
    if checkout.base != checkout.head:
        raise UsageFault(
            "--dirty include needs HEAD as the base: the uncommitted changes are changes to it",
            remedy="leave out --base, or leave out --dirty include",
        )
    with _leased(checkout, find_place(checkout, workdir) / f"w-{secrets.token_hex(8)}") as folder:
        blueprint = Blueprint(
            commit=checkout.head,
            object_format=checkout.object_format,
            carried=carried(checkout),
            promisor=checkout.promisors[0] if checkout.promisors else None,
            borrowed=checkout.objects,
        )
        blueprint.write(folder / "git", bare=False)
        yield folder / "git"


@contextlib.contextmanager
def _leased(checkout: Checkout, folder: Path) -> Iterator[Path]:
    """A new folder, removed in the end; if this process is killed, the next one finds and removes it."""
    from kcut.store.place import run_dir

    own = run_dir(checkout.root, folder.name)
    lease: Lease | None = None
    try:
        try:
            lease = Lease(own / f"lease-{folder.name}.json", {"folder": str(folder)})
            folder.mkdir(mode=0o700)
        except OSError as error:
            at_fault = own if lease is None else folder.parent
            raise NotReady(
                f"cannot write in {at_fault}: {error.strerror or error}",
                remedy=f"{mend(error, at_fault)}, then run again",
            ) from error
        yield folder
    finally:
        if lease is not None and not remove_tree(folder):
            lease.release()
        with contextlib.suppress(OSError):
            own.rmdir()


def write_snapshot(checkout: Checkout, git_dir: Path) -> str:
    """Write the tree of `snapshot` with its files into a git directory of kcut's, and return its id."""
    index = git_dir / INDEX
    git = Git(checkout.root, git_dir=git_dir, work_tree=checkout.root, index=index, config=QUIET)
    own = checkout.git_dir / "index"
    if own.is_file():
        for file in (own, *checkout.git_dir.glob("sharedindex.*")):
            shutil.copy2(file, index if file is own else git_dir / file.name)
    else:
        git.must("read-tree", checkout.head)
    sparse = ("--sparse",) if checkout.sparse else ()
    own_folder = before_links(checkout.root, checkout.state)
    git.must("add", "-A", *sparse, "--", ":/", *without_adding(own_folder))
    tracked = (f":(top,literal){name}" for name in own_folder)
    git.must("rm", "-r", "-q", "--cached", "--ignore-unmatch", *sparse, "--", *tracked)
    return git.ask("write-tree", "--missing-ok")


#: How kcut writes objects of its own: at once, without syncing or packing, with no advice and no line end questions.
QUIET = (
    "core.compression=0",
    "core.fsync=none",
    "core.safecrlf=false",
    "core.untrackedCache=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "submodule.recurse=false",
)


def without_state(git: Git, tree: str, names: Iterable[str]) -> str:
    """The id of `tree` without kcut's own folder of these names; `git` has its own index, which is overwritten."""
    git.must("read-tree", tree)
    tracked = git.must("--literal-pathspecs", "ls-files", "-z", "--", *names).fields()
    if not tracked:
        return git.ask("rev-parse", "--verify", f"{tree}^{{tree}}")
    git.must("update-index", "-z", "--force-remove", "--stdin", stdin=join(tracked))
    return git.ask("write-tree", "--missing-ok")


def write_commit(git: Git, like: str, tree: str, *, parents: Sequence[str] = (), message: bytes | None = None) -> str:
    """Write a commit of `tree` with author, committer, dates and encoding of the commit `like`; returns its id.

    The message is that of `like` if none is given.
    """
    head, _, said = git.must("cat-file", "commit", like).stdout.partition(b"\n\n")
    kept = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer ", b"encoding "))]
    lines = [f"tree {tree}".encode(), *(f"parent {parent}".encode() for parent in parents), *kept]
    body = b"\n".join(lines) + b"\n\n" + (said if message is None else message)
    return git.must("hash-object", "-t", "commit", "-w", "--stdin", stdin=body).text
