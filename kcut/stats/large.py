"""The test of "the benefit is at least delta" for very many trials, where not all is enumerated."""

from collections.abc import Callable
from itertools import accumulate
from math import acos, copysign, cos, pi, sqrt

from kcut.stats.binomial import binomial_mass

#: Scores nearer than this are ties.
_TIE = 1e-9
#: Chances smaller than this are lost among the terms that are left out.
_LEAST = 1e-15
#: In so many steps the highest rate that was looked at is climbed from.
_STEPS = 20


def large_benefit_below(x1: int, n1: int, x2: int, n2: int, delta: float) -> float:
    """The p of `kcut.stats.benefit.benefit_below` for thousands of trials, 0 < delta < 1.

    The same region of tables and the same chances, but for the terms below 1e-18 of the largest; their maximum over
    the rates is looked for on a grid and climbed from its best point, not proven: p is precise to a hundredth of
    itself. 1e-15 stands for all that is smaller.
    """
    score = Score(n1, n2, delta)
    limit = score.of(x1, x2) + _TIE
    stairs: list[int] = []
    edge = -1
    for y in range(n2 + 1):
        while edge < n1 and score.of(edge + 1, y) <= limit:
            edge += 1
        stairs.append(edge)
    chance = below(stairs, n1, delta)
    rates = _rates(n1, n2)
    heights = [(chance(i / rates), i / rates) for i in range(rates + 1)]
    # the likeliest rate of the table itself is as good a place to start
    own = score.restricted(x1, x2) / (1 - delta)
    heights.append((chance(own), own))
    best, peak = max(heights)
    step = 0.5 / rates
    for _ in range(_STEPS):
        tried = [(chance(share), share) for share in (peak - step, peak + step) if 0 <= share <= 1]
        if max(tried) > (best, peak):
            best, peak = max(tried)
        else:
            step /= 2
    return min(1.0, max(_LEAST, best))


def _rates(n1: int, n2: int) -> int:
    """At how many rates to look: a small group ripples the curve most, and tens of thousands of trials hardly."""
    if min(n1, n2) <= 300:
        return 1000
    return round(4 * sqrt(n1 + n2)) if n1 + n2 <= 20_000 else 48


def below(stairs: list[int], n1: int, delta: float) -> Callable[[float], float]:
    """The chance of x1 <= stairs[x2], as a function on [0, 1] of the second rate / (1 - delta)."""

    def chance(share: float) -> float:
        p2 = share * (1 - delta)
        start, masses = binomial_mass(n1, p2 + delta)
        up_to = list(accumulate(masses))
        last = len(up_to) - 1
        first, seconds = binomial_mass(len(stairs) - 1, p2)
        total = 0.0
        for y, mass in enumerate(seconds, first):
            step = stairs[y] - start
            if step >= 0:
                total += mass * up_to[min(step, last)]
        return total

    return chance


class Score:
    """The score statistic with the closed form of its likeliest rates (Farrington and Manning 1990, appendix)."""

    def __init__(self, n1: int, n2: int, delta: float) -> None:
        self._n1, self._n2, self._delta = n1, n2, delta
        self._ratio = n2 / n1

    def of(self, x1: int, x2: int) -> float:
        """(x1/n1 - x2/n2 - delta) over its standard deviation there."""
        p2 = self.restricted(x1, x2)
        p1 = p2 + self._delta
        variance = p1 * (1 - p1) / self._n1 + p2 * (1 - p2) / self._n2
        return (x1 / self._n1 - x2 / self._n2 - self._delta) / sqrt(variance)

    def restricted(self, x1: int, x2: int) -> float:
        """The likeliest second rate if the first is higher by exactly delta: a root of a cubic."""
        d, r = self._delta, self._ratio
        seen1, seen2 = x1 / self._n1, x2 / self._n2
        a = 1 + r
        b = -(1 + r + seen1 + r * seen2 + d * (r + 2)) / (3 * a)
        c = d * d + d * (2 * seen1 + r + 1) + seen1 + r * seen2
        v = b**3 - b * c / (2 * a) - seen1 * d * (1 + d) / (2 * a)
        u = copysign(sqrt(max(0.0, b * b - c / (3 * a))), v)
        turn = 0.0 if u == 0 else (pi + acos(min(1.0, max(-1.0, v / u**3)))) / 3
        return min(1 - d, max(0.0, 2 * u * cos(turn) - b - d))
