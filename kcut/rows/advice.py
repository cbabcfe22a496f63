"""What a reader should know of the decision on recorded rows: warnings, each with one next action. Pure."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal

from kcut.cautions import imbalance, of_tasks, saturated
from kcut.decision import VoidBalance, planned_base
from kcut.model.artifact import CohortSummary, Decision, TaskResult, Warn
from kcut.rates import Point, rate_of, saturation, trials_of
from kcut.rows.cells import Cell, Sample


def of_cell(
    cell: Cell,
    on: CohortSummary,
    off: CohortSummary,
    *,
    decision: Decision,
    balance: VoidBalance,
    point: Point,
    rule: Literal["point", "evidence"],
) -> Iterator[Warn]:
    """Warnings about one cell that has valid trials in both cohorts."""
    yield from _voids(cell.on, cell.off)
    yield from imbalance(balance, "record them again")
    yield from _settings(cell)
    if decision.objective != "cost" or saturation(on, off) == "failed":
        yield from saturated(on, off)
    if rule == "point" and (point.passed, decision.verdict) in {(True, "cut"), (False, "keep")}:
        yield Warn(
            code="rules-disagree",
            evidence={"point": point.passed, "evidence": decision.verdict, "rule": rule},
            advice="the two rules disagree, and the exit code follows the point rule: choose --rule evidence",
        )
    yield from _size(on, off, decision, balance)


def of_strata(
    on: CohortSummary, off: CohortSummary, *, decision: Decision, balance: VoidBalance, tasks: Sequence[TaskResult]
) -> Iterator[Warn]:
    """Warnings about several tasks together."""
    yield from imbalance(balance, "record them again")
    yield from saturated(on, off)
    yield from of_tasks(tasks)
    if decision.verdict == "cut":
        yield from _harm(decision)


def _voids(on: Sample, off: Sample) -> Iterator[Warn]:
    """More than a quarter of a cohort is void. How many were planned is not known, so the cell is not invalid."""
    many = {name: sample for name, sample in (("with", on), ("without", off)) if 4 * sample.void > sample.trials}
    if many:
        told = " and ".join(f"{sample.void} of {sample.trials} {name.upper()}" for name, sample in many.items())
        yield Warn(
            code="voids",
            evidence={"with": dict(sorted(on.voids.items())), "without": dict(sorted(off.voids.items()))},
            advice=f"{told} trials are void: mend their cause, then record them again",
        )


def _settings(cell: Cell) -> Iterator[Warn]:
    """The rows of a cell were not all recorded under the same settings."""
    if len(set(cell.on.settings) | set(cell.off.settings)) > 1:
        yield Warn(
            code="settings-differ",
            evidence={
                "with": dict(sorted(cell.on.settings.items())),
                "without": dict(sorted(cell.off.settings.items())),
            },
            advice="other settings differed between these trials, too: decide the files of each setting apart",
        )


def _size(on: CohortSummary, off: CohortSummary, decision: Decision, balance: VoidBalance) -> Iterator[Warn]:
    """Whether there are enough trials, and what a CUT may hide."""
    valid = min(trials_of(on), trials_of(off))
    if decision.objective == "cost":
        if decision.cost is None or decision.cost.ratio is None:
            yield Warn(
                code="costs-unknown", advice="without a cost in every valid row no saving can be shown: record them"
            )
        return
    if decision.verdict == "cut":
        yield from _harm(decision)
    if decision.verdict != "inconclusive" or saturation(on, off) is not None or rate_of(off) == 1:
        return
    needed = decision.needed_k
    if needed is not None and needed > valid:
        advice = f"about {needed} trials per cohort would settle it"
    elif balance.upset:
        return
    elif 1 - planned_base(rate_of(off) or Fraction(0)) < Fraction(str(decision.delta or 0)):
        advice = "WITHOUT passes so often that no number of trials can show the gain: take a harder task"
    else:
        advice = "record more trials, or take a task on which the component matters more"
    yield Warn(code="few-trials", evidence={"valid": valid, "needed": needed}, advice=advice)


def _harm(decision: Decision) -> Iterator[Warn]:
    if (decision.difference or 0) < 0 and decision.objective != "cost":
        yield Warn(
            code="suspected-harm",
            evidence={"difference": decision.difference, "interval": list(decision.interval or ())},
            advice="WITH passed less often than WITHOUT: to know whether the component does harm, run kcut benchmark "
            "--until-decided --confirm-harm",
        )
