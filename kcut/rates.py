"""The cohorts' success rates as exact numbers, and the rule that compares nothing else. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from kcut.model.artifact import CohortSummary, TaskResult


@dataclass(frozen=True, slots=True)
class Point:
    """What the point rule says, and in one clause why."""

    passed: bool
    reason: str


def point_rule(
    with_: CohortSummary,
    without: CohortSummary,
    min_gain: str | None = None,
    tasks: Sequence[TaskResult] = (),
) -> Point:
    """Pass if WITH has the higher rate; with `min_gain`, an exact decimal or fraction, if it is higher by that much.

    All fractions are exact. A cohort without a valid trial fails.
    """
    on, off = rates_of(with_, without, tasks)
    if on is None or off is None:
        empty = "WITH" if on is None else "WITHOUT"
        return Point(False, f"no trial of the {empty} cohort is valid")
    if min_gain is not None:
        passed = on - off >= Fraction(min_gain)
        verb = "meets" if passed else "is short of"
        return Point(passed, f"a gain of {_gain(on - off)} {verb} --min-gain {min_gain}")
    # a perfect WITH cohort beats one that is not perfect for having failed; a void trial is no failure
    perfect = with_.pass_caret and not without.pass_caret and off < 1
    return Point(on > off or perfect, _change(on, off))


def rates_of(
    with_: CohortSummary, without: CohortSummary, tasks: Sequence[TaskResult] = ()
) -> tuple[Fraction | None, Fraction | None]:
    """The exact success rates WITH and WITHOUT; of several tasks the weighted means, None if a task has no trial."""
    if not tasks:
        return rate_of(with_), rate_of(without)
    return _mean([(task.weight, task.with_) for task in tasks]), _mean(
        [(task.weight, task.without) for task in tasks]
    )


def _mean(parts: Sequence[tuple[float, CohortSummary]]) -> Fraction | None:
    total = weights = Fraction(0)
    for weight, cohort in parts:
        rate = rate_of(cohort)
        if rate is None:
            return None
        share = Fraction(str(weight))
        total, weights = total + share * rate, weights + share
    return total / weights


def rate_of(cohort: CohortSummary) -> Fraction | None:
    """The exact success rate over the valid trials (the planned ones, where a file does not say), None at 0."""
    n = trials_of(cohort)
    return Fraction(cohort.successes, n) if n else None


def trials_of(cohort: CohortSummary) -> int:
    """How many trials count."""
    return cohort.k if cohort.valid is None else cohort.valid


def _change(on: Fraction, off: Fraction) -> str:
    if on == off:
        return f"the success rate is {_digits(on)} in both cohorts"
    before, after = _digits(off), _digits(on)
    if before == after:
        before, after = f"{before} ({off})", f"{after} ({on})"
    return f"the success rate {'rose' if on > off else 'fell'} from {before} to {after}"


def _digits(value: Fraction) -> str:
    return f"{float(value):.2f}"


def _gain(value: Fraction) -> str:
    """`+0.10` where two digits are exact, else with the fraction beside it."""
    text = f"{float(value):+.2f}"
    return text if Fraction(text) == value else f"{text} ({value})"


def saturation(with_: CohortSummary, without: CohortSummary) -> str | None:
    """`passed` if all trials of both cohorts did, `failed` likewise, else None."""
    on, off = rate_of(with_), rate_of(without)
    if on == off == 1:
        return "passed"
    return "failed" if on == off == 0 else None
