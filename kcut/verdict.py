"""From a run's record to its verdict: the artifact is a view of what was recorded. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kcut.cautions import VOID_ADVICE, blocks_start, of_run, of_verdict, void_advice
from kcut.decision import decide, point_rule, rate_of
from kcut.model.artifact import (
    SCHEMA_VERSION,
    Artifact,
    Base,
    CohortSummary,
    Decision,
    Environment,
    Order,
    Verdict,
    Warn,
)
from kcut.model.outcome import Cohort, Void
from kcut.model.plan import Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord
from kcut.schedule import runs_again
from kcut.summary import final_trials, of_cohort, summarise, trial_rows


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
    found = _spoilt(plan, final_trials(final))
    return found.note if found else None


def _spoilt(plan: Plan, trials: Sequence[TrialRecord]) -> Invalid | None:
    """What no later trial can mend: cohorts that were not what they should be, or too many voids."""
    void = {cohort: [trial for trial in of_cohort(trials, cohort) if not trial.valid] for cohort in Cohort}
    missed, leaked = (
        sum(trial.reason is Void.MANIPULATION for trial in void[cohort]) for cohort in (Cohort.WITH, Cohort.WITHOUT)
    )
    if missed or leaked:
        parts = [f"was missing in {_trials(missed, Cohort.WITH)}"] if missed else []
        parts += [f"was present in {_trials(leaked, Cohort.WITHOUT)}"] if leaked else []
        return Invalid("manipulation", f"the component {' and '.join(parts)}", VOID_ADVICE[Void.MANIPULATION])
    over = {cohort: found for cohort, found in void.items() if 4 * len(found) > plan.k}
    if not over:
        return None
    parts = [f"{len(found)} of {plan.k} {cohort.name} trials ({_reasons(found)})" for cohort, found in over.items()]
    note = f"more than a quarter of a cohort stayed void: {' and '.join(parts)}"
    reasons: dict[str, int] = {}
    for trial in (trial for found in over.values() for trial in found):
        reasons[str(trial.reason)] = reasons.get(str(trial.reason), 0) + 1
    if blocks_start(trials):
        note += "; the component itself may keep the agent from starting"
    return Invalid("voids", note, void_advice(reasons, jobs=plan.jobs))


def _trials(number: int, cohort: Cohort) -> str:
    return f"{number} {cohort.name} trial{'s' * (number != 1)}"


def _reasons(void: Iterable[TrialRecord]) -> str:
    return ", ".join(sorted({str(trial.reason) for trial in void}))


def _invalid(run: RunRecord, trials: Sequence[TrialRecord], rates: Sequence[CohortSummary]) -> Invalid | None:
    """Why this run can carry no verdict, None if it can."""
    resume = f"go on with: kcut benchmark --resume {run.run_id}"
    found = _spoilt(run.plan, trials)
    ended, planned = len(trials), 2 * run.plan.k
    if run.state == "interrupted":  # a void that would have been run again spoils nothing yet
        done = sum(not runs_again(run.plan, trial) for trial in trials)
        return Invalid("interrupted", f"the run was stopped after {done} of {planned} trials", resume)
    if found is not None and run.note in {None, found.note}:
        return found
    if run.note is not None or run.state == "invalid":
        return Invalid("run", run.note or "the run could not be carried out", "mend the cause, and start a new run")
    if ended < planned and not any(warn.code == "budget-stop" for warn in run.warnings):
        return Invalid("incomplete", f"only {ended} of {planned} trials have ended", resume)
    if any(rate_of(cohort) is None for cohort in rates):
        empty = [name for name, cohort in zip(("WITH", "WITHOUT"), rates, strict=True) if rate_of(cohort) is None]
        return Invalid("no-trials", f"no {' and no '.join(empty)} trial is valid", "run again when trials can start")
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
    with_, without = (summarise(plan.k, of_cohort(attempts, cohort)) for cohort in (Cohort.WITH, Cohort.WITHOUT))
    ruling = _rule(run, attempts, with_, without)
    keywords: dict[str, Any] = {"with": with_, "pass": ruling.passed}  # no names that Python would take
    return Artifact(
        schema_version=SCHEMA_VERSION,
        component=plan.component,
        k=plan.k,
        task=plan.task,
        score=plan.score_line,
        without=without,
        reason=ruling.reason,
        rule=plan.rule,
        decision=ruling.decision,
        run_id=run.run_id,
        ts=run.ts,
        base=Base(commit=plan.checkout.base, dirty=plan.checkout.dirty),
        isolation=plan.checkout.isolation,
        order=Order(seed=plan.seed),
        environment=_environment(run.environment, attempts),
        trials=trial_rows(attempts),
        **keywords,
    )


@dataclass(frozen=True, slots=True)
class _Ruling:
    passed: bool
    reason: str
    decision: Decision


def _rule(run: RunRecord, attempts: Sequence[TrialRecord], with_: CohortSummary, without: CohortSummary) -> _Ruling:
    """Both rules applied, all warnings in place."""
    plan = run.plan
    invalid = _invalid(run, final_trials(attempts), (with_, without))
    warnings = [*run.warnings]
    if invalid is not None:
        warnings += [invalid.warn, *of_run(attempts)]
        decision = Decision(verdict="invalid", alpha=plan.alpha, delta=plan.delta, warnings=tuple(warnings))
        return _Ruling(False, invalid.note, decision)
    point = point_rule(with_, without, plan.min_gain)
    decision = decide(plan, attempts, with_, without)
    warnings += [*of_run(attempts), *of_verdict(plan, attempts, with_, without, point=point, decision=decision)]
    decision = decision.model_copy(update={"warnings": tuple(warnings)})
    if plan.rule == "point":
        return _Ruling(point.passed, point.reason, decision)
    return _Ruling(decision.verdict == "keep", f"by the evidence rule: {_EVIDENCE[decision.verdict]}", decision)


_EVIDENCE: dict[Verdict, str] = {
    "keep": "the component improves the success rate",
    "cut": "a benefit of the size asked for is ruled out",
    "inconclusive": "the trials do not settle whether the component helps",
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
