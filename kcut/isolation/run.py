"""The worktrees of one run: where they lie, how each is opened and closed, what is removed in the end."""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import TracebackType
from typing import Self

from kcut.isolation import leftovers, linked
from kcut.isolation.change import Change, changes, check_difference, read
from kcut.isolation.checkout import Checkout, CheckoutFailed, missing_subdir
from kcut.isolation.extras import Extras, find_extras
from kcut.isolation.freeze import Freezer, is_folder
from kcut.isolation.origin import Origin
from kcut.isolation.place import MARKERS, find_place, marker_above
from kcut.isolation.presence import Share
from kcut.isolation.pristine import remember
from kcut.isolation.repository import write_admin
from kcut.isolation.source import Source
from kcut.isolation.worktree import Worktree, uncover
from kcut.model.component import Treatment
from kcut.model.errors import NotReady
from kcut.model.outcome import Cohort
from kcut.model.plan import CheckoutPlan
from kcut.system.files import copy_tree, identity, remove_tree
from kcut.system.lease import Lease

#: Runs a component's command in a worktree.
Perform = Callable[[str, Worktree], None]


class Isolation:
    """A run's worktrees, by the plan's kind of isolation. A context manager; `open` may be called from threads.

    `place` is the run's folder. `left`, after the run, names what could not be removed and why.
    """

    place: Path

    def __init__(
        self,
        checkout: Checkout,
        plan: CheckoutPlan,
        *,
        run_id: str,
        state: Path,
        treatment: Treatment | None,
        perform: Perform | None,
    ) -> None:
        self.left: list[str] = []
        self._checkout, self._plan, self._run_id, self._state = checkout, plan, run_id, state
        self._treatment, self._perform = treatment, perform
        self._shares: dict[Cohort, Share] = {}
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
            self._sources: dict[Cohort, Source] = self._make_sources()
        except BaseException:
            self._close()
            raise

    def _make_sources(self) -> dict[Cohort, Source]:
        """What the worktrees of each cohort are made of: the same, if kcut changes nothing."""
        if self._treatment is None:
            return dict.fromkeys(Cohort, self._make_source(self._own))
        sources = {}
        for cohort, change in changes(self._treatment).items():
            sources[cohort] = self._make_source(self._base_folder(), change)
            if change.command is not None:
                done = self._carry_out(change, change.command, sources[cohort])
                sources[cohort] = self._make_source(self._base_folder(), done)
        entries = {cohort: source.entries() for cohort, source in sources.items()}
        for one, other in combinations(entries.values(), 2):
            check_difference(self._treatment, one, other)
        self._shares = {cohort: Share.of(own, list(entries.values())) for cohort, own in entries.items()}
        return sources

    def _base_folder(self) -> Path:
        """A new folder, whose name does not tell the cohort: trials see where their objects are."""
        folder = self._own / f"{leftovers.BASE}{secrets.token_hex(6)}"
        folder.mkdir()
        return folder

    def _carry_out(self, change: Change, command: str, source: Source) -> Change:
        """The change with what a command makes of a worktree of its own. Raises NotReady if it cannot be run."""
        if self._perform is None:
            raise AssertionError("a command needs someone to run it")
        with self._open(source) as worktree:
            self._perform(command, worktree)
            frozen = worktree.freeze()
            if frozen.tree is None:
                raise NotReady(f"what the component's command left cannot be read: {frozen.reason}")
            made = {path: read(worktree.path, path) for path in frozen.changed}
        return replace(change, edits={**change.edits, **made})

    def _make_source(self, folder: Path, change: Change | None = None) -> Source:
        return Source.make(self._checkout, self._plan, self._extras, place=self.place, folder=folder, change=change)

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
    def open(self, protected: Sequence[str] = (), *, cohort: Cohort = Cohort.WITHOUT) -> Iterator[Worktree]:
        """A fresh worktree at the base, removed afterwards unless it is kept. `protected` are paths to be restored.

        It is as that cohort is to have it, where kcut applies the component.

        Raises CheckoutFailed, with git's own message, if it cannot be made.
        """
        with self._open(self._sources[cohort], protected, cohort=cohort) as worktree:
            yield worktree

    @contextlib.contextmanager
    def _open(
        self, source: Source, protected: Sequence[str] = (), *, cohort: Cohort | None = None
    ) -> Iterator[Worktree]:
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
                git_dir = self._fill(folder, source)
                self._extras.bring(self._checkout.root, folder / "tree")
                share = Share() if cohort is None else self._shares.get(cohort, Share())
                share.settle(source.origin, folder / "tree", git_dir / "index", self._extras)
                shutil.copy2(git_dir / "index", index)
                freezer = Freezer(source.origin, folder / "tree", index, source.frozen)
                pristine = remember(folder / "tree", protected, copies)
                worktree = Worktree(folder, self._checkout.subdir, freezer, kept, pristine, share=share)
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

    def _fill(self, folder: Path, source: Source) -> Path:
        """Make a trial's repository and its worktree; returns the folder that its index is in."""
        tree = folder / "tree"
        tree.mkdir()
        (folder / "scratch").mkdir()
        trials = source.origin.trials
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
                copy_tree(source.clone / "objects", git_dir / "objects")
                if (source.origin.git_dir / "lfs").is_dir():
                    copy_tree(source.origin.git_dir / "lfs", git_dir / "lfs")
            case "worktree":
                prepared = self._state / f"{self.place.name}-{folder.name}"
                git_dir = linked.register(self._checkout, tree, prepared.name, prepared, trials.carried)
        if self._plan.isolation != "clone":
            (tree / ".git").write_bytes(os.fsencode(f"gitdir: {git_dir}\n"))
        self._check_out(source.origin, tree, git_dir / "index")
        return git_dir

    def _check_out(self, origin: Origin, tree: Path, index: Path) -> None:
        # the first checkout of a partial clone fetches what is missing; the others wait and find it there
        with contextlib.nullcontext() if self._warm else self._first:
            origin.check_out(tree, index)
            self._warm = True
        subdir = self._checkout.subdir
        if subdir and not is_folder(tree / subdir):
            raise missing_subdir(subdir, origin.commit)

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


def isolate(
    checkout: Checkout,
    plan: CheckoutPlan,
    *,
    run_id: str,
    state: Path,
    treatment: Treatment | None = None,
    perform: Perform | None = None,
) -> Isolation:
    """The worktrees of the run `run_id`, whose folder in the checkout is `state`; used as a context manager.

    With a treatment, those of the cohort WITH have its component, those of WITHOUT do not, and those of PLACEBO have
    what stands in for it; `perform` runs its
    commands in a worktree, and raises NotReady if one fails.
    """
    return Isolation(checkout, plan, run_id=run_id, state=state, treatment=treatment, perform=perform)
