"""A component as a list shows it."""

from dataclasses import dataclass

from kcut.model.component import Kind


@dataclass(frozen=True, slots=True)
class Listed:
    """A component as a list shows it. `digest` is None if it cannot be read, `fault` says why then."""

    name: str
    kind: Kind
    path: str
    digest: str | None
    fault: str | None = None
