"""Costs, tokens and times of two cohorts: the ratio, what it could be, and whether WITH is cheaper."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import exp, inf, log, sqrt

from kcut.stats.normal import upper_point, upper_tail
from kcut.stats.pairwise import FORMED, pairwise_difference

#: The rank distribution is counted up to so many steps, m n min(m, n); beyond, it is as good as normal.
_COUNTED = 1_500_000
#: So many values of a cohort are compared one by one.
_MANY = 4_000
#: Chances nearer than this, in relative terms, are equal.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class CostRatio:
    """The ratio WITH / WITHOUT. `low` and `high` are the ends of the two-sided interval, which covers `coverage`.

    `upper` and `lower` are one-sided bounds, each of at least the level asked for. What too few values cannot bound
    is None.
    """

    ratio: float
    low: float | None
    high: float | None
    coverage: float | None
    lower: float | None
    upper: float | None


def cost_ratio(
    with_: Sequence[float | None], without: Sequence[float | None], *, level: float = 0.95
) -> CostRatio | None:
    """How many times the cost of WITHOUT a trial WITH costs; None if a value is missing, 0 or less, or not finite.

    The Hodges-Lehmann estimate (1963) on logarithms, exp of the median of all differences of a WITH and a WITHOUT
    value, and Moses' interval from their order statistics: the c-th smallest and the c-th largest, by the exact
    distribution of the Mann-Whitney statistic (`order_statistic`). None also if a cohort has no value. Of more than
    4,000 values in a cohort 4,000 at even ranks stand for all, and the ranks of the differences shrink with them.
    """
    first, second = _logarithms(with_), _logarithms(without)
    if first is None or second is None:
        return None
    m, n = len(first), len(second)
    few, fewer = _thinned(first), _thinned(second)

    formed = sorted([x - y for x in few for y in reversed(fewer)]) if m * n <= FORMED else None

    def difference(rank: int) -> float:
        if formed is not None:
            return formed[rank - 1]
        return pairwise_difference(few, fewer, max(1, rank * len(few) * len(fewer) // (m * n)))

    def at(rank: int | None) -> float | None:
        return None if rank is None else exp(difference(rank))

    two, one = order_statistic(m, n, (1 - level) / 2), order_statistic(m, n, 1 - level)
    middle = difference((m * n + 1) // 2) + difference(m * n // 2 + 1)
    return CostRatio(
        ratio=exp(middle / 2),
        low=at(two),
        high=at(two and m * n + 1 - two),
        coverage=None if two is None else 1 - 2 * rank_tail(m, n, two - 1),
        lower=at(one),
        upper=at(one and m * n + 1 - one),
    )


def _logarithms(values: Sequence[float | None]) -> list[float] | None:
    """Sorted; None if there is no ratio to be had."""
    if not values or any(value is None or not 0 < value < inf for value in values):
        return None
    return sorted(log(value) for value in values if value is not None)


def _thinned(ordered: list[float]) -> list[float]:
    """Itself, or _MANY of its values at even ranks."""
    n = len(ordered)
    return ordered if n <= _MANY else [ordered[(2 * i + 1) * n // (2 * _MANY)] for i in range(_MANY)]


def order_statistic(m: int, n: int, tail: float) -> int | None:
    """The largest rank c of the m n differences that is above the true shift with a chance of at most `tail`.

    That chance is P(U <= c - 1), U being the Mann-Whitney statistic without a shift. None if not even the smallest
    difference is (at 3 against 3 values and 95 %). Ties make the interval cover more.
    """
    if m * n * min(m, n) > _COUNTED:
        z = upper_point(tail)
        c = int(m * n / 2 - z * sqrt(m * n * (m + n + 1) / 12) + 0.5)
        return c if c >= 1 else None
    return bisect_right(_rank_tails(min(m, n), max(m, n)), tail * (1 + _TIE)) or None


def rank_tail(m: int, n: int, u: int) -> float:
    """P(U <= u) for the Mann-Whitney statistic of m and n values without a shift or ties.

    Counted exactly up to 114 values each, or 5 against tens of thousands; beyond, the normal approximation with
    continuity correction.
    """
    if u < 0:
        return 0.0
    if m * n * min(m, n) > _COUNTED:
        return upper_tail((m * n / 2 - u - 0.5) / sqrt(m * n * (m + n + 1) / 12))
    tails = _rank_tails(min(m, n), max(m, n))
    return tails[min(u, m * n)]


@lru_cache(maxsize=64)
def _rank_tails(m: int, n: int) -> tuple[float, ...]:
    """P(U <= u) for u = 0 .. m n: the coefficients of the Gaussian binomial, summed up (Mann and Whitney 1947)."""
    ways = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    sums = list(accumulate(ways))
    return tuple(total / sums[-1] for total in sums)
