"""The exact test of "the benefit is at least delta": what a CUT rests on."""

from functools import lru_cache
from math import sqrt

from kcut.stats.exact import ENUMERATED, check_table
from kcut.stats.large import below, large_benefit_below
from kcut.stats.maximum import maximum

#: Scores nearer than this are ties: both tables are in the region, which can only make the p-value larger.
_TIE = 1e-9


def score_z(x1: int, n1: int, x2: int, n2: int, delta: float) -> float:
    """The score statistic of "first rate - second rate = delta" (Farrington and Manning 1990), -1 < delta < 1.

    (x1/n1 - x2/n2 - delta) over its standard deviation at the likeliest rates that differ by exactly delta.
    """
    check_table(x1, n1, x2, n2)
    p2 = restricted_rate(x1, n1, x2, n2, delta)
    p1 = p2 + delta
    return (x1 / n1 - x2 / n2 - delta) / sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)


def restricted_rate(x1: int, n1: int, x2: int, n2: int, delta: float) -> float:
    """The likeliest second rate if the first is higher by exactly delta: the root of the falling slope."""
    low, high = max(0.0, -delta), min(1.0, 1 - delta)
    for _ in range(60):
        p2 = (low + high) / 2
        p1 = p2 + delta
        slope = (x1 - n1 * p1) * p2 * (1 - p2) + (x2 - n2 * p2) * p1 * (1 - p1)
        low, high = (p2, high) if slope > 0 else (low, p2)
    return (low + high) / 2


@lru_cache(maxsize=64)
def benefit_below(x1: int, n1: int, x2: int, n2: int, delta: float) -> float:
    """The exact p of "first rate - second rate is less than delta", 0 < delta < 1.

    The tables whose score statistic of "difference = delta" is at most this one's, at the pair of rates delta apart
    under which they are likeliest (`maximum`). The statistic rises with x1 and falls with x2, so the region is
    a staircase, and no pair of rates further apart makes it likelier. Above ENUMERATED trials in both groups together
    the maximum is not proven, and p is precise to about a hundredth of itself (`large_benefit_below`).
    """
    check_table(x1, n1, x2, n2)
    if n1 + n2 > ENUMERATED:
        return large_benefit_below(x1, n1, x2, n2, delta)
    limit = score_z(x1, n1, x2, n2, delta) + _TIE
    stairs = []
    edge = -1
    for y in range(n2 + 1):
        while edge < n1 and score_z(edge + 1, n1, y, n2, delta) <= limit:
            edge += 1
        stairs.append(edge)
    return min(1.0, maximum(below(stairs, n1, delta), n1 + n2))
