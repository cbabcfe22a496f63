"""What a run is made of once everything that can be wrong before a trial has been looked at."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kcut.checkpoint import Spec
from kcut.components.places import MANIFESTS
from kcut.globs import covers, literal
from kcut.isolation import Checkout
from kcut.model.artifact import Warn
from kcut.model.component import Treatment
from kcut.model.plan import Plan, SpecText, TextFile
from kcut.plan import Work


@dataclass(frozen=True)
class Ready:
    """A plan and what it was made of. `artifact` is where the verdict will be written.

    `uncommitted` are the uncommitted paths that concern the trials: all but those that are read as they are now, the
    specs, prompts, oracles and the component that kcut switches.
    """

    plan: Plan
    checkout: Checkout
    works: tuple[Work, ...]
    artifact: Path
    warnings: tuple[Warn, ...] = ()
    treatment: Treatment | None = None
    looked: tuple[str, ...] = ()  # where a component was looked for that kcut could switch, if there is none

    @property
    def protected(self) -> tuple[str, ...]:
        """The base's files that are restored before scoring, of all tasks."""
        return tuple(dict.fromkeys(path for work in self.works for path in work.protected))

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The specs of the tasks that have one."""
        return tuple(work.spec for work in self.works if work.spec is not None)

    @property
    def uncommitted(self) -> tuple[str, ...]:
        """The uncommitted paths but those that are read as they are now."""
        toggle = self.plan.toggle
        own = () if toggle is None else (*toggle.paths, literal(toggle.path), literal(MANIFESTS))
        oracles = [literal(work.plan.oracle.place) for work in self.works if work.plan.oracle is not None]
        files = (*self._spec_paths, *self._paths(work.plan.prompt for work in self.works))
        return tuple(path for path in self.checkout.dirty if path not in files and not covers((*own, *oracles), path))

    @property
    def spec_notes(self) -> tuple[str, ...]:
        """That a spec is read with its uncommitted changes, for each that has any."""
        changed = [path for path in self._spec_paths if path in self.checkout.dirty]
        return tuple(f"{path} scores as it is now, with its uncommitted changes" for path in changed)

    @property
    def _spec_paths(self) -> tuple[str, ...]:
        return self._paths(work.plan.spec for work in self.works)

    def _paths(self, texts: Iterable[SpecText | TextFile | None]) -> tuple[str, ...]:
        """Where texts were read from, relative to the root of the checkout."""
        root = self.checkout.root
        paths = [text.path for text in texts if text is not None and text.path is not None]
        return tuple(dict.fromkeys(os.path.relpath(root / self.checkout.subdir / path, root) for path in paths))
