"""The course of a run that stops as soon as it is clear: its pairs in index order, looked at one by one. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Literal

from kcut.model.outcome import SIDES, Cohort, Outcome
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, TrialRecord
from kcut.schedule import runs_again
from kcut.stats.cost import cost_ratio
from kcut.stats.eprocess import e_keeps
from kcut.stats.sequential import design, noninferior_boundary
from kcut.stats.stopping import StoppingTable

#: What a look can end in: KEEP, CUT, or that no further pair can bring a KEEP.
End = Literal["keep", "cut", "hopeless"]


@dataclass(frozen=True, slots=True)
class Pair:
    """A complete pair: whether each trial passed, and what it cost."""

    on: bool
    off: bool
    cost_on: float | None = None
    cost_off: float | None = None


class Course:
    """What the pairs so far show. Pairs are added in index order, None for one with a trial that stayed void.

    `seen` counts all of them, `n` the complete ones; `u` is how many only WITH passed, `v` only WITHOUT. `end` is
    what was decided, None as long as nothing is. `harm` is True once WITHOUT is ahead by as much as a KEEP asks for,
    `non_inferior` if the last look shows that success is no worse by more than the plan's margin.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._look = _rule(plan)
        self.seen = self.n = self.u = self.v = 0
        self.costs_on: list[float | None] = []
        self.costs_off: list[float | None] = []
        self.end: End | None = None
        self.non_inferior = self.harm = False

    @property
    def over(self) -> bool:
        """True if nothing more is to be run."""
        if self.end == "cut" and self._plan.confirm_harm and self.v > self.u and not self.harm:
            return self.seen >= self._plan.pairs
        return self.end is not None or self.seen >= self._plan.pairs

    def count(self, pair: Pair | None) -> None:
        """Count one more pair without a look at what it decides."""
        self.seen += 1
        if pair is None:
            return
        self.n += 1
        self.u += pair.on and not pair.off
        self.v += pair.off and not pair.on
        self.costs_on.append(pair.cost_on)
        self.costs_off.append(pair.cost_off)

    def fits(self) -> bool:
        """True if success is no worse by more than the margin, by the pairs so far."""
        boundary = noninferior_boundary(self._plan.pairs, self._plan.margin, self._plan.alpha)
        return self.n > 0 and boundary.met(self.u, self.v, self.n)

    def add(self, pair: Pair | None) -> None:
        """Look at one more pair."""
        self.count(pair)
        if pair is None:
            return
        if self.end is None:
            self.end = self._look(self)
        if self.end == "cut" and self._plan.confirm_harm:
            self.harm = _table(self._plan).harm(self.n, self.u, self.v)


def _rule(plan: Plan) -> Callable[[Course], End | None]:
    """How a course is looked at after each of its complete pairs."""
    if plan.anytime:
        return lambda course: "keep" if e_keeps(course.u, course.v, plan.alpha) else None
    if plan.objective == "cost":
        looks = cost_looks(plan)

        def as_cheap(course: Course) -> End | None:
            if not (course.costs_on[-1] and course.costs_off[-1]):
                return "hopeless"  # where a cost is not known, or 0, there is no ratio
            course.non_inferior = course.fits()
            if not course.non_inferior or course.n not in looks:
                return None
            found = cost_ratio(course.costs_on, course.costs_off, level=cost_level(plan))
            return "keep" if found is not None and found.upper is not None and found.upper < 1 else None

        return as_cheap
    table = _table(plan)

    def look(course: Course) -> End | None:
        verdict = table.look(course.n, course.u, course.v)
        if verdict is None and plan.stop == "keep-unreachable":
            # a pair that was skipped is gone: only those still to be seen can bring a KEEP
            return "hopeless" if table.keep_unreachable(course.seen, course.u, course.v) else None
        return verdict

    return look


def cost_looks(plan: Plan) -> tuple[int, ...]:
    """After how many complete pairs the costs are looked at: the bound of their ratio knows no boundary of its own.

    Half-way, at three quarters, and at the end: so few looks can share alpha (Bonferroni).
    """
    return tuple(sorted({ceil(plan.pairs * part / 4) for part in (2, 3, 4)}))


def cost_level(plan: Plan) -> float:
    """The level of each one-sided bound of the cost ratio."""
    return 1 - plan.alpha / (len(cost_looks(plan)) if plan.until_decided else 1)


def _table(plan: Plan) -> StoppingTable:
    return design(plan.pairs, plan.alpha, plan.delta, plan.beta)


def pair_of(trials: Iterable[TrialRecord]) -> Pair | None:
    """The final trials of one pair as a look sees them; None if one of them stayed void or is missing."""
    valid = {trial.key.cohort: trial for trial in trials if trial.valid}
    if not valid.keys() >= set(SIDES):
        return None
    on, off = valid[Cohort.WITH], valid[Cohort.WITHOUT]
    return Pair(on.outcome is Outcome.PASS, off.outcome is Outcome.PASS, on.usage.cost_usd, off.usage.cost_usd)


def pairs_of(trials: Iterable[TrialRecord]) -> list[Pair | None]:
    """Final trials as pairs, in index order."""
    by_pair: dict[int, list[TrialRecord]] = {}
    for trial in trials:
        by_pair.setdefault(trial.key.pair, []).append(trial)
    return [pair_of(by_pair[number]) for number in sorted(by_pair)]


def course_of(plan: Plan, attempts: Iterable[TrialRecord]) -> Course:
    """The course of recorded attempts: it follows the pairs as far as all before them are final."""
    final = {attempt.key: attempt for attempt in attempts if not runs_again(plan, attempt)}
    course = Course(plan)
    while not course.over:
        keys = [TrialKey(course.seen, cohort) for cohort in plan.cohorts]
        if any(key not in final for key in keys):
            break
        course.add(pair_of(final[key] for key in keys))
    return course
