"""The worktrees of one run: where they lie, how each is opened and closed, what is removed in the end."""

import contextlib
import os
import secrets
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kcut.isolation import leftovers, linked
from kcut.isolation.alternates import content
from kcut.isolation.change import Change, changes, check_difference
from kcut.isolation.checkout import Checkout, CheckoutFailed, missing_subdir
from kcut.isolation.extras import Extras, find_extras, is_below, put
from kcut.isolation.freeze import Freezer, is_folder
from kcut.isolation.origin import FROZEN, Origin, make_origin
from kcut.isolation.place import MARKERS, find_place, marker_above
from kcut.isolation.pristine import remember
from kcut.isolation.reads import Reader
from kcut.isolation.repository import literal_pattern, write_admin
from kcut.isolation.worktree import Worktree, uncover
from kcut.model.component import Treatment
from kcut.model.errors import NotReady
from kcut.model.plan import CheckoutPlan
from kcut.system.files import copy_tree, identity, remove_tree
from kcut.system.git import Git
from kcut.system.lease import Lease


@dataclass(frozen=True, slots=True)
class Source:
    """What worktrees are made of: the repository they are checked out of, and the folders for what kcut adds.

    `frozen` takes the objects of frozen worktrees; `clone` holds those of a self-contained clone.
    """

    origin: Origin
    frozen: Path
    clone: Path

    @classmethod
    def make(cls, origin: Origin, folder: Path) -> Self:
        """The source that `origin` is the repository of, with its folders in `folder`."""
        frozen = folder / FROZEN
        (frozen / "info").mkdir(parents=True)
        folders = (origin.git_dir / "objects", *origin.trials.borrowed)
        (frozen / "info" / "alternates").write_bytes(content(dict.fromkeys(folders)))
        return cls(origin, frozen, folder / "clone")


class Isolation:
    """A run's worktrees, by the plan's kind of isolation. A context manager; `open` may be called from threads.

    `place` is the run's folder. `left`, after the run, names what could not be removed and why.
    """

    place: Path

    def __init__(
        self, checkout: Checkout, plan: CheckoutPlan, run_id: str, state: Path, treatment: Treatment | None
    ) -> None:
        self.left: list[str] = []
        self._checkout, self._plan, self._run_id, self._state = checkout, plan, run_id, state
        self._treatment = treatment
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
            self._sources: dict[bool, Source] = self._make_sources()
        except BaseException:
            self._close()
            raise

    def _make_sources(self) -> dict[bool, Source]:
        """What the worktrees of WITH (True) and WITHOUT (False) are made of: the same, if kcut changes nothing."""
        if self._treatment is None:
            source = self._make_source(self._own)
            return {True: source, False: source}
        sources = {}
        for enabled, change in changes(self._treatment).items():
            # a name that does not tell the cohort: trials see where their objects are
            folder = self._own / f"{leftovers.BASE}{secrets.token_hex(6)}"
            folder.mkdir()
            sources[enabled] = self._make_source(folder, change)
        entries = [self._entries(sources[enabled].origin) for enabled in (True, False)]
        check_difference(self._treatment, *entries)
        return sources

    def _entries(self, origin: Origin) -> dict[str, tuple[str, str]]:
        return Reader(Git(self._own, git_dir=origin.git_dir), origin.git_dir).entries(origin.commit)

    def _make_source(self, folder: Path, change: Change | None = None) -> Source:
        excluded = tuple(literal_pattern(path) for path in (*self._extras.copies, *self._extras.links))
        origin = make_origin(self._checkout, self._plan, folder, excluded, place=self.place, change=change)
        source = Source.make(origin, folder)
        return self._gathered(source) if self._plan.isolation == "clone" else source

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
    def open(self, protected: Sequence[str] = (), *, enabled: bool = False) -> Iterator[Worktree]:
        """A fresh worktree at the base, removed afterwards unless it is kept. `protected` are paths to be restored.

        `enabled`: with the component, where kcut applies it.

        Raises CheckoutFailed, with git's own message, if it cannot be made.
        """
        name = secrets.token_hex(6)
        folder = self.place / name
        index = self._own / f"{name}.index"
        kept = self._own / f"{name}{leftovers.KEPT}"
        copies = self._own / f"{name}.copies"
        worktree: Worktree | None = None
        source = self._sources[enabled]
        try:
            try:
                self._look_around()
                folder.mkdir()
                git_dir = self._fill(folder, source)
                self._bring_extras(folder / "tree", enabled=enabled)
                shutil.copy2(git_dir / "index", index)
                freezer = Freezer(source.origin, folder / "tree", index, source.frozen)
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

    def _bring_extras(self, tree: Path, *, enabled: bool) -> None:
        """Bring what git ignores; of a component that lies in there, the cohort has what it is to have."""
        self._extras.bring(self._checkout.root, tree)
        treatment = self._treatment
        if treatment is None or not (self._extras.copies or self._extras.links):
            return
        for path, file in (treatment.with_ if enabled else treatment.without).items():
            if is_below(path, self._extras.links):
                raise CheckoutFailed(
                    f"{path} is the component's, and a link would show it to both cohorts",
                    remedy="bring it with --copy instead of --link",
                )
            if is_below(path, self._extras.copies):
                put(tree, path, file)

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

    def _gathered(self, source: Source) -> Source:
        """Gather the objects that a self-contained clone needs: what the base and the chosen refs reach."""
        objects = source.clone / "objects"
        (objects / "pack").mkdir(parents=True)
        origin, trials = source.origin, source.origin.trials
        try:
            if self._checkout.partial and self._plan.history == "full":
                self._gather_partial(origin, source.clone, objects)
            else:
                tips = dict.fromkeys([trials.commit, *(commit for commit, _ in trials.refs)])
                wanted = "".join(f"{commit}\n" for commit in tips).encode()
                git = Git(self._own, git_dir=origin.git_dir)
                git.must("pack-objects", "-q", "--revs", str(objects / "pack" / "pack"), stdin=wanted)
        except NotReady as error:
            raise CheckoutFailed(error.message, remedy=error.remedy) from error
        return replace(source, origin=origin.alone())

    def _gather_partial(self, origin: Origin, clone: Path, objects: Path) -> None:
        """All that a partial clone has, and what the base's files are: where history has gaps git cannot pack it."""
        warm = clone / "warm"
        warm.mkdir()
        origin.check_out(warm, clone / "index")
        remove_tree(warm)
        for folder in (origin.git_dir / "objects", *self._checkout.objects):
            for entry in folder.iterdir():
                if entry.name != "info":
                    copy_tree(entry, objects / entry.name)


def isolate(
    checkout: Checkout, plan: CheckoutPlan, *, run_id: str, state: Path, treatment: Treatment | None = None
) -> Isolation:
    """The worktrees of the run `run_id`, whose folder in the checkout is `state`; used as a context manager.

    With a treatment, those of the cohort WITH have its component and those of WITHOUT do not.
    """
    return Isolation(checkout, plan, run_id, state, treatment)
