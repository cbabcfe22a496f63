"""What the evidence supports: KEEP, CUT, or neither, by the tests that the run was planned with. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from kcut.course import Course, cost_level, course_of, pairs_of
from kcut.model.artifact import CohortSummary, CostFinding, Decision, PlaceboFinding, TaskResult, Verdict
from kcut.model.outcome import SIDES, Cohort, Outcome
from kcut.model.plan import Plan
from kcut.model.trial import TrialKey, TrialRecord
from kcut.rates import rates_of, saturation
from kcut.stats.benefit import benefit_below
from kcut.stats.cmh import cmh_exact_one_sided
from kcut.stats.cost import cost_ratio
from kcut.stats.eprocess import e_value
from kcut.stats.exact import boschloo, fisher_two_sided
from kcut.stats.intervals import newcombe, tango
from kcut.stats.maximum import PRECISION
from kcut.stats.noninferior import noninferior
from kcut.stats.planning import needed_k
from kcut.stats.tango import tango_score
from kcut.summary import final_trials, gain_of, task_results

#: The WITHOUT rate that trials are planned for lies within these: a few trials never prove a rate of 0 or 1.
LOWEST, HIGHEST = Fraction(5, 100), Fraction(95, 100)
#: Numbers of trials with a void attempt that differ this significantly take a KEEP back.
VOID_ALPHA = 0.10

#: Evidence beyond this is written as this.
LARGEST = Fraction(10) ** 300
#: A cap on running pairs has to be about so much larger than a fixed number with the same power: 85 pairs for 75
#: trials, 19 for 17.
FOR_LOOKS = Fraction(8, 7)
#: What a void counts as where a KEEP is to stand against the worst.
AGAINST = {Cohort.WITH: Outcome.FAIL, Cohort.WITHOUT: Outcome.PASS}
#: Passes and trials WITH, passes and trials WITHOUT.
Table = tuple[int, int, int, int]


def decide(
    plan: Plan,
    attempts: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    tasks: Sequence[TaskResult] = (),
) -> Decision:
    """What the trials of WITH and WITHOUT support; without warnings. Both have valid trials, and so has each task.

    KEEP if a gain is proved at alpha, unless voids could have made the difference. Else CUT if a benefit of at least
    delta is ruled out at beta, unless the task let no cohort fail, or none pass. A run that stops as soon as it is
    clear has decided by its course; another by the exact test of its tables.
    """
    trials = final_trials(attempts)
    saturated = plan.objective == "success" and saturation(with_, without) is not None
    if plan.until_decided:
        found = _by_course(plan, trials, tasks)
    else:
        found = _at_the_end(plan, trials, with_, without, tasks)
    verdict: Verdict = found.verdict
    if (verdict == "keep" and void_balance(plan, attempts).upset) or (verdict == "cut" and saturated):
        verdict = "inconclusive"
    if not weights_agree(plan, tasks, verdict, found.interval):
        verdict = "inconclusive"
    needed = None
    if verdict == "inconclusive" and plan.objective == "success":
        on, off = rates_of(with_, without, tasks)
        needed = trials_needed(plan, on or Fraction(0), off or Fraction(0))
    return found.model_copy(update={"verdict": verdict, "needed_k": needed})


def _at_the_end(
    plan: Plan,
    trials: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    tasks: Sequence[TaskResult],
) -> Decision:
    """By the exact test of a fixed number of trials: Boschloo's, with several tasks Cochran-Mantel-Haenszel's."""
    tables, pooled = tables_of(plan, trials), _pooled(plan, trials)
    p_value, p_cut = gain_p(tables), benefit_below(*pooled, plan.delta) if pooled else 1.0
    verdict: Verdict = "inconclusive"
    cost = None
    if plan.objective == "cost":
        costs = [_costs(trials, cohort) for cohort in SIDES]
        p_worse = noninferior(*pooled, plan.margin) if pooled else 1.0
        cost = _cost(plan, *costs, non_inferior=_proves(p_worse, plan.alpha))
        verdict = by_cost(cost)
    elif _proves(p_value, plan.alpha):
        verdict = "keep"
    elif _proves(p_cut, plan.beta):
        verdict = "cut"
    if tasks:
        difference, interval = gain_of(tasks)
    else:
        on, off = rates_of(with_, without)
        difference = None if on is None or off is None else float(on - off)
        interval = newcombe(*tables[0])
    return Decision(
        verdict=verdict,
        method="cmh" if len(tables) > 1 else "boschloo",
        alpha=plan.alpha,
        delta=plan.delta,
        p_value=p_value,
        p_value_cut=p_cut,
        difference=difference,
        interval=interval,
        pairs=len(complete_pairs(trials)),
        objective="cost" if cost is not None else None,
        cost=cost,
    )


def _by_course(plan: Plan, trials: Sequence[TrialRecord], tasks: Sequence[TaskResult]) -> Decision:
    """By the pairs in index order, looked at one by one up to the first look that decided."""
    course = course_of(plan, trials)
    u, v, n = course.u, course.v, course.n
    verdict: Verdict = "keep" if course.end == "keep" else "cut" if course.end == "cut" else "inconclusive"
    cost = None
    if plan.objective == "cost":
        cost = _cost(plan, course.costs_on, course.costs_off, non_inferior=course.non_inferior)
        verdict = "keep" if course.end == "keep" else by_cost(cost)
    difference, interval = gain_of(tasks) if tasks else ((u - v) / n if n else None, tango(u, v, n))
    return Decision(
        verdict=verdict,
        method="eprocess" if plan.anytime else "sequential",
        alpha=plan.alpha,
        delta=plan.delta,
        beta=plan.beta,
        statistic=_bounded(e_value(u, v)) if plan.anytime else tango_score(u, v, n, 0.0),
        difference=difference,
        interval=interval,
        pairs=n,
        objective="cost" if cost is not None else None,
        cost=cost,
    )


def _bounded(value: Fraction) -> float:
    """As a float; the largest one for what is larger."""
    return float(min(value, LARGEST))


def _costs(trials: Sequence[TrialRecord], cohort: Cohort) -> list[float | None]:
    return [trial.usage.cost_usd for trial in trials if trial.valid and trial.key.cohort is cohort]


def _cost(plan: Plan, on: Sequence[float | None], off: Sequence[float | None], *, non_inferior: bool) -> CostFinding:
    """What the trials cost, WITH over WITHOUT; all numbers None if a cost is unknown or 0."""
    found = cost_ratio(on, off, level=cost_level(plan))
    if found is None:
        return CostFinding(margin=plan.margin, non_inferior=non_inferior)
    return CostFinding(
        ratio=found.ratio,
        interval=None if found.low is None or found.high is None else (found.low, found.high),
        coverage=found.coverage,
        lower=found.lower,
        upper=found.upper,
        margin=plan.margin,
        non_inferior=non_inferior,
    )


def against_placebo(plan: Plan, k: int, attempts: Iterable[TrialRecord]) -> PlaceboFinding | None:
    """How WITH compares with the placebo, by the test of a fixed number of trials; None without such trials.

    `k` pairs were planned.
    """
    known = [attempt for attempt in attempts if attempt.key.cohort is not Cohort.WITHOUT]
    if not any(attempt.key.cohort is Cohort.PLACEBO for attempt in known):
        return None
    # the placebo takes the place of WITHOUT, and the comparison is the one that decides
    attempts = [
        replace(attempt, key=TrialKey(attempt.key.pair, Cohort.WITHOUT))
        if attempt.key.cohort is Cohort.PLACEBO
        else attempt
        for attempt in known
    ]
    tables = tables_of(plan, final_trials(attempts))
    if not tables:
        return None
    if plan.tasks:
        tasks = [task for task in task_results(plan, k, attempts) if task.with_.valid and task.without.valid]
        difference, interval = gain_of(tasks)
    else:
        x1, n1, x2, n2 = tables[0]
        difference, interval = float(Fraction(x1, n1) - Fraction(x2, n2)), newcombe(*tables[0])
    return PlaceboFinding(difference=difference, interval=interval, p_value=gain_p(tables))


def beats_placebo(plan: Plan, found: PlaceboFinding) -> bool:
    """True if the trials show at the plan's alpha that WITH passes more often than the placebo."""
    return found.p_value is not None and _proves(found.p_value, plan.alpha)


