"""A component that kcut itself applies and withholds: what is recorded of it, and how both cohorts are made."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kcut.model.artifact import Record

ComponentKind = Literal["skill", "agent", "command", "rule", "hook", "mcp", "draft", "section", "setting", "manifest"]


class ComponentPlan(Record):
    """What is recorded of a component. `path` is where it was found, relative to the root of the checkout.

    `digest` is a hash of its content (`sha256:` and hex digits), the same wherever it lies. `paths` are patterns, as
    of a gitignore file, of all that the cohorts' trees may differ in; `variables` are set WITH only.
    """

    name: str
    kind: ComponentKind
    path: str
    digest: str
    paths: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()


#: git's mode of a symbolic link.
LINK = 0o120000


@dataclass(frozen=True, slots=True)
class File:
    """A file of a tree: git's mode (0o100644, 0o100755 or LINK, whose target is `data`) and bytes."""

    mode: int
    data: bytes


#: What becomes of paths of a tree; None: removed.
Edits = Mapping[str, File | None]


@dataclass(frozen=True, slots=True)
class Treatment:
    """How both cohorts are made of the tree that trials start from.

    `patch` is applied for WITH, and taken back for WITHOUT where the tree has it already. `env` is set WITH and unset
    WITHOUT. `command` and `withhold` are run once in a checkout of the tree, to make that of WITH and of WITHOUT.
    """

    plan: ComponentPlan
    with_: Edits = field(default_factory=dict)
    without: Edits = field(default_factory=dict)
    patch: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    command: str | None = None
    withhold: str | None = None
