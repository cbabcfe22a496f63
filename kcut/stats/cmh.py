"""The exact Cochran-Mantel-Haenszel test: is the first rate higher, task by task?"""

from collections.abc import Iterable, Sequence
from heapq import heapify, heappop, heappush
from math import comb
from operator import mul
from typing import TypeVar

from kcut.stats.binomial import hypergeometric_window

#: Up to so many trials in all, whole numbers of ways are counted, and the result is rounded once.
_COUNTED = 400
#: What is smaller than this, beside the largest, is dropped from either end of a distribution.
_NOTHING = 1e-18
#: Tails this small are not told apart.
_LEAST = 1e-15

_Number = TypeVar("_Number", int, float)
#: Passes and trials of the first group, then of the second.
Table = tuple[int, int, int, int]


def cmh_exact_one_sided(tables: Iterable[Table]) -> float:
    """The exact p of "the first rate is higher" over strata, given the passes and trials of each (Mantel 1963).

    `tables` are (x1, n1, x2, n2), one per task: the p-value is the chance, if the odds are the same in both groups of
    every task, of as many passes or more in the first groups altogether. Strata in which a group is empty, all passed
    or all failed say nothing; 1 if no other is left. Rounded once up to 400 trials in all, else precise to about
    1e-10 of itself; there 1e-15 stands for all that is smaller. ValueError for impossible counts.
    """
    strata = informative(tables)
    if not strata:
        return 1.0
    seen = sum(x1 for x1, _, _, _ in strata)
    if sum(n1 + n2 for _, n1, _, n2 in strata) <= _COUNTED:
        first, ways = convolved([_counts(*table) for table in strata], trim=False)
        return sum(ways[max(0, seen - first) :]) / sum(ways)
    parts = [hypergeometric_window(n1, n2, x1 + x2) for x1, n1, x2, n2 in strata]
    first, masses = convolved(parts, trim=True)
    return min(1.0, max(_LEAST, sum(masses[max(0, seen - first) :])))


def informative(tables: Iterable[Table]) -> list[Table]:
    """Those that can say something: both groups have trials, and neither all passed nor all failed."""
    return [(x1, n1, x2, n2) for x1, n1, x2, n2 in map(checked, tables) if n1 and n2 and 0 < x1 + x2 < n1 + n2]


def checked(table: Table) -> Table:
    """The table; ValueError if its counts cannot be."""
    x1, n1, x2, n2 = table
    if not (0 <= x1 <= n1 and 0 <= x2 <= n2):
        raise ValueError(f"the counts {x1}/{n1} and {x2}/{n2} cannot be compared")
    return table


def _counts(x1: int, n1: int, x2: int, n2: int) -> tuple[int, list[int]]:
    """In how many ways each possible number of the passes falls to the first group: (the smallest, the ways)."""
    s = x1 + x2
    low = max(0, s - n2)
    return low, [comb(n1, x) * comb(n2, s - x) for x in range(low, min(n1, s) + 1)]


def convolved(parts: Sequence[tuple[int, list[_Number]]], *, trim: bool) -> tuple[int, list[_Number]]:
    """The distribution of the sum of independent numbers, each given as (the smallest, the weights from there on).

    The shortest are joined first. With `trim`, ends that are negligible are dropped.
    """
    heap = [(len(weights), order, first, weights) for order, (first, weights) in enumerate(parts)]
    heapify(heap)
    order = len(heap)
    while len(heap) > 1:
        _, _, first, short = heappop(heap)
        _, _, second, long = heappop(heap)
        start, joined = first + second, _product(short, long)
        if trim:
            start, joined = _trimmed(start, joined)
        heappush(heap, (len(joined), order, start, joined))
        order += 1
    return heap[0][2:]


def _product(short: list[_Number], long: list[_Number]) -> list[_Number]:
    """The coefficients of the product of two polynomials."""
    turned, width = short[::-1], len(short)
    joined: list[_Number] = []
    for end in range(1, len(long) + width):
        start = max(0, end - width)
        joined.append(sum(map(mul, long[start:end], turned[width - min(end, width) :])))
    return joined


def _trimmed(start: int, weights: list[_Number]) -> tuple[int, list[_Number]]:
    """Without the ends that are negligible beside the largest weight."""
    floor = max(weights) * _NOTHING
    left, right = 0, len(weights)
    while weights[left] < floor:
        left += 1
    while weights[right - 1] < floor:
        right -= 1
    return start + left, weights[left:right]
