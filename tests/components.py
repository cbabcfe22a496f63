"""Components in real repositories: both cohorts' files, as their edits make them of the base's tree."""

from dataclasses import dataclass
from pathlib import Path

from kcut.components import find_component
from kcut.globs import covers
from kcut.isolation.checkout import inspect
from kcut.isolation.reads import Reader
from kcut.model.component import Treatment
from tests.conftest import Repo

Tree = dict[str, tuple[int, bytes]]


@dataclass(frozen=True)
class Cohorts:
    """A treatment, the base's files and both cohorts'."""

    treatment: Treatment
    base: Tree
    with_: Tree
    without: Tree

    def names(self) -> tuple[list[str], list[str]]:
        """The paths WITH and WITHOUT."""
        return sorted(self.with_), sorted(self.without)


def look(repo: Repo, name: str, *, cwd: Path | None = None) -> Treatment | None:
    """What the name means, trials starting from HEAD."""
    checkout = inspect(cwd or repo.path)
    return find_component(checkout, name, checkout.base)


def cohorts(repo: Repo, name: str) -> Cohorts:
    """Both cohorts' trees; they differ from each other in the plan's paths alone, and no edit is idle."""
    checkout = inspect(repo.path)
    treatment = find_component(checkout, name, checkout.base)
    assert treatment is not None, name
    reader = Reader(checkout.git(), checkout.git_dir)
    base = {path: (int(mode, 8), reader.blob(blob)) for path, (mode, blob) in reader.entries(checkout.base).items()}
    made: list[Tree] = []
    for edits in (treatment.with_, treatment.without):
        tree = dict(base)
        for path, file in edits.items():
            if file is None:
                del tree[path]
            else:
                assert tree.get(path) != (file.mode, file.data), f"an idle edit of {path}"
                tree[path] = (file.mode, file.data)
        for path in tree:  # no path is a file and a folder
            assert not any(other.startswith(f"{path}/") for other in tree), path
        made.append(tree)
    with_, without = made
    differing = {path for path in {*with_, *without} if with_.get(path) != without.get(path)}
    beyond = sorted(path for path in differing if not covers(treatment.plan.paths, path))
    assert not beyond, f"differ in {beyond}, beyond {treatment.plan.paths}"
    return Cohorts(treatment, base, with_, without)
