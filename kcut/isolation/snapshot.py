"""Uncommitted changes as a tree, and commits made for trials: in kcut's own object folders, never in the user's."""

import shutil
import tempfile
from pathlib import Path

from kcut.isolation.carried import carried
from kcut.isolation.checkout import STATE, Checkout
from kcut.isolation.place import find_place
from kcut.isolation.repository import Blueprint
from kcut.model.errors import UsageFault
from kcut.system.files import remove_tree
from kcut.system.git import Git, join


def snapshot(checkout: Checkout, *, workdir: str | None = None) -> str:
    """The id of the tree that holds the checkout's uncommitted changes: edits, deletions, new files.

    What git ignores and kcut's own folder are left out. Nothing is written into the user's repository: what has to
    be written lies where worktrees would (`workdir` is the user's choice of that) and is removed.
    Raises UsageFault if the base is not HEAD, GitFailed with git's words if a file cannot be read.
    """
    if checkout.base != checkout.head:
        raise UsageFault(
            "--dirty include needs HEAD as the base: the uncommitted changes are changes to it",
            remedy="leave out --base, or leave out --dirty include",
        )
    folder = Path(tempfile.mkdtemp(dir=find_place(checkout, workdir)))
    try:
        blueprint = Blueprint(
            commit=checkout.head,
            object_format=checkout.object_format,
            carried=carried(checkout),
            promisor=checkout.promisors[0] if checkout.promisors else None,
            borrowed=checkout.objects,
        )
        blueprint.write(folder / "git", bare=False)
        return write_snapshot(checkout, folder / "git")
    finally:
        remove_tree(folder)


def write_snapshot(checkout: Checkout, git_dir: Path) -> str:
    """Write the tree of `snapshot` with its files into a git directory of kcut's, and return its id."""
    index = git_dir / "snapshot.index"
    git = Git(checkout.root, git_dir=git_dir, work_tree=checkout.root, index=index, config=QUIET)
    own = checkout.git_dir / "index"
    if own.is_file():
        for file in (own, *checkout.git_dir.glob("sharedindex.*")):
            shutil.copy2(file, index if file is own else git_dir / file.name)
    else:
        git.must("read-tree", checkout.head)
    sparse = ("--sparse",) if checkout.sparse else ()
    git.must("add", "-A", *sparse, "--", ":/", f":(top,exclude){STATE}")
    git.must("rm", "-r", "-q", "--cached", "--ignore-unmatch", *sparse, "--", f":(top){STATE}")
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


def without_state(git: Git, tree: str) -> str:
    """The id of `tree` without kcut's own folder; `git` has an index of its own, which is overwritten."""
    git.must("read-tree", tree)
    tracked = git.must("ls-files", "-z", "--", STATE).fields()
    if not tracked:
        return git.ask("rev-parse", "--verify", f"{tree}^{{tree}}")
    git.must("update-index", "-z", "--force-remove", "--stdin", stdin=join(tracked))
    return git.ask("write-tree", "--missing-ok")


def write_commit(git: Git, like: str, tree: str, *, parent: str | None, message: bytes | None = None) -> str:
    """Write a commit of `tree` with author, committer, dates and encoding of the commit `like`; returns its id.

    The message is that of `like` if none is given.
    """
    head, _, said = git.must("cat-file", "commit", like).stdout.partition(b"\n\n")
    kept = [line for line in head.split(b"\n") if line.startswith((b"author ", b"committer ", b"encoding "))]
    lines = [f"tree {tree}".encode(), *([f"parent {parent}".encode()] if parent else []), *kept]
    body = b"\n".join(lines) + b"\n\n" + (said if message is None else message)
    return git.must("hash-object", "-t", "commit", "-w", "--stdin", stdin=body).text
