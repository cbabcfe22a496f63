"""Was a run even? Runs of one outcome, trials that stick out, and a first half unlike the second."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, sqrt

from kcut.stats.estimators import median
from kcut.stats.exact import fisher_two_sided
from kcut.stats.normal import upper_tail

#: Up to so many outcomes the distribution of the number of runs is counted; beyond, it is as good as normal.
_COUNTED = 1000
#: A modified z-score beyond this is an outlier's (Iglewicz and Hoaglin 1993).
OUTLYING = 3.5
#: 0.6745 is the 75 % point of the normal distribution, 1.2533 the square root of pi / 2: they bring the median
#: and the mean absolute deviation to the scale of a standard deviation.
_MEDIAN_SCALE, _MEAN_SCALE = 0.6745, 1.253314


@dataclass(frozen=True, slots=True)
class Runs:
    """How many runs of equal outcomes there were, how many order alone leads one to expect, and the two p-values.

    `p_few` is small where outcomes cluster (drift, an outage), `p_many` where they alternate.
    """

    runs: int
    expected: float
    p_few: float
    p_many: float


def runs_test(outcomes: Sequence[bool]) -> Runs | None:
    """The runs test of Wald and Wolfowitz (1940), given the number of passes; None if all outcomes are equal.

    Exact up to 1,000 outcomes; beyond, the normal approximation with continuity correction.
    """
    passes = sum(outcomes)
    failures = len(outcomes) - passes
    if not passes or not failures:
        return None
    runs = 1 + sum(a != b for a, b in pairwise(outcomes))
    n, product = passes + failures, 2 * passes * failures
    expected = 1 + product / n
    if n <= _COUNTED:
        ways = [orders_with(passes, failures, r) for r in range(n + 1)]
        total = comb(n, passes)
        return Runs(runs, expected, sum(ways[: runs + 1]) / total, sum(ways[runs:]) / total)
    spread = sqrt(product * (product - n) / (n * n * (n - 1.0)))
    few, many = (expected - runs - 0.5) / spread, (runs - expected - 0.5) / spread
    return Runs(runs, expected, upper_tail(few), upper_tail(many))


def orders_with(a: int, b: int, runs: int) -> int:
    """How many orders of a passes and b failures have so many runs."""
    half, odd = divmod(runs, 2)
    if half == 0:
        return 0
    if odd:
        return comb(a - 1, half) * comb(b - 1, half - 1) + comb(a - 1, half - 1) * comb(b - 1, half)
    return 2 * comb(a - 1, half - 1) * comb(b - 1, half - 1)


def modified_z_scores(values: Sequence[float]) -> list[float] | None:
    """How far each value is from the median: 0.6745 (x - median) / MAD (Iglewicz and Hoaglin 1993).

    Where the median absolute deviation is 0, since half of the values are equal, the mean one takes its place:
    (x - median) / (1.2533 mean absolute deviation). None with fewer than three values, or if all are equal.
    """
    middle = median(values)
    if middle is None or len(values) < 3:
        return None
    gaps = [value - middle for value in values]
    deviation = median([abs(gap) for gap in gaps])
    if deviation:
        return [_MEDIAN_SCALE * gap / deviation for gap in gaps]
    mean = sum(map(abs, gaps)) / len(gaps)
    return [gap / (_MEAN_SCALE * mean) for gap in gaps] if mean else None


def outliers(values: Sequence[float], *, limit: float = OUTLYING) -> tuple[int, ...]:
    """The places of the values whose modified z-score is beyond the limit on either side."""
    return tuple(i for i, score in enumerate(modified_z_scores(values) or ()) if abs(score) > limit)


@dataclass(frozen=True, slots=True)
class Halves:
    """Passes and trials of the early half and of the late one, and Fisher's two-sided p of "they differ"."""

    early: tuple[int, int]
    late: tuple[int, int]
    p: float

    @property
    def change(self) -> float:
        """The late rate less the early one."""
        return float(Fraction(*self.late) - Fraction(*self.early))


def halves(outcomes: Sequence[bool]) -> Halves | None:
    """The early half of the outcomes against the late one; of an odd number the middle one is left out.

    None with fewer than two outcomes.
    """
    half = len(outcomes) // 2
    if not half:
        return None
    early, late = sum(outcomes[:half]), sum(outcomes[-half:])
    return Halves((early, half), (late, half), fisher_two_sided(early, half, late, half))
