"""A component that kcut switches itself: what is recorded of it, and how both cohorts are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kcut.model.artifact import Record
from kcut.model.outcome import Cohort

#: git's modes of a file, an executable one, and a symbolic link.
REGULAR, EXECUTABLE, LINK = 0o100644, 0o100755, 0o120000

Kind = Literal["skill", "agent", "command", "rule", "hook", "mcp", "draft", "section", "setting", "manifest"]
#: Every kind, in the order in which people think of them.
KINDS: tuple[Kind, ...] = (
    "skill",
    "agent",
    "command",
    "rule",
    "hook",
    "mcp",
    "draft",
    "section",
    "setting",
    "manifest",
)


class ComponentPlan(Record):
    """A component as it was found. `path` is relative to the root of the checkout.

    `digest` is `sha256:` and a hash of its content, wherever that lies. `paths` are globs of the tree's paths in
    which the cohorts may differ, `variables` the names of environment variables that are set WITH only.
    """

    name: str
    kind: Kind
    path: str
    digest: str
    paths: tuple[str, ...]
    variables: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """A file or link of a tree: git's mode, and its bytes (of a link: where it leads)."""

    mode: int
    data: bytes


#: Path in the tree -> content; None if it is removed.
Edits = Mapping[str, File | None]


@dataclass(frozen=True, slots=True)
class Treatment:
    """What makes the cohorts: edits to the base's tree for WITH and for WITHOUT, and what else sets them apart.

    `patch` is a unified diff, applied WITH and taken back WITHOUT where the base has it already. `env` is set WITH
    and unset WITHOUT. `command` makes WITH's tree out of the base's in a checkout of it, `withhold` WITHOUT's. All of
    them come after the edits. `placebo` are the edits for a third cohort, None if there is none.
    """

    plan: ComponentPlan
    with_: Edits
    without: Edits
    patch: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict, repr=False)  # values may be secrets
    command: str | None = None
    withhold: str | None = None
    placebo: Edits | None = None

    def edits(self, cohort: Cohort) -> Edits:
        """The edits to the base's tree for a cohort."""
        match cohort:
            case Cohort.WITH:
                return self.with_
            case Cohort.WITHOUT:
                return self.without
        if self.placebo is None:
            raise AssertionError("there is no such cohort without a placebo")
        return self.placebo
