"""The worktrees of one run: where they lie, how each is opened and closed, what is removed in the end."""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from kcut.isolation import leftovers, linked
from kcut.isolation.alternates import content
from kcut.isolation.checkout import Checkout, CheckoutFailed, missing_subdir
from kcut.isolation.extras import Extras, find_extras
from kcut.isolation.freeze import Freezer, is_folder
from kcut.isolation.origin import Origin, make_origin
from kcut.isolation.place import MARKERS, find_place, marker_above
from kcut.isolation.pristine import remember
from kcut.isolation.repository import literal_pattern, write_admin
from kcut.isolation.worktree import Worktree, uncover
from kcut.model.errors import NotReady
from kcut.model.plan import CheckoutPlan
from kcut.system.files import copy_tree, identity, remove_tree
from kcut.system.git import Git
from kcut.system.lease import Lease


class Isolation:
    """A run's worktrees, by the plan's kind of isolation. A context manager; `open` may be called from threads.

    `place` is the run's folder. `left`, after the run, names what could not be removed and why.
    """

    place: Path

    def __init__(self, checkout: Checkout, plan: CheckoutPlan, run_id: str, state: Path) -> None:
        self.left: list[str] = []
        self._checkout, self._plan, self._run_id, self._state = checkout, plan, run_id, state
        self._first = threading.Lock()
        self._warm = not checkout.partial

    def __enter__(self) -> Self:
        """Choose the place and make what all trials share. Raises NotReady or UsageFault if that cannot be done."""
        try:
            self._enter()
        except OSError as error:
            where = getattr(self, "place", None) or self._state
            raise NotReady(
                f"the worktrees cannot be made in {where}: {error.strerror or error}",
                remedy="see to it, or name another folder with --workdir DIR, then run again",
            ) from error
        return self

    def _enter(self) -> None:
        checkout, plan = self._checkout, self._plan
        self._extras: Extras = find_extras(checkout, plan)
        self.place = find_place(checkout, plan.workdir) / f"w-{secrets.token_hex(8)}"
        shared = plan.isolation == "worktree"
        claim = {"run": self._run_id, "folder": str(self.place)}
        if shared:
            claim["common_dir"] = str(checkout.common_dir)
        try:
            self._lease = Lease(self._state / f"lease-{self.place.name}.json", claim)
        except OSError as error:
            raise NotReady(f"cannot write in {self._state}: {error.strerror}") from error
        try:
            self.place.mkdir(mode=0o700)
            self._known = identity(self.place)
            own = self._own = self.place / leftovers.OWN
            own.mkdir()
            excluded = tuple(literal_pattern(path) for path in (*self._extras.copies, *self._extras.links))
            self._origin: Origin = make_origin(checkout, plan, own, excluded)
            self._frozen = own / "frozen"
            (self._frozen / "info").mkdir(parents=True)
            folders = (self._origin.git_dir / "objects", *self._origin.trials.borrowed)
            (self._frozen / "info" / "alternates").write_bytes(content(dict.fromkeys(folders)))
            if plan.isolation == "clone":
                self._make_clone(own)
        except BaseException:
            self._close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove everything but what is kept; what stays for another reason is in `left`."""
        self._close()

    def _close(self) -> None:
        shared = self._plan.isolation == "worktree"
        try:
            self.left += leftovers.clear(self.place, self._checkout.common_dir if shared else None)
        except OSError as error:
            self.left.append(f"{self.place}: {error.strerror or error}")
        if not self.left:
            self._lease.release()

    @contextlib.contextmanager
    def open(self, protected: Sequence[str] = ()) -> Iterator[Worktree]:
        """A fresh worktree at the base, removed afterwards unless it is kept. `protected` are paths to be restored.

        Raises CheckoutFailed, with git's own message, if it cannot be made.
        """
        name = secrets.token_hex(6)
        folder = self.place / name
        index = self._own / f"{name}.index"
        kept = self._own / f"{name}{leftovers.KEPT}"
        copies = self._own / f"{name}.copies"
        worktree: Worktree | None = None
        try:
            try:
                self._look_around()
                folder.mkdir()
                self._fill(folder, index)
                freezer = Freezer(self._origin, folder / "tree", index, self._frozen)
                pristine = remember(folder / "tree", protected, copies)
                worktree = Worktree(folder, self._checkout.subdir, freezer, kept, pristine)
            except CheckoutFailed:
                raise
            except (OSError, NotReady) as error:
                remedy = error.remedy if isinstance(error, NotReady) else None
                raise CheckoutFailed(f"the worktree could not be made: {error}", remedy=remedy) from error
            yield worktree
        finally:
            if worktree is None or not worktree.kept:
                left = self._remove(folder, index, copies)
                if worktree is not None:
                    worktree.leftover = tuple(left)

    def _fill(self, folder: Path, index: Path) -> None:
        """Make a trial's repository and its worktree, and keep a copy of its index."""
        tree = folder / "tree"
        tree.mkdir()
        (folder / "scratch").mkdir()
        trials = self._origin.trials
        sparse = trials.carried.files.get("info/sparse-checkout")
        match self._plan.isolation:
            case "sealed":
                hub = folder / "hub"
                trials.write(hub, bare=True)
                (hub / "worktrees").mkdir()
                git_dir = hub / "worktrees" / "tree"
                write_admin(git_dir, worktree=tree, common="../..", commit=trials.commit, sparse=sparse)
            case "clone":
                git_dir = tree / ".git"
                trials.write(git_dir, bare=False)
                copy_tree(self._own / "clone" / "objects", git_dir / "objects")
                if (self._origin.git_dir / "lfs").is_dir():
                    copy_tree(self._origin.git_dir / "lfs", git_dir / "lfs")
            case "worktree":
                prepared = self._state / f"{self.place.name}-{folder.name}"
                git_dir = linked.register(self._checkout, tree, prepared.name, prepared, trials.carried)
        if self._plan.isolation != "clone":
            (tree / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}\n"))
        self._check_out(tree, git_dir / "index")
        self._extras.bring(self._checkout.root, tree)
        shutil.copy2(git_dir / "index", index)

    def _check_out(self, tree: Path, index: Path) -> None:
        # the first checkout of a partial clone fetches what is missing; the others wait and find it there
        with contextlib.nullcontext() if self._warm else self._first:
            self._origin.check_out(tree, index)
            self._warm = True
        subdir = self._checkout.subdir
        if subdir and not is_folder(tree / subdir):
            raise missing_subdir(subdir, self._origin.commit)

    def _remove(self, folder: Path, index: Path, copies: Path) -> list[str]:
        """Remove a trial's folder, and its files in kcut's own part; returns what stays, with the reason."""
        left: list[str] = []
        try:
            if self._plan.isolation == "worktree":
                left += linked.drop(self._checkout.common_dir, f"{self.place.name}-{folder.name}")
            if self._reach():
                left += remove_tree(folder)
                index.unlink(missing_ok=True)
                if copies.exists():
                    left += remove_tree(copies)
            elif os.path.lexists(self.place):
                left.append(f"{folder}: {self.place} was replaced by a trial")
        except OSError as error:  # the trial has its verdict all the same
            left.append(f"{folder}: {error.strerror or error}")
        return left

    def _reach(self) -> bool:
        """Open the run's folder, which a trial may have closed; false if what is there now is not that folder."""
        uncover(self.place)
        if identity(self.place) != self._known:
            return False
        with contextlib.suppress(OSError):
            self.place.chmod(0o700)
        return True

    def _look_around(self) -> None:
        """Nothing that an agent would read may lie above a worktree, also not what an earlier trial put there."""
        if not self._reach():
            raise CheckoutFailed(f"an earlier trial removed or replaced {self.place}")
        for name in MARKERS:
            if os.path.lexists(self.place / name):
                remove_tree(self.place / name)
        marker = marker_above(self.place.parent)
        if marker is not None:
            raise CheckoutFailed(f"agents would read {marker}, which was not there when the run began")

    def _make_clone(self, own: Path) -> None:
        """Gather the objects that a self-contained clone needs: what the base and the chosen refs reach."""
        objects = own / "clone" / "objects"
        (objects / "pack").mkdir(parents=True)
        origin, trials = self._origin, self._origin.trials
        try:
            if self._checkout.partial and self._plan.history == "full":
                self._gather_partial(own, objects)
            else:
                tips = dict.fromkeys([trials.commit, *(commit for commit, _ in trials.refs)])
                wanted = "".join(f"{commit}\n" for commit in tips).encode()
                git = Git(own, git_dir=origin.git_dir)
                git.must("pack-objects", "-q", "--revs", str(objects / "pack" / "pack"), stdin=wanted)
        except NotReady as error:
            raise CheckoutFailed(error.message, remedy=error.remedy) from error
        self._origin = origin.alone()

    def _gather_partial(self, own: Path, objects: Path) -> None:
        """All that a partial clone has, and what the base's files are: where history has gaps git cannot pack it."""
        warm = own / "clone" / "warm"
        warm.mkdir()
        self._origin.check_out(warm, own / "clone" / "index")
        remove_tree(warm)
        for folder in (self._origin.git_dir / "objects", *self._checkout.objects):
            for entry in folder.iterdir():
                if entry.name != "info":
                    copy_tree(entry, objects / entry.name)


def isolate(checkout: Checkout, plan: CheckoutPlan, *, run_id: str, state: Path) -> Isolation:
    """The worktrees of the run `run_id`, whose folder in the checkout is `state`; used as a context manager."""
    return Isolation(checkout, plan, run_id, state)
