"""Intervals of a rate and of the difference of two rates, of independent trials or of pairs; 95 % unless said."""

from collections.abc import Callable
from math import hypot, inf, sqrt

from kcut.stats.benefit import restricted_rate
from kcut.stats.binomial import binomial_mass
from kcut.stats.exact import check_table
from kcut.stats.normal import upper_point
from kcut.stats.tango import check_pairs, tango_score

#: The 97.5 % point of the normal distribution.
Z95 = 1.959963984540054


def wilson(c: float, n: float) -> tuple[float, float] | None:
    """Wilson's score interval of the rate c/n (Wilson 1927); None when n = 0."""
    if not 0 <= c <= n:
        raise ValueError(f"{c} passes in {n} trials cannot be")
    if n == 0:
        return None
    z2 = Z95 * Z95
    centre = (c + z2 / 2) / (n + z2)
    half = Z95 / (n + z2) * sqrt(c * (n - c) / n + z2 / 4)
    return (0.0 if c == 0 else max(0.0, centre - half), 1.0 if c == n else min(1.0, centre + half))


def newcombe(x1: float, n1: float, x2: float, n2: float) -> tuple[float, float] | None:
    """Newcombe's hybrid score interval of x1/n1 - x2/n2 (Newcombe 1998, method 10); None if a group is empty."""
    first, second = wilson(x1, n1), wilson(x2, n2)
    if first is None or second is None:
        return None
    p1, p2 = x1 / n1, x2 / n2
    gain = (x1 * n2 - x2 * n1) / (n1 * n2)
    low = gain - hypot(p1 - first[0], second[1] - p2)
    high = gain + hypot(first[1] - p1, p2 - second[0])
    return max(-1.0, low), min(1.0, high)


def clopper_pearson(c: int, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """The exact interval of the rate c/n, which covers at least `level` (Clopper and Pearson 1934); None when n = 0.

    Each end is the rate at which so many passes, or so few, have the chance (1 - level) / 2.
    """
    if not 0 <= c <= n:
        raise ValueError(f"{c} passes in {n} trials cannot be")
    tail = _tail(level)
    if n == 0:
        return None
    low = 0.0 if c == 0 else _crossing(lambda p: _at_least(c, n, p) < tail, 0.0, c / n)
    high = 1.0 if c == n else 1 - _crossing(lambda p: _at_least(n - c, n, p) < tail, 0.0, 1 - c / n)
    return low, high


def miettinen_nurminen(x1: int, n1: int, x2: int, n2: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """The score interval of x1/n1 - x2/n2 (Miettinen and Nurminen 1985); None if a group is empty.

    The differences whose score statistic, its variance times N / (N - 1), is within the normal points of `level`.
    """
    z = upper_point(_tail(level))
    if n1 == 0 or n2 == 0:
        return None
    check_table(x1, n1, x2, n2)
    gain = (x1 * n2 - x2 * n1) / (n1 * n2)
    spread = (n1 + n2) / (n1 + n2 - 1)

    def score(d: float) -> float:
        p2 = restricted_rate(x1, n1, x2, n2, d)
        p1 = p2 + d
        variance = (p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2) * spread
        return _ratio(gain - d, variance)

    return _within(score, gain, z)


def tango(u: int, v: int, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """The score interval of the difference of two rates seen in n pairs (Tango 1998); None when n = 0.

    In u pairs only the first passed, in v only the second: the estimate is (u - v) / n.
    """
    z = upper_point(_tail(level))
    check_pairs(u, v, n)
    if n == 0:
        return None
    return _within(lambda d: tango_score(u, v, n, d), (u - v) / n, z)


def _tail(level: float) -> float:
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, unlike {level}")
    return (1 - level) / 2


def _at_least(c: int, n: int, p: float) -> float:
    """The chance of c or more of n."""
    first, masses = binomial_mass(n, p)
    if c <= first + len(masses) // 2:
        return 1 - sum(masses[: max(0, c - first)])
    return sum(masses[c - first :])


def _ratio(gap: float, variance: float) -> float:
    if variance > 0:
        return gap / sqrt(variance)
    return inf if gap > 0 else -inf if gap < 0 else 0.0


def _within(score: Callable[[float], float], estimate: float, z: float) -> tuple[float, float]:
    """The differences d with |score(d)| <= z; the score falls with d, and is 0 at the estimate."""
    low = _crossing(lambda d: score(d) > z, -1.0, estimate)
    high = -_crossing(lambda d: score(-d) < -z, -1.0, -estimate)
    return low, high


def _crossing(outside: Callable[[float], bool], low: float, high: float) -> float:
    """Where, from low to high, points stop being outside; low if none is."""
    if low >= high or not outside(low + (high - low) * 1e-12):
        return low
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        low, high = (middle, high) if outside(middle) else (low, middle)
