"""The user's checkout, read once: where it is, what it is at, what is uncommitted. Nothing is written."""

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path

from kcut.isolation.alternates import object_folders
from kcut.isolation.state import check_state, state_names, without
from kcut.model.errors import NotReady, UsageFault
from kcut.system.git import Git, GitResult, not_a_checkout

#: Objects as they are, not as `git replace` says.
_AS_STORED = {"GIT_NO_REPLACE_OBJECTS": "1"}
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class CheckoutFailed(NotReady):
    """A trial's worktree could not be made; the message is git's own where git said why."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout as it was when kcut started.

    `subdir` is where in it kcut was started, "" at the root. `head` and `base` are commit ids. `dirty` are the
    paths with uncommitted changes. `objects` are the folders of its object store, those it borrows from included.
    `promisors` are the remotes that a partial clone fetches missing objects from. `state` are the names of kcut's own
    folder. `bound` is true if git might not find the repository from `root`, as a setting says where the root is.
    """

    root: Path
    subdir: str
    git_dir: Path
    common_dir: Path
    head: str
    base: str
    object_format: str
    dirty: tuple[str, ...]
    objects: tuple[Path, ...]
    shallow: bool
    sparse: bool
    promisors: tuple[str, ...]
    state: tuple[str, ...]
    bound: bool

    @property
    def partial(self) -> bool:
        """True for a partial clone: not every object is here."""
        return bool(self.promisors)

    def git(self) -> Git:
        """git in this checkout, for reading."""
        if self.bound:
            return Git(self.root, git_dir=self.git_dir, work_tree=self.root, extra_env=_AS_STORED)
        return Git(self.root, extra_env=_AS_STORED)


def inspect(cwd: Path, *, base: str | None = None) -> Checkout:
    """Read the checkout that `cwd` is in.

    Raises NotReady if there is none that trials could start from: no repository, a bare one, another user's, no
    commit yet, `cwd` not in the base; UsageFault if `base` names no commit.
    """
    git = Git(cwd, extra_env=_AS_STORED)
    top, subdir, git_dir, common_dir = _places(git)
    head = git.run("rev-parse", "--verify", "-q", "HEAD^{commit}")
    if not head.ok:
        raise _no_head(git)
    wanted = head.text if base is None else _commit(git, base)
    facts = git.run("rev-parse", "--show-object-format", "--is-shallow-repository").text.split("\n")
    settings = _settings(git)
    root = Path(os.path.realpath(top))
    checkout = Checkout(
        root=root,
        subdir=subdir,
        git_dir=git_dir,
        common_dir=common_dir,
        head=head.text,
        base=wanted,
        object_format=facts[0] if facts[0] in {"sha1", "sha256"} else "sha1",
        dirty=(),
        objects=object_folders(common_dir / "objects"),
        shallow=facts[-1] == "true",
        sparse=_is_true(settings.get("core.sparsecheckout", "false")),
        promisors=_promisors(settings),
        state=state_names(root),
        bound="core.worktree" in settings,
    )
    check_state(root, checkout.git(), checkout.state)
    _check_subdir(checkout)
    return replace(checkout, dirty=_uncommitted(checkout))


def _places(git: Git) -> tuple[str, str, Path, Path]:
    """Root, sub-directory (without a trailing slash), git directory and common directory."""
    asked = ("--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir")
    result = git.run("rev-parse", "--path-format=absolute", *asked)
    if not result.ok:
        raise not_a_checkout(result)
    lines = os.fsdecode(result.stdout).split("\n")[:-1]
    if len(lines) != len(asked):  # a path with a line break in it: one question at a time
        lines = [git.ask("rev-parse", "--path-format=absolute", question) for question in asked]
    top, prefix, git_dir, common_dir = lines
    if not top:
        raise not_a_checkout(GitResult((), 128, b"", b"fatal: this operation must be run in a work tree"))
    return top, prefix.removesuffix("/"), Path(os.path.realpath(git_dir)), Path(os.path.realpath(common_dir))


