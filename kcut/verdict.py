"""From a run's record to its verdict: the artifact is a view of what was recorded. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kcut.cautions import VOID_ADVICE, blocks_start, of_placebo, of_run, of_verdict, void_advice
from kcut.course import course_of
from kcut.decision import against_placebo, decide
from kcut.model.artifact import (
    SCHEMA_VERSION,
    Artifact,
    Base,
    CohortSummary,
    Decision,
    Environment,
    Order,
    TaskResult,
    Verdict,
    Warn,
)
from kcut.model.outcome import Cohort, Void
from kcut.model.plan import Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord
from kcut.rates import point_rule, rate_of
from kcut.schedule import runs_again
from kcut.stats.binomial import binomial_bound
from kcut.summary import averaged, compared, final_trials, of_cohort, summarise, task_results, trial_rows
from kcut.treatment import of_treatment, rework_of, treatment_of

#: A run that goes on until it is decided ends invalid if more than a quarter of so many pairs stay void.
UNCAPPED_K = 20


@dataclass(frozen=True, slots=True)
class Invalid:
    """Why a run can carry no verdict: the kind of cause, one sentence, and what to do."""

    cause: str
    note: str
    advice: str

    @property
    def warn(self) -> Warn:
        """The same as a warning."""
        return Warn(code="invalid", evidence={"cause": self.cause}, advice=self.advice)


def early_invalid(plan: Plan, final: Iterable[TrialRecord]) -> str | None:
    """One sentence as soon as the run can only end invalid, else None.

    `final` holds the trials that ended for good, each with its last attempt (earlier ones do no harm), in any order.
    """
    trials = final_trials(final)
    # a run without an end is judged by as many pairs as most runs have, or by those it has
    k = plan.pairs if plan.capped else max(UNCAPPED_K, len(trials) // len(plan.cohorts))
    found = _spoilt(plan, k, trials)
    return found.note if found else None


def _spoilt(plan: Plan, k: int, trials: Sequence[TrialRecord]) -> Invalid | None:
    """What no later trial can mend: cohorts that were not what they should be, or too many voids."""
    void = {cohort: [trial for trial in of_cohort(trials, cohort) if not trial.valid] for cohort in plan.cohorts}
    astray = {
        cohort: number
        for cohort, found in void.items()
        if (number := sum(trial.reason is Void.MANIPULATION for trial in found))
    }
    if astray:
        parts = [f"{_ASTRAY[cohort]} in {_trials(number, cohort)}" for cohort, number in astray.items()]
        advice = VOID_ADVICE[Void.MANIPULATION]
        if plan.toggle is not None:
            advice = (
                f"see why in kcut show last: --setup may undo it, or {plan.component} needs what no trial has "
                "(commit that, or bring it with --copy)"
            )
        return Invalid("manipulation", f"the component {' and '.join(parts)}", advice)
    over = {cohort: found for cohort, found in void.items() if 4 * len(found) > k}
    if not over:
        return None
    parts = [f"{len(found)} of {k} {cohort.name} trials ({_reasons(found)})" for cohort, found in over.items()]
    note = f"more than a quarter of a cohort stayed void: {' and '.join(parts)}"
    reasons: dict[str, int] = {}
    for trial in (trial for found in over.values() for trial in found):
        reasons[str(trial.reason)] = reasons.get(str(trial.reason), 0) + 1
    if blocks_start(trials):
        note += "; the component itself may keep the agent from starting"
    return Invalid("voids", note, void_advice(reasons, jobs=plan.jobs))


#: What it means that a cohort was not as it should be.
_ASTRAY = {
    Cohort.WITH: "was missing",
    Cohort.WITHOUT: "was present",
    Cohort.PLACEBO: "was not as its placebo should be",
}


def _trials(number: int, cohort: Cohort) -> str:
    return f"{number} {cohort.name} trial{'s' * (number != 1)}"


def _reasons(void: Iterable[TrialRecord]) -> str:
    return ", ".join(sorted({str(trial.reason) for trial in void}))


def _invalid(run: RunRecord, counted: "_Counted") -> Invalid | None:
    """Why this run can carry no verdict, None if it can."""
    trials, rates = final_trials(counted.attempts), counted.cohorts
    resume = f"go on with: kcut {'aa' if run.plan.aa else 'benchmark'} --resume {run.run_id}"
    found = _spoilt(run.plan, counted.k, trials)
    ended, planned = len(trials), len(run.plan.cohorts) * counted.k
    if run.state == "interrupted":  # a void that would have been run again spoils nothing yet
        done = sum(not runs_again(run.plan, trial) for trial in trials)
        return Invalid("interrupted", f"the run was stopped after {done} of {planned} trials", resume)
    if found is not None and run.note in {None, found.note}:
        return found
    if run.note is not None or run.state == "invalid":
        return Invalid("run", run.note or "the run could not be carried out", "mend the cause, and start a new run")
    if ended < planned and not any(warn.code == "budget-stop" for warn in run.warnings):
        return Invalid("incomplete", f"only {ended} of {planned} trials have ended", resume)
    empty = [name for name, cohort in zip(("WITH", "WITHOUT"), rates, strict=True) if rate_of(cohort) is None]
    if counted.placebo is not None and rate_of(counted.placebo) is None:
        empty.append("PLACEBO")
    if empty:
        return Invalid("no-trials", f"no {' and no '.join(empty)} trial is valid", "run again when trials can start")
    for task in counted.tasks:
        if rate_of(task.with_) is None or rate_of(task.without) is None:
            note = f"task {task.name} has no valid trial in one of the cohorts"
            return Invalid("no-trials", note, "run again with more trials for each task")
    if all(trial.score_broken for trial in trials if trial.valid):
        if run.plan.score_line is None:
            note = "the task could not run in any trial (exit 126: not executable, 127: not found)"
            return Invalid("scorer", note, "check the task's name, and that it is committed and executable")
        note = "the score could not run in any trial (exit 126 or 127, or its time limit)"
        return Invalid("scorer", note, "make the score run in a fresh worktree, then run again")
    return None


def assemble(run: RunRecord, attempts: Sequence[TrialRecord]) -> Artifact:
    """The artifact of a run, from every attempt at its trials, in any order.

    A run that is invalid, was stopped or has not ended gives the same shape with the verdict `invalid`,
    `pass: false` and the cause as its reason; such an artifact is not for saving.
    """
    plan = run.plan
    counted = _counted(plan, attempts, partial=any(warn.code == "budget-stop" for warn in run.warnings))
    summaries = (*counted.cohorts, *(() if counted.placebo is None else (counted.placebo,)))
    with_, without, *others = (
        side.model_copy(update={"rework": rework_of(plan, counted.attempts, cohort)})
        for side, cohort in zip(summaries, plan.cohorts, strict=True)
    )
    ruling = _rule(run, counted)
    keywords: dict[str, Any] = {"with": with_, "pass": ruling.passed}  # no names that Python would take
    return Artifact(
        schema_version=SCHEMA_VERSION,
        component=plan.component,
        k=counted.k,
        task=plan.task,
        score=plan.score_line,
        without=without,
        reason=ruling.reason,
        rule=plan.rule,
        decision=ruling.decision,
        run_id=run.run_id,
        ts=run.ts,
        treatment=treatment_of(plan, counted.attempts),
        component_digest=None if plan.toggle is None else plan.toggle.digest,
        base=Base(commit=plan.checkout.base, dirty=plan.checkout.dirty),
        isolation=plan.checkout.isolation,
        order=Order(seed=plan.seed),
        environment=_environment(run.environment, attempts),
        placebo=others[0] if others else None,
        tasks=counted.tasks,
        trials=trial_rows(plan, attempts),
        max_k=plan.k if plan.until_decided and plan.capped else None,
        **keywords,
    )


@dataclass(frozen=True, slots=True)
class AgainstItself:
    """How many benchmarks of a component against itself ended in KEEP, and the most that chance explains."""

    runs: int
    keeps: int
    bound: int

    @property
    def accept(self) -> bool:
        """True if there are no more than that."""
        return self.keeps <= self.bound


def against_itself(plan: Plan, attempts: Sequence[TrialRecord]) -> AgainstItself:
    """The benchmarks of an A/A run, each decided by itself; one with an empty cohort is no KEEP.

    `bound` is the number of KEEPs that runs with a false-keep rate of alpha stay within in 95 of 100 cases.
    """
    single = plan.model_copy(update={"aa": 0})
    parts: dict[int, list[TrialRecord]] = {}
    for attempt in attempts:
        parts.setdefault(attempt.key.pair // single.pairs, []).append(attempt)
    keeps = 0
    for part in parts.values():
        counted = _counted(single, part)
        cohorts = [*counted.cohorts, *(side for task in counted.tasks for side in (task.with_, task.without))]
        if all(rate_of(cohort) is not None for cohort in cohorts):
            keeps += decide(single, part, *counted.cohorts, counted.tasks).verdict == "keep"
    return AgainstItself(plan.aa, keeps, binomial_bound(plan.aa, plan.alpha))


@dataclass(frozen=True, slots=True)
class _Counted:
    """What counts: the pairs up to the decision. `k` of them were planned; `after` trials ended later.

    `cohorts` are the sides that are compared, `placebo` the third cohort, where the run has one.
    """

    k: int
    attempts: tuple[TrialRecord, ...]
    after: int
    cohorts: tuple[CohortSummary, CohortSummary]
    placebo: CohortSummary | None
    tasks: tuple[TaskResult, ...]


def _counted(plan: Plan, attempts: Sequence[TrialRecord], *, partial: bool = False) -> _Counted:
    """All pairs; of a run that stops as soon as it is clear, those up to where it was, if that has been reached.

    `partial`: the run ended before all planned pairs, so a task may have had no turn.
    """
    k, counted = plan.pairs, tuple(attempts)
    if plan.until_decided:
        course = course_of(plan, attempts)
        k = course.seen if course.over or not plan.capped else k
        counted = tuple(attempt for attempt in attempts if attempt.key.pair < k)
    on, off, *others = (summarise(k, of_cohort(counted, cohort)) for cohort in plan.cohorts)
    tasks = task_results(plan, k, counted)
    if plan.until_decided or partial:  # it may have ended before every task had its turn
        tasks = tuple(task for task in tasks if task.with_.valid and task.without.valid)
    if tasks:
        on = averaged(on, [(task.weight, task.with_) for task in tasks])
        off = averaged(off, [(task.weight, task.without) for task in tasks])
    after = {attempt.key for attempt in attempts} - {attempt.key for attempt in counted}
    placebo = others[0] if others else None
    if placebo is not None and tasks:
        placebo = averaged(placebo, [(task.weight, part) for task, part in _of_placebo(plan, k, counted, tasks)])
    return _Counted(k, counted, len(after), (on, off), placebo, tasks)


def _of_placebo(
    plan: Plan, k: int, attempts: Sequence[TrialRecord], tasks: Sequence[TaskResult]
) -> Iterator[tuple[TaskResult, CohortSummary]]:
    """What the placebo's trials of each of some tasks came to."""
    names = [work.name for work in plan.works]
    for task in tasks:
        place = names.index(task.name)
        mine = [each for each in of_cohort(attempts, Cohort.PLACEBO) if each.key.pair % len(names) == place]
        yield task, summarise(len(range(place, k, len(names))), mine)


