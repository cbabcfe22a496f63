"""How often a score says something else about the same work: counts, what they bound, and the warnings. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kcut.model.artifact import Warn
from kcut.model.plan import Plan
from kcut.stats.intervals import clopper_pearson

#: The largest flip rate that so few disagreements leave possible, in 95 of 100 cases: the end of a two-sided 90 %.
_ONE_SIDED = 0.90


@dataclass(frozen=True, slots=True)
class Flips:
    """Worktrees that were scored again: by trial, (scores that disagreed with the trial's outcome, all of them).

    `gone` are the kept worktrees that are not there any more, `unscored` those that could not be scored and why,
    `left` what could not be removed afterwards.
    """

    trials: dict[str, tuple[int, int]]
    gone: dict[str, str]
    unscored: dict[str, str]
    left: tuple[str, ...] = ()

    @property
    def flips(self) -> int:
        """How many scores disagreed."""
        return sum(flips for flips, _ in self.trials.values())

    @property
    def scores(self) -> int:
        """How many there were."""
        return sum(scores for _, scores in self.trials.values())

    @property
    def rate(self) -> float | None:
        """The share that disagreed; None without any score."""
        return self.flips / self.scores if self.scores else None

    @property
    def upper(self) -> float | None:
        """The exact upper 95 % bound of the rate (0 of 59: 0.0495); None without any score."""
        interval = clopper_pearson(self.flips, self.scores, level=_ONE_SIDED)
        return None if interval is None else interval[1]

    @property
    def shrink(self) -> float | None:
        """What is left of every effect: 1 - 2 rate, and nothing if more than half flipped. A score that flips so
        often turns so many differences round.
        """
        return None if self.rate is None else max(0.0, 1 - 2 * self.rate)

    def document(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "worktrees": len(self.trials),
            "rescores": self.scores,
            "flips": self.flips,
            "rate": self.rate,
            "upper": self.upper,
            "shrink": self.shrink,
            "trials": {trial: {"flips": flips, "rescores": scores} for trial, (flips, scores) in self.trials.items()},
            "gone": self.gone,
            "unscored": self.unscored,
        }


def of_flips(plan: Plan, found: Flips) -> Iterator[Warn]:
    """Warnings about a score that flips, and about worktrees that say nothing about it."""
    if found.flips:
        spec = next((work.spec.path for work in plan.works if work.spec is not None), None)
        what = f"the checks of {spec}" if spec is not None else "--score"
        yield Warn(
            code="scorer-flips",
            evidence={
                "flips": found.flips,
                "rescores": found.scores,
                "rate": found.rate,
                "upper": found.upper,
                "shrink": found.shrink,
                "trials": {trial: f"{flips}/{scores}" for trial, (flips, scores) in found.trials.items() if flips},
            },
            advice=f"make {what} say the same twice (no clock, network, random seed or leftovers), then run again",
        )
    if found.gone:
        yield Warn(
            code="kept-gone",
            evidence=dict(found.gone),
            advice="these worktrees say nothing about the score any more: run again with --keep all",
        )
    if found.unscored:
        yield Warn(
            code="kept-unscored",
            evidence=dict(found.unscored),
            advice="mend what is said of them, then check again",
        )
    if found.left:
        yield Warn(code="leftover", evidence={"paths": list(found.left)}, advice="remove it by hand, or: kcut clean")