def _no_head(git: Git) -> NotReady:
    """Why HEAD is no commit: there is none yet, or what it names is missing."""
    named = git.run("rev-parse", "--verify", "-q", "HEAD")
    if named.ok:
        return NotReady("HEAD does not lead to a commit", remedy=f"git says HEAD is {named.text}; try: git fsck")
    return NotReady("no HEAD commit in this repository", remedy="commit once, then run again")


def _commit(git: Git, rev: str) -> str:
    # first what the words name: a suffix would become part of `:/message` and of `HEAD:path`
    found = git.run("rev-parse", "--verify", "-q", "--end-of-options", rev)
    if rev and found.ok and _ID.fullmatch(found.text):
        found = git.run("rev-parse", "--verify", "-q", f"{found.text}^{{commit}}")
        if found.ok and _ID.fullmatch(found.text):
            return found.text
    raise UsageFault(f"--base {rev} names no commit here", remedy=found.error or "see: git log --oneline --all")


def _uncommitted(checkout: Checkout) -> tuple[str, ...]:
    """The paths with uncommitted changes, relative to the root; kcut's own folder left out. No lock is taken."""
    result = checkout.git().must(*status(checkout, "--porcelain=v1"))
    return tuple(dict.fromkeys(entry[3:] for entry in result.fields()))


def status(checkout: Checkout, *options: str) -> tuple[str, ...]:
    """A git command that prints what differs from HEAD, file by file, kcut's own folder left out.

    Submodules count if their commit differs: trials do not see into them.
    """
    wide = ("-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty")
    return ("status", *options, *wide, "--", ":/", *without(checkout.state))


def _settings(git: Git) -> dict[str, str]:
    """The settings of the repository that say what kind it is: the last value of each, names in lower case."""
    wanted = r"^(core\.(sparsecheckout|worktree)$|extensions\.|remote\..*\.promisor)"
    listed = git.run("config", "-z", "--get-regexp", wanted)
    found: dict[str, str] = {}
    for entry in listed.fields():
        name, _, value = entry.partition("\n")
        found[name] = value or "true"
    return found


def _is_true(value: str) -> bool:
    return value.lower() in {"true", "yes", "on", "1"}


def _promisors(settings: dict[str, str]) -> tuple[str, ...]:
    names = [
        name.removeprefix("remote.").removesuffix(".promisor")
        for name, value in settings.items()
        if name.startswith("remote.") and name.endswith(".promisor") and _is_true(value)
    ]
    old = settings.get("extensions.partialclone")
    return tuple(dict.fromkeys([*([old] if old else []), *names]))


def _check_subdir(checkout: Checkout) -> None:
    """Refuse a sub-directory that trials would not have; in a partial clone the first checkout tells."""
    if not checkout.subdir:
        return
    if checkout.sparse:
        listed = checkout.git().run("ls-files", "-t", "-z", "--", f":(top,literal){checkout.subdir}").fields()
        if listed and all(entry.startswith("S ") for entry in listed):
            raise CheckoutFailed(
                f"the sparse checkout leaves out {checkout.subdir}, where trials were to run",
                remedy=f"bring it in (git sparse-checkout add {checkout.subdir}), or start kcut from another folder",
            )
    found = checkout.git().run("cat-file", "-t", f"{checkout.base}:{checkout.subdir}")
    if found.text == "tree" or (checkout.partial and not found.ok):
        return
    raise missing_subdir(checkout.subdir, checkout.base)


def missing_subdir(subdir: str, base: str) -> CheckoutFailed:
    """The error for a base that lacks the folder that kcut was started in."""
    return CheckoutFailed(
        f"the base {base[:12]} has no folder {subdir}, where trials were to run",
        remedy="commit it, start kcut from another folder, or choose another commit with --base",
    )
