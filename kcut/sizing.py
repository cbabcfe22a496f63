"""Whether there were enough trials to decide, and how many there should be: warnings with their advice. Pure."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from kcut.course import course_of
from kcut.decision import planned_base
from kcut.model.artifact import CohortSummary, Decision, TaskResult, Warn
from kcut.model.plan import Plan
from kcut.model.trial import TrialRecord
from kcut.rates import rate_of, rates_of, saturation, trials_of
from kcut.stats.intervals import newcombe
from kcut.stats.planning import MOST

#: More trials narrow an interval by little: fewer than half as many again are not worth asking for.
WORTHWHILE = Fraction(3, 2)
#: A KEEP whose gain is known less precisely than this is worth more trials.
WIDE = 0.5


def of_evidence(
    plan: Plan,
    attempts: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    decision: Decision,
    *,
    upset: bool,
    tasks: Sequence[TaskResult] = (),
) -> Iterator[Warn]:
    """What a reader should know of how far the evidence goes. `upset`: voids may have made the difference."""
    valid = min(trials_of(with_), trials_of(without))
    if valid < 3:
        yield _exploratory(plan, decision, valid)
    elif plan.objective == "cost":
        yield from _of_costs(plan, decision)
    elif plan.until_decided:
        yield from _of_course(plan, attempts, with_, without, decision)
    elif decision.verdict == "keep":
        yield from _few_for_size(plan, with_, without)
    elif decision.verdict == "inconclusive":
        on, off = rates_of(with_, without, tasks)
        if off != 1 and saturation(with_, without) is None:  # more trials of a saturated task would show no more
            per_task = valid // len(plan.works)
            yield from _few(plan, decision, on or Fraction(0), off or Fraction(0), per_task, upset=upset)
    below = decision.interval is not None and decision.interval[1] < 0
    if (decision.verdict == "cut" and (decision.difference or 0) < 0 and plan.objective == "success") or below:
        yield from _harm(plan, attempts, decision, below=below)


def _exploratory(plan: Plan, decision: Decision, valid: int) -> Warn:
    advised = "--max-k 20" if plan.until_decided else f"--k {max(decision.needed_k or 5, 5)}"
    return Warn(
        code="exploratory",
        evidence={"valid": valid, "needed": decision.needed_k},
        advice=f"fewer than 3 trials per cohort prove nothing: run again with {advised}",
    )


def _of_costs(plan: Plan, decision: Decision) -> Iterator[Warn]:
    cost = decision.cost
    if cost is None or cost.ratio is None:
        yield Warn(
            code="costs-unknown",
            advice="trials without a cost cannot show a saving: let the task write cost_usd to HARNESS_TRIAL_OUT",
        )
    elif decision.verdict == "inconclusive":
        what = "that it costs less" if cost.non_inferior else f"that success falls by less than {plan.margin:.2f}"
        more = f"--max-k {2 * plan.k}" if plan.until_decided else f"--k {2 * plan.k}"
        yield Warn(
            code="few-trials",
            evidence={"nonInferior": cost.non_inferior, "upper": cost.upper},
            advice=f"the trials do not show {what}: run again with {more} if it still matters",
        )


def _of_course(
    plan: Plan,
    attempts: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    decision: Decision,
) -> Iterator[Warn]:
    """A run that could stop early: what that does to the gain seen, and how to go on where nothing was clear."""
    pairs = decision.pairs or 0
    if decision.verdict == "keep" and pairs < plan.pairs:
        yield Warn(
            code="early-keep",
            evidence={"pairs": pairs, "difference": decision.difference},
            advice="a run that stops at its first clear look overstates the gain: take the interval's lower end as "
            "the promise, or measure the size with --k",
        )
    elif decision.verdict == "inconclusive" and saturation(with_, without) is None:
        if course_of(plan, attempts).end == "hopeless":
            advice = "no further pair could have brought a KEEP: run again with a larger --max-k if it still matters"
        elif plan.anytime:
            advice = "what ran settles nothing yet: go on with more pairs"
        elif decision.needed_k is not None and decision.needed_k > plan.pairs:
            advice = f"run again with --max-k {decision.needed_k}"
        elif decision.needed_k is not None:
            advice = f"run again with --max-k {2 * plan.pairs} if it still matters"
        else:
            advice = "choose a task on which the component matters more, or make it harder"
        yield Warn(code="few-trials", evidence={"pairs": pairs, "needed": decision.needed_k}, advice=advice)


def _harm(plan: Plan, attempts: Sequence[TrialRecord], decision: Decision, *, below: bool) -> Iterator[Warn]:
    """Something that may do damage: WITH passed less often. `below`: its interval lies below 0."""
    evidence = {"difference": decision.difference, "interval": list(decision.interval or ())}
    if plan.confirm_harm and course_of(plan, attempts).harm:
        advice = "the component lowers the success rate: take it out wherever it is used"
        yield Warn(code="harm", evidence=evidence, advice=advice)
        return
    if below:
        advice = "WITH passed less often, and the whole interval of the gain lies below 0: take the component out"
        yield Warn(code="suspected-harm", evidence=evidence, advice=advice)
        return
    how = "run again with a larger --max-k" if plan.confirm_harm else "run again with --until-decided --confirm-harm"
    yield Warn(
        code="suspected-harm",
        evidence=evidence,
        advice=f"WITH passed less often than WITHOUT: to know whether the component does harm, {how}",
    )


def _few_for_size(plan: Plan, with_: CohortSummary, without: CohortSummary) -> Iterator[Warn]:
    """A KEEP whose gain could be large or small."""
    k = _narrowing(with_, without)
    if k is not None:
        k = -(-k // len(plan.works))
        advice = f"the size of the gain is uncertain: run again with --k {k} to narrow it"
        evidence = {"valid": min(trials_of(with_), trials_of(without)), "needed": k}
        yield Warn(code="few-trials", evidence=evidence, advice=advice)


def _few(plan: Plan, decision: Decision, on: Fraction, off: Fraction, valid: int, *, upset: bool) -> Iterator[Warn]:
    """Too few trials of a fixed number; `valid` is how many each task has in the smaller cohort."""
    needed = decision.needed_k
    if upset and needed is not None and needed <= valid:
        return  # there were enough: it is the voids that leave it open
    advice = _more(plan, on, off, valid, needed)
    yield Warn(code="few-trials", evidence={"valid": valid, "needed": needed}, advice=advice)


def _more(plan: Plan, on: Fraction, off: Fraction, valid: int, needed: int | None) -> str:
    """What an inconclusive run asks for: more trials, or another task where no number would do."""
    if needed is None and 1 - planned_base(off) < Fraction(str(plan.delta)):
        return (
            f"WITHOUT passes at {float(off):.2f}, which leaves less than {plan.delta:.2f} to gain: "
            "no number of trials can show that; make the task harder"
        )
    if needed is None:
        return f"it would take more than {MOST} trials per cohort: choose a task on which the component matters more"
    if needed > valid:
        return f"run again with --k {needed}"
    gain = max(plan.delta, float(on - off))  # what the needed trials were computed for
    return (
        f"{needed} trials per cohort show a gain of {gain:.2f} in 4 of 5 runs, so the true one is "
        f"probably smaller: run again with --k {2 * valid} if it still matters"
    )


def _narrowing(with_: CohortSummary, without: CohortSummary) -> int | None:
    """The smallest k at which these rates would have an interval of WIDE; None if theirs is no wider."""
    on, off = rate_of(with_) or Fraction(0), rate_of(without) or Fraction(0)
    for k in range(min(trials_of(with_), trials_of(without)), MOST):
        interval = newcombe(round(on * k), k, round(off * k), k)
        if interval is not None and interval[1] - interval[0] <= WIDE:
            return k if k >= WORTHWHILE * max(trials_of(with_), trials_of(without)) else None
    return None