@dataclass(frozen=True, slots=True)
class _Ruling:
    passed: bool
    reason: str
    decision: Decision


def _rule(run: RunRecord, counted: _Counted) -> _Ruling:
    """Both rules applied, all warnings in place."""
    plan, attempts, sides = run.plan, counted.attempts, compared(counted.attempts)
    with_, without = counted.cohorts
    invalid = _invalid(run, counted)
    warnings = [*run.warnings]
    if invalid is not None:
        warnings += [invalid.warn, *of_run(attempts), *of_treatment(plan, attempts)]
        decision = Decision(verdict="invalid", alpha=plan.alpha, delta=plan.delta, warnings=tuple(warnings))
        return _Ruling(False, invalid.note, decision)
    point = point_rule(with_, without, plan.min_gain, counted.tasks)
    decision = decide(plan, sides, with_, without, counted.tasks)
    known: dict[str, Any] = {"point": point, "decision": decision, "tasks": counted.tasks}
    found = of_verdict(plan, sides, with_, without, **known, placebo=counted.placebo)
    warnings += [*of_run(attempts), *of_treatment(plan, attempts), *found]
    if counted.placebo is not None:
        decision = decision.model_copy(update={"placebo": against_placebo(plan, counted.k, attempts)})
        passed = point.passed or decision.verdict == "keep"
        warnings += of_placebo(plan, with_, counted.placebo, decision, passed=passed)
    decision = decision.model_copy(update={"after": counted.after or None, "warnings": tuple(warnings)})
    if plan.rule == "point":
        return _Ruling(point.passed, point.reason, decision)
    words = _CHEAPER if plan.objective == "cost" else _EVIDENCE
    return _Ruling(decision.verdict == "keep", f"by the evidence rule: {words[decision.verdict]}", decision)


_EVIDENCE: dict[Verdict, str] = {
    "keep": "the component improves the success rate",
    "cut": "a benefit of the size asked for is ruled out",
    "inconclusive": "the trials do not settle whether the component helps",
}
_CHEAPER: dict[Verdict, str] = {
    "keep": "the component succeeds as often, and costs less",
    "cut": "the component does not cost less",
    "inconclusive": "the trials do not settle whether the component costs less and succeeds as often",
}


def _environment(known: Environment, attempts: Iterable[TrialRecord]) -> Environment:
    """What ran, with the agent, its version and its model as far as the trials agree on them."""
    agents, versions, models = set(), set(), set()
    for attempt in attempts:
        agents.add(attempt.agent)
        versions.add(attempt.usage.agent_version)
        models.add(attempt.usage.model)
    update = {
        "agent": known.agent or _only(agents),
        "agent_version": known.agent_version or _only(versions),
        "model": known.model or _only(models),
    }
    return known.model_copy(update=update)


def _only(values: set[str | None]) -> str | None:
    """The one known value, None if there is none or more than one."""
    known = values - {None}
    return known.pop() if len(known) == 1 else None
