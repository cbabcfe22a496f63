"""Several tasks: does the component do the same on all of them, and does the sum of them tell the truth?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb, erfc, exp, lgamma, log, sqrt
from typing import Literal

from kcut.stats.cmh import Table, checked, informative

#: Beyond so many trials, or so many open paths at once, the exact test gives way to the asymptotic one.
_MOST_TRIALS, _MOST_PATHS = 1000, 20_000


@dataclass(frozen=True, slots=True)
class Homogeneity:
    """The p-value of "the odds ratio is the same in all strata", by which test, over so many that say something."""

    p: float
    method: Literal["zelen", "breslow-day-tarone"]
    strata: int


def homogeneity(tables: Iterable[Table]) -> Homogeneity | None:
    """Whether effects differ between strata (x1, n1, x2, n2): a small p says that they do.

    Zelen's exact test (1971): given the margins of every stratum and the passes in the first groups altogether, the
    chance of all combinations that are no likelier than this one; the common odds ratio drops out. In whole
    numbers, by following only paths that are still undecided (Mehta and Patel 1983). Beyond 1,000 trials or too many
    such paths Breslow and Day's test (1980) with Tarone's correction, which is asymptotic. None unless two strata
    say something. ValueError for impossible counts.
    """
    strata = informative(tables)
    if len(strata) < 2:
        return None
    p = _zelen(strata) if sum(n1 + n2 for _, n1, _, n2 in strata) <= _MOST_TRIALS else None
    if p is not None:
        return Homogeneity(p, "zelen", len(strata))
    return Homogeneity(_breslow_day_tarone(strata), "breslow-day-tarone", len(strata))


#: What the strata from one on can add: per passes they take, the fewest, the most and all ways together.
_Rest = dict[int, tuple[int, int, int]]


def _zelen(strata: Sequence[Table]) -> float | None:
    ways = [_ways(*table) for table in strata]
    rests = _rests(ways)
    passes, seen = 0, 1
    for (x1, *_), stratum in zip(strata, ways, strict=True):
        passes, seen = passes + x1, seen * stratum[x1]
    unlikely = 0
    # (passes taken, ways so far) -> in how many combinations
    paths: dict[tuple[int, int], int] = {(0, 1): 1}
    for stratum, rest in zip(ways, rests[1:], strict=True):
        following: dict[tuple[int, int], int] = {}
        for (taken, product), number in paths.items():
            for x, count in stratum.items():
                bounds = rest.get(passes - taken - x)
                if bounds is None:
                    continue
                grown = product * count
                if grown * bounds[1] <= seen:
                    unlikely += number * grown * bounds[2]
                elif grown * bounds[0] <= seen:
                    key = (taken + x, grown)
                    following[key] = following.get(key, 0) + number
        paths = following
        if len(paths) > _MOST_PATHS:
            return None
    return unlikely / rests[0][passes][2]


def _ways(x1: int, n1: int, x2: int, n2: int) -> dict[int, int]:
    s = x1 + x2
    return {x: comb(n1, x) * comb(n2, s - x) for x in range(max(0, s - n2), min(n1, s) + 1)}


def _rests(ways: Sequence[dict[int, int]]) -> list[_Rest]:
    """For each stratum, and for the end: what it and those after it can add."""
    rests: list[_Rest] = [{0: (1, 1, 1)}]
    for stratum in reversed(ways):
        grown: _Rest = {}
        for passes, (least, most, total) in rests[0].items():
            for x, count in stratum.items():
                low, high, whole = grown.get(passes + x, (least * count, 0, 0))
                grown[passes + x] = (min(low, least * count), max(high, most * count), whole + total * count)
        rests.insert(0, grown)
    return rests


def _breslow_day_tarone(strata: Sequence[Table]) -> float:
    above = sum(x1 * (n2 - x2) / (n1 + n2) for x1, n1, x2, n2 in strata)
    under = sum(x2 * (n1 - x1) / (n1 + n2) for x1, n1, x2, n2 in strata)
    if not above or not under:
        return 1.0  # as far in one direction as can be, all of them
    odds = above / under
    statistic = gap = spread = 0.0
    for x1, n1, x2, n2 in strata:
        expected = _expected(odds, n1, n2, x1 + x2)
        others = (n1 - expected, x1 + x2 - expected, n2 - x1 - x2 + expected)
        variance = 1 / (1 / expected + sum(1 / other for other in others))
        statistic += (x1 - expected) ** 2 / variance
        gap += x1 - expected
        spread += variance
    return chi_square_tail(max(0.0, statistic - gap * gap / spread), len(strata) - 1)


def _expected(odds: float, n1: int, n2: int, s: int) -> float:
    """The passes in the first group under that odds ratio, given the margins."""
    low, high = float(max(0, s - n2)), float(min(n1, s))
    for _ in range(100):
        x = (low + high) / 2
        if x * (n2 - s + x) < odds * (n1 - x) * (s - x):
            low = x
        else:
            high = x
    return (low + high) / 2


def chi_square_tail(x: float, freedom: int) -> float:
    """The chance that a chi-square variable of so many degrees of freedom is larger than x >= 0."""
    if x <= 0:
        return 1.0
    tail, start = (erfc(sqrt(x / 2)), 1) if freedom % 2 else (exp(-x / 2), 2)
    for k in range(start, freedom, 2):
        tail += exp(k / 2 * (log(x) - log(2)) - x / 2 - lgamma(k / 2 + 1))
    return min(1.0, tail)


@dataclass(frozen=True, slots=True)
class Stratified:
    """The difference of the rates of all trials together, and the mean difference task by task.

    The mean is weighted as Mantel and Haenszel do, by n1 n2 / (n1 + n2).
    """

    pooled: float
    stratified: float
    reversed: bool


def simpson(tables: Iterable[Table]) -> Stratified | None:
    """Whether the sum over all strata points the other way than the strata do (Simpson 1951).

    That takes groups with unequal shares of easy tasks. None if no stratum has trials in both groups. ValueError for
    impossible counts.
    """
    strata = [checked(table) for table in tables]
    weights = [Fraction(n1 * n2, n1 + n2) if n1 + n2 else Fraction(0) for _, n1, _, n2 in strata]
    if not any(weights):
        return None
    x1, n1, x2, n2 = (sum(column) for column in zip(*strata, strict=True))
    pooled = Fraction(x1, n1) - Fraction(x2, n2)
    gains = [
        weight * (Fraction(x1, n1) - Fraction(x2, n2))
        for weight, (x1, n1, x2, n2) in zip(weights, strata, strict=True)
        if weight
    ]
    mean = sum(gains, Fraction(0)) / sum(weights)
    return Stratified(float(pooled), float(mean), pooled * mean < 0)
