"""From the recorded attempts to what a cohort did: counts, rates, economics. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import reduce
from math import fsum
from operator import add
from typing import Any

from kcut.model.artifact import CohortSummary, PhaseTimes, TaskResult, TokenCounts, TrialRow
from kcut.model.outcome import SIDES, Cohort, Outcome
from kcut.model.plan import Plan
from kcut.model.trial import PHASES, Tokens, TrialKey, TrialRecord
from kcut.stats.estimators import median, pass_at_k, pass_hat_k
from kcut.stats.intervals import newcombe, wilson

#: A sum beyond this is no count that an artifact can hold: unknown.
LARGEST = 2**53


def of_cohort(attempts: Iterable[TrialRecord], cohort: Cohort) -> tuple[TrialRecord, ...]:
    """The attempts of one cohort."""
    return tuple(attempt for attempt in attempts if attempt.key.cohort is cohort)


def cohorts_of(attempts: Iterable[TrialRecord]) -> tuple[Cohort, ...]:
    """Both sides of the comparison, and a placebo if there is one."""
    placebo = any(attempt.key.cohort is Cohort.PLACEBO for attempt in attempts)
    return (*SIDES, Cohort.PLACEBO) if placebo else SIDES


def compared(attempts: Iterable[TrialRecord]) -> tuple[TrialRecord, ...]:
    """The attempts of the sides that are compared: all but a placebo's."""
    return tuple(attempt for attempt in attempts if attempt.key.cohort in SIDES)


def final_trials(attempts: Iterable[TrialRecord]) -> tuple[TrialRecord, ...]:
    """The last attempt of each trial, in the order of pair and position; earlier attempts were void."""
    last: dict[TrialKey, TrialRecord] = {}
    for attempt in attempts:
        known = last.get(attempt.key)
        if known is None or attempt.attempt > known.attempt:
            last[attempt.key] = attempt
    return tuple(sorted(last.values(), key=lambda trial: (trial.key.pair, trial.position, trial.key.cohort)))


def summarise(k: int, attempts: Sequence[TrialRecord]) -> CohortSummary:
    """One cohort of k planned trials, from every attempt at them, in any order.

    Sums are over the valid trials and None as soon as one of them is unknown, or none is valid; so is the median of
    the turns. The void attempts' cost is apart: 0 without any, None if one is unknown.
    """
    trials = final_trials(attempts)
    valid = [trial for trial in trials if trial.valid]
    n = len(valid)
    successes = sum(trial.outcome is Outcome.PASS for trial in valid)
    cost = _total([trial.usage.cost_usd for trial in valid])
    turns = [trial.usage.turns for trial in valid if trial.usage.turns is not None]
    void_costs = [attempt.usage.cost_usd for attempt in attempts if not attempt.valid]
    return CohortSummary(
        k=k,
        valid=n,
        successes=successes,
        pass_at=successes >= 1,
        pass_caret=n == k == successes,
        success_rate=successes / n if n else None,
        rate_interval=wilson(successes, n),
        pass_at_k=pass_at_k(n, successes, k) if k else None,
        pass_hat_k=pass_hat_k(n, successes, k) if k else None,
        total_cost_usd=cost,
        mean_cost_per_trial=None if cost is None else cost / n,
        cost_per_success=cost / successes if cost is not None and successes else None,
        tokens=_tokens(valid),
        median_wall_ms=median([trial.wall_ms for trial in valid]),
        median_turns=median(turns) if len(turns) == n else None,
        voids=dict(sorted(Counter(str(trial.reason) for trial in trials if not trial.valid).items())),
        void_attempts=len(void_costs),
        void_cost_usd=_total(void_costs) if void_costs else 0.0,
    )


def task_results(plan: Plan, pairs: int, attempts: Sequence[TrialRecord]) -> tuple[TaskResult, ...]:
    """Each task of several by itself, from every attempt at the first `pairs` pairs; empty for a single task."""
    if not plan.tasks:
        return ()
    number = len(plan.tasks)
    results = []
    for place, work in enumerate(plan.tasks):
        mine = [attempt for attempt in attempts if attempt.key.pair % number == place]
        k = len(range(place, pairs, number))
        on, off = (summarise(k, of_cohort(mine, cohort)) for cohort in SIDES)
        cohorts: dict[str, Any] = {"with": on}  # no name that Python would take
        result = TaskResult(
            name=work.name, weight=work.weight, task=work.task, score=work.score_line, without=off, **cohorts
        )
        difference, interval = gain_of([result])
        results.append(result.model_copy(update={"difference": difference, "interval": interval}))
    return tuple(results)


