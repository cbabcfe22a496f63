"""The repository, kcut's own, that every worktree of a run is checked out of and compared with.

A trial can change its own repository's settings, index and hooks as it likes: kcut never asks that one.
"""

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kcut.isolation.carried import as_environment, carried
from kcut.isolation.change import Change, changed_tree
from kcut.isolation.checkout import Checkout, CheckoutFailed
from kcut.isolation.filters import outside_path, switched_off, unsafe_drivers
from kcut.isolation.large_files import LARGE_FILES, bring_large_files
from kcut.isolation.reads import Reader
from kcut.isolation.repository import Blueprint
from kcut.isolation.snapshot import QUIET, without_state, write_commit, write_snapshot
from kcut.isolation.state import STATE, is_state, names_in_tree
from kcut.model.errors import NotReady, UsageFault
from kcut.model.plan import CheckoutPlan
from kcut.system.files import remove_tree
from kcut.system.git import Git, join

#: The folder, beside the origin, of the objects that freezing worktrees writes.
FROZEN = "frozen"
_REFS = {"head": (), "tags": ("refs/tags",), "all": ("refs",)}


@dataclass(frozen=True, slots=True)
class Origin:
    """`git_dir` is kcut's repository with the commit that trials start from, `tree` is that commit's tree.

    `place` is the folder of the run, all of which trials can reach.

    `trials` says how theirs are made.

    `state` are the names of kcut's own folder, `hidden` the paths of it that the commit tracks: they stay out of
    every worktree.
    """

    place: Path
    git_dir: Path
    commit: str
    tree: str
    trials: Blueprint
    hidden: tuple[str, ...]
    fetch_env: dict[str, str]
    state: tuple[str, ...] = (STATE,)
    raw: tuple[str, ...] = ()  # the filter drivers that do not run once a trial could have changed what they run

    def git(self, tree: Path, index: Path, *, config: tuple[str, ...] = ()) -> Git:
        """git on a worktree that a trial may have changed: an index of the caller's choice, settings and objects of
        kcut's, no filter that could run the trial's files, and no credentials.
        """
        objects = os.fspath(self.git_dir.parent / FROZEN).replace("\\", "\\\\").replace('"', '\\"')
        env = {
            **as_environment(switched_off(self.raw)),
            "PATH": outside_path((tree, self.place)),
            **({"GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'} if self.raw else {}),
        }
        return replace(self._git(tree, index, config), extra_env=env)

    def _git(self, tree: Path, index: Path, config: tuple[str, ...] = ()) -> Git:
        return Git(
            tree,
            git_dir=self.git_dir,
            work_tree=tree,
            index=index,
            config=(*config, "submodule.recurse=false", "core.untrackedCache=false"),
            translated=True,
        )

    def alone(self) -> "Origin":
        """The same, with trials whose repositories borrow no objects."""
        return replace(self, trials=replace(self.trials, borrowed=()))

    def check_out(self, tree: Path, index: Path) -> None:
        """Fill an empty worktree and write its index. Raises CheckoutFailed with git's own message."""
        git = replace(self._git(tree, index), fetches=True, extra_env=self.fetch_env)
        done = git.run("read-tree", "-u", "--reset", self.commit)
        if not done.ok:
            raise CheckoutFailed(f"the checkout of {self.commit[:12]} failed: {done.complaint}", remedy=done.error)
        if self.hidden:
            self._remove_hidden(tree)
            git.must("update-index", "-z", "--skip-worktree", "--stdin", stdin=join(self.hidden))

    def put_back(self, tree: Path, index: Path, paths: Sequence[str]) -> None:
        """Check these files of the commit out, whatever lies there, and though a sparse checkout leaves them out.

        Raises NotReady if git cannot do it.
        """
        git = replace(self._git(tree, index), fetches=True, extra_env=self.fetch_env)
        git.must("update-index", "-z", "--no-skip-worktree", "--stdin", stdin=join(paths))
        git.must("checkout-index", "-f", "-u", "-z", "--stdin", stdin=join(paths))

    def _remove_hidden(self, tree: Path) -> None:
        """Remove kcut's own folder as it was checked out, and the folders above it that held nothing else."""
        for name in self.state:
            # what the commit tracks there is no place that a link of it leads to
            if any(is_state(path, (name,)) for path in self.hidden):
                remove_tree(tree / name)
                with contextlib.suppress(OSError):
                    for above in (tree / name).parents:
                        if above == tree:
                            break
                        above.rmdir()


def make_origin(
    checkout: Checkout,
    plan: CheckoutPlan,
    folder: Path,
    excluded: tuple[str, ...],
    *,
    place: Path,
    change: Change | None = None,
) -> Origin:
    """Write a repository of the run's own into `folder`, which exists, somewhere in `place`, the run's.

    With a change the commit that trials start from is the base as it would be had the change been made there.

    Raises UsageFault for options that exclude each other, NotReady if the uncommitted changes are not those planned,
    CheckoutFailed if git cannot read the base.
    """
    check_plan(plan)
    taken = carried(checkout)
    plain = Blueprint(
        commit=plan.base,
        object_format=checkout.object_format,
        carried=taken,
        promisor=checkout.promisors[0] if checkout.promisors else None,
        borrowed=checkout.objects,
        refs=_refs(checkout, plan),
        excluded=excluded,
    )
    git_dir = folder / "origin"
    plain.write(git_dir, bare=False)
    fetch_env = as_environment(taken.transport)
    raw = unsafe_drivers(taken.settings, (checkout.root, place))
    git = Git(folder, git_dir=git_dir, index=folder / "origin.index", config=QUIET, fetches=True, extra_env=fetch_env)
    try:
        tree = _snapshot(checkout, plan, git_dir)
        if change is not None:
            tree = changed_tree(git, tree or git.ask("rev-parse", "--verify", f"{plan.base}^{{tree}}"), change)
        if plan.history == "none":
            left_out = (*checkout.state, *plan.hidden)
            return replace(_without_history(plain, git, folder, tree or plan.base, left_out), place=place, raw=raw)
        commit, own = plan.base, checkout.partial or taken.moved_large_files
        if change is not None and tree is not None:
            parents = git.ask("rev-list", "--parents", "--max-count=1", plan.base).split(" ")[1:]
            commit, own = write_commit(git, plan.base, tree, parents=parents), True
            (git_dir / "HEAD").write_text(f"{commit}\n")
        elif tree is not None:
            message = b"uncommitted changes\n"
            commit, own = write_commit(git, plan.base, tree, parents=[plan.base], message=message), True
            (git_dir / "HEAD").write_text(f"{commit}\n")
        borrowed = (git_dir / "objects", *plain.borrowed) if own else plain.borrowed
        if taken.moved_large_files or plan.isolation == "clone":
            bring_large_files(git, commit, taken.large_files, git_dir / LARGE_FILES)
        root = git.ask("rev-parse", "--verify", f"{commit}^{{tree}}")
        state = tuple(dict.fromkeys([*checkout.state, *names_in_tree(git, commit)]))
        hidden = git.must("ls-tree", "-r", "-z", "--name-only", commit, "--", *state).fields()
    except NotReady as error:
        if isinstance(error, UsageFault):
            raise
        raise CheckoutFailed(error.message, remedy=error.remedy) from error
    trials = replace(plain, commit=commit, borrowed=borrowed)
    return Origin(place, git_dir, commit, root, trials, tuple(hidden), fetch_env, state, raw)


def check_plan(plan: CheckoutPlan) -> None:
    """Raise UsageFault for options that exclude each other."""
    if plan.history == "none" and plan.refs != "head":
        raise UsageFault(
            f"--history none leaves nothing that --refs {plan.refs} could name",
            remedy="leave out one of them",
        )
    if plan.isolation == "worktree":
        refused = {
            "--history none": plan.history == "none",
            f"--refs {plan.refs}": plan.refs != "head",
            "--dirty include": plan.snapshot is not None,
        }
        for option in (name for name, given in refused.items() if given):
            raise UsageFault(
                f"{option} cannot be had with --isolation worktree, which shares your repository",
                remedy="use --isolation sealed, the default",
            )


def _refs(checkout: Checkout, plan: CheckoutPlan) -> tuple[tuple[str, str], ...]:
    names = _REFS[plan.refs]
    if not names:
        return ()
    found = Reader(checkout.git(), checkout.git_dir).refs(names)
    return tuple(ref for ref in found if not ref[1].startswith("refs/replace/"))


def _snapshot(checkout: Checkout, plan: CheckoutPlan, git_dir: Path) -> str | None:
    """The tree of the uncommitted changes, written into `git_dir`; None if trials do not get them."""
    if plan.snapshot is None:
        return None
    tree = write_snapshot(checkout, git_dir)
    if tree != plan.snapshot:
        raise NotReady(
            "the uncommitted changes are not those that were to be included",
            remedy="something changed them meanwhile; start again",
        )
    return tree


def _without_history(plain: Blueprint, git: Git, folder: Path, tree: str, state: tuple[str, ...]) -> Origin:
    """An origin with one parentless commit and the objects that it needs, which borrows from nobody."""
    state = tuple(dict.fromkeys([*state, *names_in_tree(git, tree)]))
    tree = without_state(git, tree, state)
    commit = write_commit(git, plain.commit, tree)
    alone = replace(
        plain.carried,
        settings=tuple(setting for setting in plain.carried.settings if not setting[0].startswith("remote.")),
        files={name: data for name, data in plain.carried.files.items() if name != "shallow"},
    )
    store = folder / "store"
    lone = replace(plain, commit=commit, carried=alone, promisor=None, borrowed=(), refs=())
    lone.write(store, bare=False)
    bring_large_files(git, commit, alone.large_files, store / LARGE_FILES)
    git.must("pack-objects", "-q", "--revs", str(store / "objects" / "pack" / "pack"), stdin=f"{commit}\n".encode())
    remove_tree(folder / "origin")
    trials = replace(lone, borrowed=(store / "objects",))
    return Origin(folder, store, commit, tree, trials, (), dict(git.extra_env or {}), state)
