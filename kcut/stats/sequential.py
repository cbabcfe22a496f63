"""Sequential designs: the smallest constants that keep the promised error rates, for any number of pairs."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import log

from kcut.stats.binomial import mixture
from kcut.stats.maximum import maximum
from kcut.stats.paths import MOST_PAIRS, null_weights, paths
from kcut.stats.stopping import Boundary, StoppingTable, boundary

#: The plan of `--until-decided` where nothing else is asked for.
PAIRS, ALPHA, DELTA, BETA = 20, 0.05, 0.20, 0.10
#: Constants have four digits; a level holds for a constant smaller by this, so that no table hangs on the last digit.
UNIT, SPARE = 10_000, Fraction(3, 400_000)
#: Where the search for a constant begins, and its first step around the guess.
_USUAL, _STEP = (17_000, 19_500), 16
#: Where, on [0, 1], a candidate is tried before the whole curve is searched.
_TRIED = (0.25, 0.5, 0.75, 1.0)

#: From a constant the chance of an error as a function on [0, 1].
_Curve = Callable[[Fraction], Callable[[float], float]]


@lru_cache(maxsize=32)
def design(most: int = PAIRS, alpha: float = ALPHA, delta: float = DELTA, beta: float = BETA) -> StoppingTable:
    """The stopping table of at most `most` pairs: KEEP at level alpha, CUT of a benefit of delta at level beta.

    Each constant is the smallest of four digits that keeps its level, with SPARE to spare, whatever the tasks are
    like. KEEP: where a pair speaks for WITH as often as against it, with the worst chance r in (0, 1/4] of either.
    CUT: where WITHOUT passes with the worst chance p in [0, 1 - delta] and WITH with p + delta, independently; it is
    calibrated as if there were no KEEP, which can only end runs before a CUT. ValueError for levels or a delta
    outside (0, 1), and above MOST_PAIRS pairs.
    """
    keep = keep_boundary(most, alpha)
    cut = _margin_boundary(most, delta, beta)
    return StoppingTable(most, alpha, delta, beta, keep, cut)


@lru_cache(maxsize=128)
def keep_boundary(most: int, alpha: float = ALPHA) -> Boundary:
    """The KEEP boundary alone: T(0), at level alpha."""
    _check(most, alpha=alpha)

    def curve(constant: Fraction) -> Callable[[float], float]:
        weights = null_weights(most, boundary(most, Fraction(0), constant))
        return lambda share: mixture(weights, share / 2)

    return boundary(most, Fraction(0), _smallest(curve, alpha, most))


def noninferior_boundary(most: int = PAIRS, margin: float = 0.10, alpha: float = ALPHA) -> Boundary:
    """The boundary of "WITH is not worse by more than the margin": T(-margin), at level alpha.

    Worst case over the WITHOUT rate p in [margin, 1] with the WITH rate p - margin, independently. It is met by
    (u, v, n) with u pairs for WITH and v against.
    """
    return _margin_boundary(most, margin, alpha)


@lru_cache(maxsize=64)
def _margin_boundary(most: int, margin: float, level: float) -> Boundary:
    """The boundary of T(-margin) at that level where the first rate is lower by exactly the margin.

    With rates p - margin and p a pair speaks for the first with chance r = (p - margin)(1 - p), which takes all
    values from 0 to (1 - margin)^2 / 4, and against it with r + margin.
    """
    _check(most, margin=margin, level=level)
    exact = Fraction(str(margin))

    most_up = (1 - margin) ** 2 / 4

    def curve(constant: Fraction) -> Callable[[float], float]:
        ends = paths(most, boundary(most, exact, constant)).keep
        return lambda share: ends.chance(share * most_up, share * most_up + margin)

    return boundary(most, exact, _smallest(curve, level, most))


def steps(p_without: float, p_with: float) -> tuple[float, float]:
    """The chances that a pair of independent trials speaks for WITH, and against it."""
    return p_with * (1 - p_without), p_without * (1 - p_with)


def _check(most: int, **shares: float) -> None:
    if not 1 <= most <= MOST_PAIRS:
        raise ValueError(f"a plan has 1 to {MOST_PAIRS} pairs, not {most}")
    for name, share in shares.items():
        if not 0 < share < 1:
            raise ValueError(f"{name} must lie between 0 and 1, not be {share}")


def _smallest(curve: _Curve, level: float, degree: int) -> Fraction:
    """The smallest constant of four digits whose chance of an error is nowhere above the level, even less SPARE.

    The chance falls with the constant at every point. So a search over a few points gives a lower bound, and the
    whole curve is searched (`maximum`) only there: where it is above the level, its peak joins the points.
    """
    tried = list(_TRIED)
    low = 0
    while True:
        low = _first(lambda units: max(map(curve(Fraction(units, UNIT) - SPARE), tried)), level, low)
        seen = _Seen(curve(Fraction(low, UNIT) - SPARE))
        if maximum(seen, degree, limit=level) <= level:
            return Fraction(low, UNIT)
        tried.append(seen.peak)


class _Seen:
    """A curve that remembers where it was highest."""

    def __init__(self, curve: Callable[[float], float]) -> None:
        self._curve = curve
        self.peak, self._height = 0.0, -1.0

    def __call__(self, share: float) -> float:
        height = self._curve(share)
        if height > self._height:
            self.peak, self._height = share, height
        return height


def _first(chance: Callable[[int], float], level: float, low: int) -> int:
    """The smallest number above `low` whose chance is within the level, where it falls as the number rises.

    The chance of a false KEEP falls about like a normal tail: that is where the search looks first.
    """
    high, step = max(low, _guess(chance, level)) + 1, _STEP
    if chance(high) <= level:
        while high - step > low and chance(high - step) <= level:
            high, step = high - step, 2 * step
        low = max(low, high - step)
    else:
        low, high = high, high + step
        while chance(high) > level:
            low, high, step = high, high + 2 * step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= level else (middle, high)
    return high


def _guess(chance: Callable[[int], float], level: float) -> int:
    """Two secants on the logarithm of the chance, from where constants usually lie."""
    points = [(float(units), log(max(chance(units), 1e-12) / level)) for units in _USUAL]
    for _ in range(2):
        (x0, y0), (x1, y1) = points[-2:]
        if y0 == y1:
            break
        x = min(max(x1 - y1 * (x1 - x0) / (y1 - y0), UNIT / 2), 5.0 * UNIT)
        points.append((x, log(max(chance(round(x)), 1e-12) / level)))
    return round(points[-1][0])