def by_cost(cost: CostFinding) -> Verdict:
    """KEEP what succeeds as often and is shown to be cheaper, CUT what is shown to cost as much or more."""
    if cost.non_inferior and cost.upper is not None and cost.upper < 1:
        return "keep"
    return "cut" if cost.lower is not None and cost.lower >= 1 else "inconclusive"


def tables_of(plan: Plan, trials: Iterable[TrialRecord]) -> list[Table]:
    """A table for each task that has valid trials in both cohorts, in the order of the tasks."""
    counts = [{cohort: [0, 0] for cohort in SIDES} for _ in plan.works]
    for trial in trials:
        if trial.valid:
            cell = counts[trial.key.pair % len(counts)][trial.key.cohort]
            cell[0] += trial.outcome is Outcome.PASS
            cell[1] += 1
    tables = [(*count[Cohort.WITH], *count[Cohort.WITHOUT]) for count in counts]
    return [(x1, n1, x2, n2) for x1, n1, x2, n2 in tables if n1 and n2]


def gain_p(tables: Sequence[Table]) -> float:
    """The exact p of "WITH passes more often": Boschloo's for one table, Cochran-Mantel-Haenszel's for several."""
    return boschloo(*tables[0]) if len(tables) == 1 else cmh_exact_one_sided(tables)


def _pooled(plan: Plan, trials: Sequence[TrialRecord]) -> Table | None:
    """One table of all tasks, of complete pairs where there are several, so that every task counts alike in both
    cohorts; None if there is no such pair.

    If each task gained at least delta, so did their mean; and trials of tasks that differ spread less than as many
    of one task with the mean rate (Hoeffding 1956), so the test of one table errs on the side of not cutting.
    """
    if plan.tasks:
        whole = complete_pairs(trials)
        trials = [trial for trial in trials if trial.key.pair in whole]
    sums = [sum(cell) for cell in zip(*tables_of(plan, trials), strict=True)]
    return (sums[0], sums[1], sums[2], sums[3]) if sums else None


