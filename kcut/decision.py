"""The two rules: the point rule compares two rates, the evidence rule asks what they prove. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kcut.model.artifact import CohortSummary, Decision, Verdict
from kcut.model.outcome import Cohort
from kcut.model.plan import Plan
from kcut.model.trial import TrialRecord
from kcut.stats.benefit import benefit_below
from kcut.stats.exact import boschloo, fisher_two_sided
from kcut.stats.intervals import newcombe
from kcut.stats.maximum import PRECISION
from kcut.stats.planning import needed_k

#: The WITHOUT rate that trials are planned for lies within these: a few trials never prove a rate of 0 or 1.
LOWEST, HIGHEST = Fraction(5, 100), Fraction(95, 100)
#: Numbers of trials with a void attempt that differ this significantly take a KEEP back.
VOID_ALPHA = 0.10


@dataclass(frozen=True, slots=True)
class Point:
    """What the point rule says, and in one clause why."""

    passed: bool
    reason: str


def point_rule(with_: CohortSummary, without: CohortSummary, min_gain: str | None = None) -> Point:
    """Pass if WITH has the higher rate; with `min_gain`, an exact decimal or fraction, if it is higher by that much.

    All fractions are exact. A cohort without a valid trial fails.
    """
    on, off = rate_of(with_), rate_of(without)
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


def saturation(with_: CohortSummary, without: CohortSummary) -> str | None:
    """`passed` if all trials of both cohorts did, `failed` likewise, else None."""
    on, off = rate_of(with_), rate_of(without)
    if on == off == 1:
        return "passed"
    return "failed" if on == off == 0 else None


def decide(plan: Plan, attempts: Sequence[TrialRecord], with_: CohortSummary, without: CohortSummary) -> Decision:
    """What the evidence of a fixed number of trials supports; without warnings. Both cohorts have valid trials.

    KEEP if Boschloo's one-sided p is at most alpha, unless voids could have made the difference. Else CUT if
    "the benefit is at least delta" is rejected at beta, unless the task let no cohort fail, or none pass.
    """
    n1, n2 = trials_of(with_), trials_of(without)
    table = (with_.successes, n1, without.successes, n2)
    p_value, p_cut = boschloo(*table), benefit_below(*table, plan.delta)
    verdict: Verdict = "inconclusive"
    if _proves(p_value, plan.alpha):
        if not void_balance(plan, attempts, with_, without).upset:
            verdict = "keep"
    elif _proves(p_cut, plan.beta) and saturation(with_, without) is None:
        verdict = "cut"
    on, off = Fraction(with_.successes, n1), Fraction(without.successes, n2)
    return Decision(
        verdict=verdict,
        method="boschloo",
        alpha=plan.alpha,
        delta=plan.delta,
        p_value=p_value,
        p_value_cut=p_cut,
        difference=float(on - off),
        interval=newcombe(*table),
        needed_k=trials_needed(plan, on, off) if verdict == "inconclusive" else None,
        pairs=complete_pairs(attempts),
    )


def _proves(p: float, level: float) -> bool:
    """True if even the largest value that the computed p may stand for is within the level."""
    return p * (1 + PRECISION) <= level


def void_balance(
    plan: Plan, attempts: Iterable[TrialRecord], with_: CohortSummary, without: CohortSummary
) -> VoidBalance:
    """Whether voids hit the cohorts alike, and whether a KEEP would stand if every void had gone against it.

    Against it: the WITH trials that stayed void count as failures and the WITHOUT ones as passes.
    """
    ran: dict[Cohort, set[int]] = {cohort: set() for cohort in Cohort}
    hit: dict[Cohort, set[int]] = {cohort: set() for cohort in Cohort}
    for attempt in attempts:
        ran[attempt.key.cohort].add(attempt.key.pair)
        if not attempt.valid:
            hit[attempt.key.cohort].add(attempt.key.pair)
    hit_on, hit_off = len(hit[Cohort.WITH]), len(hit[Cohort.WITHOUT])
    ran_on, ran_off = len(ran[Cohort.WITH]), len(ran[Cohort.WITHOUT])
    p = fisher_two_sided(hit_on, ran_on, hit_off, ran_off) if ran_on and ran_off else 1.0
    void_on, void_off = sum(with_.voids.values()), sum(without.voids.values())
    n1, n2 = trials_of(with_), trials_of(without)
    flips = False
    if (void_on or void_off) and n1 and n2:
        seen = boschloo(with_.successes, n1, without.successes, n2)
        worst = boschloo(with_.successes, n1 + void_on, without.successes + void_off, n2 + void_off)
        flips = _proves(seen, plan.alpha) and not _proves(worst, plan.alpha)
    return VoidBalance(hit_on, hit_off, p, flips)


def complete_pairs(attempts: Iterable[TrialRecord]) -> int:
    """How many pairs have two valid trials."""
    valid: dict[Cohort, set[int]] = {cohort: set() for cohort in Cohort}
    for attempt in attempts:
        if attempt.valid:
            valid[attempt.key.cohort].add(attempt.key.pair)
    return len(valid[Cohort.WITH] & valid[Cohort.WITHOUT])


def trials_needed(plan: Plan, on: Fraction, off: Fraction) -> int | None:
    """The k per cohort that would show the gain seen, or delta if that is larger, with power .80.

    None if less than delta is left to gain, or if it would take more trials than are ever planned.
    """
    delta = Fraction(str(plan.delta))
    base = planned_base(off)
    if 1 - base < delta:
        return None
    return needed_k(float(base), float(min(Fraction(1), base + max(delta, on - off))), alpha=plan.alpha)


def planned_base(off: Fraction) -> Fraction:
    """The WITHOUT rate that trials are planned for."""
    return min(max(off, LOWEST), HIGHEST)
