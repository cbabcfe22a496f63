"""Whether a component reached the agent in one cohort alone and was used there, and what else its runs tell. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kcut.model.artifact import ReworkFinding, TreatmentFinding, Warn
from kcut.model.outcome import SIDES, Cohort, Outcome
from kcut.model.plan import Plan
from kcut.model.trial import TrialRecord
from kcut.summary import cohorts_of, final_trials, of_cohort

#: How the note of a trial that edited its own spec begins.
SPEC_EDITED = "the trial edited its own spec, which does not count:"


def treatment_of(plan: Plan, attempts: Sequence[TrialRecord]) -> TreatmentFinding | None:
    """What is known of the component that kcut switched; None for a plain environment toggle.

    Each number is of the valid trials of a cohort; None where no trial's agent tells.
    """
    toggle = plan.toggle
    if toggle is None:
        return None
    on, off = (_valid(attempts, cohort) for cohort in SIDES)
    told = [trial.used for trial in on if trial.used is not None]
    return TreatmentFinding(
        kind=toggle.kind,
        path=toggle.path,
        shown_with=_shown(on),
        shown_without=_shown(off),
        used_with=sum(used > 0 for used in told) if told else None,
        trials_with=len(told) if told else None,
    )


def rework_of(plan: Plan, attempts: Sequence[TrialRecord], cohort: Cohort) -> ReworkFinding | None:
    """How many of a cohort's trials tried again after a failed first attempt, and how many passed then.

    None without rework. `rounds` are those of all of them together.
    """
    if not plan.rework:
        return None
    again = [trial for trial in _valid(attempts, cohort) if trial.rounds]
    return ReworkFinding(
        trials=len(again),
        rounds=sum(trial.rounds for trial in again),
        resolved=sum(trial.resolved is True for trial in again),
    )


def of_treatment(plan: Plan, attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Warnings about a component that was not used, and about what agents did beside their task."""
    found = treatment_of(plan, attempts)
    if found is not None and found.trials_with and 2 * (found.used_with or 0) <= found.trials_with:
        yield Warn(
            code="component-unused",
            evidence={"used": found.used_with, "trials": found.trials_with},
            advice=f"the agent used {plan.component} in {found.used_with} of {found.trials_with} WITH trials, and a "
            "difference without use is chance: let its description, or the task, lead to it",
        )
    yield from _tamper(attempts)
    yield from _retries(attempts)
    yield from _spec_edited(attempts)
    yield from _spec_defect(attempts)


def _valid(attempts: Sequence[TrialRecord], cohort: Cohort) -> list[TrialRecord]:
    return [trial for trial in final_trials(of_cohort(attempts, cohort)) if trial.valid]


def _shown(trials: Sequence[TrialRecord]) -> int | None:
    told = [trial.reached for trial in trials if trial.reached is not None]
    return sum(told) if told else None


def _tamper(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """The agent spoke of the oracle, which it was not to know of."""
    names = [str(trial.key) for trial in final_trials(attempts) if trial.tamper]
    if names:
        yield Warn(
            code="tamper",
            evidence={"trials": names[:10], "count": len(names)},
            advice=f"the oracle is spoken of in the events of {names[0]}{_more(names)}: see whether the agent found "
            "it, with --logs; a name that is no everyday word tells more surely",
        )


def _retries(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Requests were made again while trials ran, so their times hold waits."""
    found = {
        cohort.value: sum(bool(trial.retries) for trial in _valid(attempts, cohort))
        for cohort in cohorts_of(attempts)
    }
    if any(found.values()):
        yield Warn(
            code="retries",
            evidence=found,
            advice="the agent had to ask its provider again in some trials: their times hold the waits, so compare "
            "costs and turns instead",
        )


def _spec_edited(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Trials that changed the spec in their worktree: the one that was read at the start scored them."""
    names = [
        str(trial.key)
        for trial in final_trials(attempts)
        if any(note.startswith(SPEC_EDITED) for note in trial.notes)
    ]
    if names:
        yield Warn(
            code="spec-edited",
            evidence={"trials": names[:10], "count": len(names)},
            advice=f"{names[0]}{_more(names)} changed the spec, to no effect: tell the agent to leave it alone",
        )


def _spec_defect(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Criteria that failed in the same way twice although the agent had been told: perhaps they are wrong."""
    valid = [trial for trial in final_trials(attempts) if trial.valid]
    if any(trial.outcome is Outcome.PASS or trial.resolved for trial in valid):
        return  # somebody met all of them
    found = Counter(name for trial in valid for name in trial.repeated if _never_met(name, valid))
    if found:
        name, trials = found.most_common(1)[0]
        yield Warn(
            code="spec-defect",
            evidence=dict(sorted(found.items())),
            advice=f"{name} failed in the same way again after rework in {trials} trial{'s' * (trials != 1)}: check "
            "that it can be met, and that its label says what it wants",
        )


def _never_met(name: str, trials: Sequence[TrialRecord]) -> bool:
    """True for a criterion that failed in every first attempt; the score as a whole has no name among those."""
    return all(name in trial.failing or not trial.failing for trial in trials)


def _more(names: Sequence[str]) -> str:
    return f" (and {len(names) - 1} more trials)" if len(names) > 1 else ""
