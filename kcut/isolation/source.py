"""What a cohort's worktrees are made of: kcut's repository with the base, and folders for what is added to it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from kcut.isolation.alternates import content
from kcut.isolation.change import Change
from kcut.isolation.checkout import Checkout, CheckoutFailed
from kcut.isolation.extras import Extras
from kcut.isolation.origin import FROZEN, Origin, make_origin
from kcut.isolation.reads import Entries, Reader
from kcut.isolation.repository import literal_pattern
from kcut.model.errors import NotReady
from kcut.model.plan import CheckoutPlan
from kcut.system.files import copy_tree, remove_tree
from kcut.system.git import Git


@dataclass(frozen=True, slots=True)
class Source:
    """`frozen` takes the objects of frozen worktrees, `clone` holds those of a self-contained clone."""

    origin: Origin
    frozen: Path
    clone: Path

    @classmethod
    def make(
        cls,
        checkout: Checkout,
        plan: CheckoutPlan,
        extras: Extras,
        *,
        place: Path,
        folder: Path,
        change: Change | None = None,
    ) -> Self:
        """Write it into `folder`, which exists, in `place`, the run's. Raises as `make_origin`."""
        excluded = tuple(literal_pattern(path) for path in (*extras.copies, *extras.links))
        origin = make_origin(checkout, plan, folder, excluded, place=place, change=change)
        frozen = folder / FROZEN
        (frozen / "info").mkdir(parents=True)
        folders = (origin.git_dir / "objects", *origin.trials.borrowed)
        (frozen / "info" / "alternates").write_bytes(content(dict.fromkeys(folders)))
        source = cls(origin, frozen, folder / "clone")
        return source._gathered(checkout, plan) if plan.isolation == "clone" else source

    def entries(self) -> Entries:
        """Every path of the base, as `Reader.entries` has them."""
        return Reader(Git(self.frozen, git_dir=self.origin.git_dir), self.origin.git_dir).entries(self.origin.commit)

    def _gathered(self, checkout: Checkout, plan: CheckoutPlan) -> Self:
        """Gather the objects that a self-contained clone needs: what the base and the chosen refs reach."""
        objects = self.clone / "objects"
        (objects / "pack").mkdir(parents=True)
        origin, trials = self.origin, self.origin.trials
        try:
            if checkout.partial and plan.history == "full":
                self._gather_partial(checkout)
            else:
                tips = dict.fromkeys([trials.commit, *(commit for commit, _ in trials.refs)])
                wanted = "".join(f"{commit}\n" for commit in tips).encode()
                git = Git(self.clone, git_dir=origin.git_dir)
                git.must("pack-objects", "-q", "--revs", str(objects / "pack" / "pack"), stdin=wanted)
        except NotReady as error:
            raise CheckoutFailed(error.message, remedy=error.remedy) from error
        return replace(self, origin=origin.alone())

    def _gather_partial(self, checkout: Checkout) -> None:
        """All that a partial clone has, and what the base's files are: where history has gaps git cannot pack it."""
        warm = self.clone / "warm"
        warm.mkdir()
        self.origin.check_out(warm, self.clone / "index")
        remove_tree(warm)
        for folder in (self.origin.git_dir / "objects", *checkout.objects):
            for entry in folder.iterdir():
                if entry.name != "info":
                    copy_tree(entry, self.clone / "objects" / entry.name)
