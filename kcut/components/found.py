"""A component that was found, and what one that is a file or a folder consists of."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kcut.components.cohort import Cohort, digest, json_text
from kcut.components.places import SKILLS, Place, places
from kcut.components.sides import Base, Here, Side, as_committed, files, must_stay, resolve
from kcut.globs import literal
from kcut.model.component import LINK, File, Kind
from kcut.model.errors import UsageFault
from kcut.system.git import Git

#: Changes both cohorts, WITH first; returns the globs of the paths in which they may differ now.
Make = Callable[[Cohort, Cohort], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Scene:
    """Where components are looked for, and git there."""

    here: Here
    base: Base
    git: Git
    _listed: dict[str, tuple[Place, ...]] = field(default_factory=dict)

    def places(self, side: Side) -> tuple[Place, ...]:
        """Every component that lies on that side, read once."""
        if side.told not in self._listed:
            self._listed[side.told] = tuple(places(side))
        return self._listed[side.told]

    def text(self, side: Side, path: str) -> str | None:
        """The text of a JSON file of one side, None if there is none. Raises UsageFault if it is no JSON."""
        real = resolve(side, path)
        file = side.read(real.path) if real is not None else None
        return None if file is None else json_text(side.told, path, file.data)


@dataclass(frozen=True, slots=True)
class Found:
    """A component that was found. `make` gives it to one cohort and withholds it from the other; the rest is as
    `Treatment` has it.
    """

    kind: Kind
    path: str
    digest: str
    make: Make
    patch: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: str | None = None
    withhold: str | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """The files by their names in the component ("" for the only one), where it lies, and the links to it."""

    files: dict[str, File]
    place: str
    links: dict[str, File]

    def fill(self, cohort: Cohort) -> None:
        """Give a cohort the files and the links."""
        for name, file in self.files.items():
            cohort.put(f"{self.place}/{name}" if name else self.place, file)
        for link, file in self.links.items():
            cohort.put(link, file)

    @property
    def paths(self) -> set[str]:
        """The folder or file, and the links to it."""
        return {self.place, *self.links}


def content(scene: Scene, side: Side, place: Place) -> Content:
    """What lies at a place. Raises UsageFault if it cannot be read, is too large, or leads out of the root."""
    what = f"the {place.kind} {place.name!r}"
    must_stay(side, place.path, what)
    real = resolve(side, place.path)
    if real is None:
        raise UsageFault(f"{what} is a link that leads nowhere", remedy=f"mend or remove {place.path!r}")
    module = scene.base.submodule(real.path)
    if module is not None:
        raise UsageFault(
            f"{what} lies in the submodule {module!r}, whose files are in no commit of this repository",
            remedy="copy it into the repository itself",
        )
    found = files(side, real.path, what)
    if isinstance(side, Here):
        found = as_committed(found, scene.base)
    start = len(real.path) + 1
    inside = {name[start:]: file for name, file in found.items()}
    return Content(inside, real.path, {link: File(LINK, os.fsencode(side.target(link))) for link in real.links})


def of_files(scene: Scene, side: Side, name: str, group: Sequence[Place]) -> Found:
    """A component that is a folder or a file: skill, draft, agent, command, rule. What `group` holds is alike.

    A skill may lie in the folder of each agent, and be a link from one to another: all of that belongs to it.
    """
    first, *others = group
    own = content(scene, side, first)

    def make(with_: Cohort, without: Cohort) -> tuple[str, ...]:
        gone = at_base(scene, first.kind, name, [each.path for each in group])
        for cohort in (with_, without):
            cohort.drop(gone)
        if first.kind == "draft":
            live = with_.real(f"{SKILLS[0]}/{first.path.rpartition('/')[2]}")
            for cohort in (with_, without):
                cohort.drop([live])
            Content(own.files, live, {}).fill(with_)
            return (literal(live),)
        touched = set(gone)
        for each in (own, *(content(scene, side, other) for other in others)):
            each.fill(with_)
            touched |= each.paths
        return tuple(map(literal, sorted(touched)))

    return Found(first.kind, first.path, digest(own.files), make)


def at_base(scene: Scene, kind: Kind, name: str, paths: Iterable[str]) -> set[str]:
    """The real paths of all that is the component in the base: what bears its name there, and what lies at its paths.

    The staged drafts of a skill are among them: a copy to read would be a leak.
    """
    kinds = {"skill", "draft"} if kind in {"skill", "draft"} else {kind}
    named = [each.path for each in scene.places(scene.base) if each.kind in kinds and name in each.names]
    found: set[str] = set()
    for path in [*paths, *named]:
        real = resolve(scene.base, path)
        if real is not None:
            found |= {real.path, *real.links}
    return found
