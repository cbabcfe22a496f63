"""Was a run of several tasks and cohorts even? Tests within each, put together, and limits for few values."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import comb, exp, fsum, log

from kcut.stats.cmh import Table, cmh_exact_one_sided, convolved
from kcut.stats.diagnostics import OUTLYING, orders_with
from kcut.stats.normal import upper_point

#: Fewer values have no spread to speak of.
FEWEST = 5
#: From so many normal values on: what the largest modified z-score stays within but for .005 and .0005 of the samples
#: (found by two million samples each, the larger of the sizes in a row). 3.5 alone would be passed in 21 of 100
#: samples of 5, and in 9 to 13 of larger ones.
_LIMITS = (
    (5, 26.7, 85.6),
    (6, 13.7, 30.6),
    (8, 10.0, 18.6),
    (10, 8.4, 14.1),
    (12, 7.4, 11.6),
    (14, 6.8, 10.2),
    (16, 6.4, 9.2),
    (20, 5.9, 8.0),
    (25, 5.6, 7.3),
    (30, 5.2, 6.7),
    (40, 5.0, 6.2),
    (60, 4.7, 5.7),
    (100, 4.6, 5.3),
)
_LEVELS = (0.005, 0.0005)
#: Beyond so many values, the largest of them is what grows; their spread is known.
_MANY = 500


def runs_of(outcomes: Sequence[bool]) -> int:
    """How many runs of equal outcomes a sequence consists of."""
    return sum(one != other for one, other in pairwise(outcomes)) + 1 if outcomes else 0


def few_runs(sequences: Iterable[Sequence[bool]]) -> float | None:
    """The exact p of "equal outcomes stand together" over sequences (Wald and Wolfowitz 1940).

    The chance of as few runs or fewer in all of them together, if every order of the outcomes of a sequence is as
    likely as any other. Sequences in which all passed, or all failed, say nothing; None if no other is left.
    """
    telling = [tuple(outcomes) for outcomes in sequences if len(set(outcomes)) > 1]
    if not telling:
        return None
    seen = sum(map(runs_of, telling))
    first, chances = convolved([_runs(sum(outcomes), len(outcomes)) for outcomes in telling], trim=False)
    return min(1.0, fsum(chances[: seen - first + 1]))


@lru_cache(maxsize=256)
def _runs(passes: int, n: int) -> tuple[int, list[float]]:
    """The chances of 2, 3, ... runs of n outcomes with so many passes."""
    most = 2 * min(passes, n - passes) + 1
    ways = [orders_with(passes, n - passes, runs) for runs in range(2, most + 1)]
    return 2, [way / comb(n, passes) for way in ways]


def rates_differ(tables: Sequence[Table]) -> float | None:
    """The exact two-sided p of "the first rate differs from the second, in the same direction in every stratum".

    `tables` are (x1, n1, x2, n2): passes and trials of the first and of the second group of a stratum. For one
    stratum it is twice the smaller tail of Fisher's test, for several of the Cochran-Mantel-Haenszel test. None if no
    stratum has both groups and both outcomes.
    """
    if not any(n1 and n2 and 0 < x1 + x2 < n1 + n2 for x1, n1, x2, n2 in tables):
        return None
    up = cmh_exact_one_sided(tables)
    down = cmh_exact_one_sided([(x2, n2, x1, n1) for x1, n1, x2, n2 in tables])
    return min(1.0, 2 * min(up, down))


def outlier_limit(n: int, level: float) -> float:
    """What the modified z-scores of n normal values stay within but for about `level` of the samples; at least 3.5.

    With few values their median absolute deviation is itself a matter of chance. ValueError below FEWEST values.
    """
    if n < FEWEST:
        raise ValueError(f"{n} values have no spread to speak of")
    _, often, seldom = max(row for row in _LIMITS if row[0] <= n)
    slope = log(seldom / often) / log(_LEVELS[1] / _LEVELS[0])
    limit = often * exp(slope * log(level / _LEVELS[0]))
    if n > _MANY:
        limit = max(limit, 1.05 * upper_point(level / (2 * n)))
    return max(OUTLYING, limit)
