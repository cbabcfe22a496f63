"""The largest value of a chance that is a polynomial on [0, 1], with a proof that nothing larger was missed."""

from collections.abc import Callable
from math import cos, pi, sqrt

#: No value anywhere is larger than the maximum found by more than this part of it.
PRECISION = 1e-6
#: The same for a maximum above a quarter, where the curve can be as good as flat and no decision hangs on it.
ROUGH, ROUGH_FROM = 1e-3, 0.25
#: The golden section, by which a peak is narrowed down to the digits of a float.
_SECTION = (sqrt(5) - 1) / 2


def maximum(curve: Callable[[float], float], degree: int, *, limit: float | None = None) -> float:
    """The maximum on [0, 1] of a polynomial whose values there are chances; as precise as said above.

    With x = (1 - cos t) / 2 the polynomial is a trigonometric one of the same degree n in t, of which two things
    are known: its maximum M is at most sqrt(2) times the largest value on 4n equidistant points of the circle
    (Ehlich and Zeller 1964), and its second derivative is at most n^2 M / 2 (Bernstein). So between two points
    h apart it stays below the larger of their values plus h^2 n^2 M / 16. Intervals that could hold more than
    the best value seen (and the precision) are halved until none is left; then the best peak is climbed.

    With a `limit` the question is only whether the maximum is above it: the search ends as soon as that is known,
    and the number returned lies on that side of the limit.
    """

    def at(t: float) -> float:
        return curve((1 - cos(t)) / 2)

    step = pi / (2 * degree)
    values = [at(i * step) for i in range(2 * degree + 1)]
    best = max(values)
    peak = values.index(best) * step
    ceiling = min(1.0, sqrt(2) * best)
    intervals = [(i * step, values[i], values[i + 1]) for i in range(2 * degree)]
    while intervals:
        slack = (step * degree) ** 2 * ceiling / 16
        spare = best * (PRECISION if best <= ROUGH_FROM else ROUGH)
        if min(ceiling - best, slack) <= spare or (limit is not None and best > limit):
            break
        floor = best + spare if limit is None else limit
        ceiling = min(ceiling, max(best + slack, floor))
        step /= 2
        halves: list[tuple[float, float, float]] = []
        for start, left, right in intervals:
            if max(left, right) + slack > floor:
                middle = at(start + step)
                halves += [(start, left, middle), (start + step, middle, right)]
                if middle > best:
                    best, peak = middle, start + step
        intervals = halves
    return best if limit is not None else _climb(at, peak, step, best)


def _climb(at: Callable[[float], float], peak: float, step: float, best: float) -> float:
    """The top of the peak that lies within a step of its best known point."""
    low, high = max(0.0, peak - step), min(pi, peak + step)
    inner = (high - _SECTION * (high - low), low + _SECTION * (high - low))
    heights = (at(inner[0]), at(inner[1]))
    while high - low > 1e-9:
        best = max(best, *heights)
        if heights[0] >= heights[1]:
            high = inner[1]
            inner = (high - _SECTION * (high - low), inner[0])
            heights = (at(inner[0]), heights[0])
        else:
            low = inner[0]
            inner = (inner[1], low + _SECTION * (high - low))
            heights = (heights[1], at(inner[1]))
    return max(best, *heights)
