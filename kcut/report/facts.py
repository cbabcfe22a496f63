"""What is known beside the numbers: how the component reached the agent, and what further attempts brought. Pure."""

from kcut.model.artifact import Artifact, CohortSummary
from kcut.report.table import cohorts_of
from kcut.report.text import plain
from kcut.report.words import placebo_line


def fact_lines(artifact: Artifact) -> list[str]:
    """A line each for a placebo, the component that kcut switched, and rework; none where there was no such thing."""
    placebo = placebo_line(artifact)
    lines = [] if placebo is None else [placebo]
    found = artifact.treatment
    if found is not None:
        what = artifact.component if found.kind in {"section", "setting"} else found.path
        parts = [f"{found.kind} {plain(what)}, applied WITH and withheld WITHOUT"]
        if found.shown_with is not None or found.shown_without is not None:
            parts.append(
                f"the agent lists it in {found.shown_with or 0} of {artifact.with_.valid} WITH and "
                f"{found.shown_without or 0} of {artifact.without.valid} WITHOUT trials"
            )
        if found.trials_with is not None:
            parts.append(f"it was used in {found.used_with} of {found.trials_with} WITH trials")
        lines.append(f"component: {'; '.join(parts)}")
    again = [f"{name.upper()} {_again(cohort)}" for name, cohort in cohorts_of(artifact) if cohort.rework]
    if again:
        lines.append(f"rework (not counted above): {'; '.join(again)}")
    return lines


def _again(cohort: CohortSummary) -> str:
    found = cohort.rework
    if found is None or not found.trials:
        return "no trial tried again"
    trials = f"{found.trials} trial{'s' * (found.trials != 1)} tried again"
    return f"{trials} in {found.rounds} round{'s' * (found.rounds != 1)}, {found.resolved} resolved"
