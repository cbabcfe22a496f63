"""What a spec says: its criteria, their checks, and what in it does not read as its author meant it."""

from dataclasses import dataclass
from typing import Literal

#: Seconds a check may take if its info string names no `timeout=`.
DEFAULT_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class Check:
    """The command that decides a criterion. `timeout` in seconds; `line` is that of the opening fence, from 1."""

    command: str
    shell: Literal["sh", "bash"]
    timeout: float
    line: int


@dataclass(frozen=True, slots=True)
class Criterion:
    """One acceptance criterion. `id` is as written, `AC-1`; lines count from 1.

    `check` is None if a person has to decide: there is no check, or one of nothing but comments, or a fence in the
    span is never closed. `unclosed` is the first such fence: its own line and the last line that it swallowed.
    `passed_over` are the lines of earlier `eval` fences in the span, which the last one replaces.
    """

    id: str
    label: str
    prose: str
    line: int
    check: Check | None
    unclosed: tuple[int, int] | None = None
    passed_over: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unclosed:
    """A fence, HTML comment or block that is opened in line `start`, never closed, and swallows the lines to `end`.

    A fence also counts as unclosed if it is closed only by the end of another block, criteria and the beginning of
    that block swallowed: `closed_by` is that line then. `criterion` is the id of the criterion in whose span it
    stands, None outside of any. `swallowed` are the ids that the swallowed lines seem to define.
    """

    start: int
    end: int
    opener: str
    kind: Literal["fence", "comment", "html"] = "fence"
    criterion: str | None = None
    swallowed: tuple[str, ...] = ()
    closed_by: int | None = None

    @property
    def sentence(self) -> str:
        """What happened, in one sentence."""
        if self.end == self.start:
            what = "nothing follows it"
        elif self.end == self.start + 1:
            what = f"it swallows line {self.end}"
        else:
            what = f"it swallows lines {self.start + 1} to {self.end}"
        held = f", with what looks like {', '.join(self.swallowed)}" if self.swallowed else ""
        owner = f" in {self.criterion}" if self.criterion else ""
        name = {"fence": "fence", "comment": "HTML comment", "html": "HTML block"}[self.kind]
        how = (
            f"closed only by the end of another block in line {self.closed_by}" if self.closed_by else "never closed"
        )
        return f"the {name} {self.opener}{owner} is {how}: {what}{held}"


@dataclass(frozen=True, slots=True)
class Note:
    """A place that reads differently from what its author seems to have meant; it changes no result of a criterion.

    `lost`: it looks like a criterion, so a spec that holds it does not say all that it was meant to say.
    """

    line: int
    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class Spec:
    """The criteria in the order of the file. `orphans` are the lines of `eval` fences that belong to no criterion."""

    criteria: tuple[Criterion, ...]
    unclosed: tuple[Unclosed, ...] = ()
    notes: tuple[Note, ...] = ()
    orphans: tuple[int, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """The checks there are to run, in order."""
        return tuple(criterion.check for criterion in self.criteria if criterion.check is not None)

    @property
    def lost(self) -> tuple[Note, ...]:
        """The notes that name a criterion which is written so that it is none."""
        return tuple(note for note in self.notes if note.lost)