def _proves(p: float, level: float) -> bool:
    """True if even the largest value that the computed p may stand for is within the level."""
    return p * (1 + PRECISION) <= level


def _keeps(plan: Plan, trials: Sequence[TrialRecord]) -> bool:
    """Whether these trials, one for each key, would be a KEEP by themselves; of cheaper ones: as good as needed."""
    if plan.objective == "cost":
        return _as_good(plan, trials)
    if plan.until_decided:
        return course_of(plan, trials).end == "keep"
    return _proves(gain_p(tables_of(plan, trials)), plan.alpha)


def _as_good(plan: Plan, trials: Sequence[TrialRecord]) -> bool:
    """Whether these trials show that success is no worse by more than the margin."""
    if plan.until_decided:
        course = Course(plan)
        for pair in pairs_of(trials):
            course.count(pair)
        return course.fits()
    pooled = _pooled(plan, trials)
    return pooled is not None and _proves(noninferior(*pooled, plan.margin), plan.alpha)


@dataclass(frozen=True, slots=True)
class VoidBalance:
    """How the trials with at least one void attempt are spread over the cohorts.

    `p` is Fisher's two-sided p; `flips` if a KEEP rests on which trials stayed void.
    """

    with_trials: int
    without_trials: int
    p: float
    flips: bool

    @property
    def upset(self) -> bool:
        """True if the voids could have made a difference that the component did not."""
        return self.flips or self.p < VOID_ALPHA


def void_balance(plan: Plan, attempts: Sequence[TrialRecord]) -> VoidBalance:
    """Whether voids hit the cohorts alike, and whether a KEEP would stand if every void had gone against it.

    Against it: the WITH trials that stayed void count as failures and the WITHOUT ones as passes.
    """
    ran: dict[Cohort, set[int]] = {cohort: set() for cohort in SIDES}
    hit: dict[Cohort, set[int]] = {cohort: set() for cohort in SIDES}
    for attempt in attempts:
        ran[attempt.key.cohort].add(attempt.key.pair)
        if not attempt.valid:
            hit[attempt.key.cohort].add(attempt.key.pair)
    hit_on, hit_off = len(hit[Cohort.WITH]), len(hit[Cohort.WITHOUT])
    ran_on, ran_off = len(ran[Cohort.WITH]), len(ran[Cohort.WITHOUT])
    p = fisher_two_sided(hit_on, ran_on, hit_off, ran_off) if ran_on and ran_off else 1.0
    trials = final_trials(attempts)
    worst = [trial if trial.valid else replace(trial, outcome=AGAINST[trial.key.cohort]) for trial in trials]
    stayed = any(not trial.valid for trial in trials)
    flips = stayed and _keeps(plan, trials) and not _keeps(plan, worst)
    return VoidBalance(hit_on, hit_off, p, flips)


def weights_agree(
    plan: Plan, tasks: Sequence[TaskResult], verdict: Verdict, interval: tuple[float, float] | None
) -> bool:
    """False if tasks of different weights were tested alike, and the weighted gain does not say the same.

    The exact tests know no weights. So where there are some, a KEEP also takes a weighted gain whose interval lies
    above 0, and a CUT one whose interval ends below delta: both tests have to agree, which raises no error rate.
    """
    if plan.objective == "cost" or len({task.weight for task in tasks}) < 2 or interval is None:
        return True
    if verdict == "keep":
        return interval[0] > 0
    return verdict != "cut" or interval[1] < plan.delta


def complete_pairs(trials: Iterable[TrialRecord]) -> set[int]:
    """The pairs that have two valid trials."""
    valid: dict[Cohort, set[int]] = {cohort: set() for cohort in SIDES}
    for trial in trials:
        if trial.valid:
            valid[trial.key.cohort].add(trial.key.pair)
    return valid[Cohort.WITH] & valid[Cohort.WITHOUT]


def trials_needed(plan: Plan, on: Fraction, off: Fraction) -> int | None:
    """The k per cohort that would show the gain seen, or delta if that is larger, with power .80.

    With several tasks it is the k of each; for a run that stops as soon as it is clear, about the pairs to allow.
    None if less than delta is left to gain, or if it would take more trials than are ever planned.
    """
    needed = needed_for(on, off, alpha=plan.alpha, delta=plan.delta)
    if needed is None:
        return None
    return ceil(needed * FOR_LOOKS) if plan.until_decided else ceil(needed / len(plan.works))


def needed_for(on: Fraction, off: Fraction, *, alpha: float, delta: float) -> int | None:
    """`trials_needed` for one task and a fixed number of trials."""
    least, base = Fraction(str(delta)), planned_base(off)
    if 1 - base < least:
        return None
    return needed_k(float(base), float(min(Fraction(1), base + max(least, on - off))), alpha=alpha)


def planned_base(off: Fraction) -> Fraction:
    """The WITHOUT rate that trials are planned for."""
    return min(max(off, LOWEST), HIGHEST)
