"""What an agent hears after a score that failed, so that it can try again. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

#: Of what a check printed, the last characters that are passed on.
OUTPUT = 4000


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed: a criterion's id and label, or the score as a whole (id `score`); how, and what it printed.

    `exit` is None if it ran into its time limit. `output` is empty unless it was asked for.
    """

    id: str
    label: str = ""
    exit: int | None = None
    output: str = ""

    @property
    def how(self) -> str:
        """`exit 1`, `ran out of time`."""
        return "ran out of time" if self.exit is None else f"exit {self.exit}"


def feedback(failures: Sequence[Failure]) -> str:
    """The prompt of a further round: what failed and how, and nothing of how it is checked."""
    lines = ["Your work was checked, and it does not pass yet. What failed:", ""]
    for failure in failures:
        label = f" ({failure.label})" if failure.label else ""
        lines.append(f"- {failure.id}{label}: {failure.how}")
        if failure.output.strip():
            lines += ["", *(f"      {line}" for line in failure.output[-OUTPUT:].strip().splitlines()), ""]
    lines += ["", "Find the cause in your work, mend it, and finish the task as it was given at first."]
    return "\n".join(lines) + "\n"


def repeated(before: Sequence[Failure], now: Sequence[Failure]) -> tuple[str, ...]:
    """The ids of what failed in the same way as in the round before: perhaps the check is wrong, not the work."""
    known = {(failure.id, failure.exit) for failure in before}
    return tuple(failure.id for failure in now if (failure.id, failure.exit) in known)