def averaged(cohort: CohortSummary, parts: Sequence[tuple[float, CohortSummary]]) -> CohortSummary:
    """A cohort of several tasks: its rate, pass@k and pass^k are the weighted means of the tasks', counts are sums.

    The interval of the rate is that of one task with as many trials as make a mean as precise as this.
    """
    rate, size = _mean_rate(parts)
    return cohort.model_copy(
        update={
            "success_rate": rate,
            "rate_interval": None if rate is None else wilson(rate * size, size),
            "pass_at_k": _weighted([(weight, part.pass_at_k) for weight, part in parts]),
            "pass_hat_k": _weighted([(weight, part.pass_hat_k) for weight, part in parts]),
        }
    )


def gain_of(tasks: Sequence[TaskResult]) -> tuple[float | None, tuple[float, float] | None]:
    """The weighted mean of the tasks' differences, and its 95 % interval (Newcombe's, of the mean rates)."""
    on, size_on = _mean_rate([(task.weight, task.with_) for task in tasks])
    off, size_off = _mean_rate([(task.weight, task.without) for task in tasks])
    if on is None or off is None:
        return None, None
    return on - off, newcombe(on * size_on, size_on, off * size_off, size_off)


def _mean_rate(parts: Sequence[tuple[float, CohortSummary]]) -> tuple[float | None, float]:
    """The weighted mean rate, and the trials of one task whose rate would be as precise; None if a task has none.

    A mean of rates of n_i trials with weights w_i has the variance of (sum w)^2 / sum(w^2 / n_i) trials, if the
    rates are alike; if they differ, it has less.
    """
    rate = _weighted([(weight, part.success_rate) for weight, part in parts])
    if rate is None:
        return None, 0.0
    total = fsum(weight for weight, _ in parts)
    return rate, total**2 / fsum(weight**2 / (part.valid or part.k) for weight, part in parts)


def _weighted(parts: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(weight, value) for weight, value in parts if value is not None]
    if not known or len(known) < len(parts):
        return None
    return fsum(weight * value for weight, value in known) / fsum(weight for weight, _ in known)


def _total(costs: Sequence[float | None]) -> float | None:
    """The sum, None if one is unknown or there is none."""
    known = [cost for cost in costs if cost is not None]
    return fsum(known) if known and len(known) == len(costs) else None


def _tokens(valid: Sequence[TrialRecord]) -> TokenCounts | None:
    known = [trial.usage.tokens for trial in valid if trial.usage.tokens is not None]
    if not known or len(known) < len(valid):
        return None
    total = reduce(add, known)
    return (
        _counts(total) if max(total.input, total.output, total.cache_read, total.cache_creation) < LARGEST else None
    )


def _counts(tokens: Tokens | None) -> TokenCounts | None:
    if tokens is None:
        return None
    return TokenCounts(
        input=tokens.input,
        output=tokens.output,
        cache_read=tokens.cache_read,
        cache_creation=tokens.cache_creation,
    )


def trial_rows(plan: Plan, attempts: Sequence[TrialRecord]) -> tuple[TrialRow, ...]:
    """The artifact's row of each trial, from every attempt of both cohorts, in the order of pair and position."""
    tries = Counter(attempt.key for attempt in attempts)
    return tuple(
        _row(trial, tries[trial.key], plan.work(trial.key.pair).name or None) for trial in final_trials(attempts)
    )


def _row(trial: TrialRecord, attempts: int, task: str | None) -> TrialRow:
    return TrialRow(
        pair=trial.key.pair,
        cohort=trial.key.cohort.value,
        index=trial.key.pair,
        position=trial.position,
        attempts=attempts,
        outcome=trial.outcome.value,
        reason=None if trial.reason is None else trial.reason.value,
        late=trial.late,
        task_exit=trial.task_exit,
        score_exit=trial.score_exit,
        wall_ms=trial.wall_ms,
        phases_ms=PhaseTimes(**{phase: trial.phases_ms.get(phase, 0.0) for phase in PHASES}),
        cost_usd=trial.usage.cost_usd,
        turns=trial.usage.turns,
        tokens=_counts(trial.usage.tokens),
        timed_out=trial.timed_out,
        task=task,
        used=trial.used,
        tamper=trial.tamper,
        retries=trial.retries,
        rounds=trial.rounds or None,
        resolved=trial.resolved,
    )
