"""What the rules of a fixed number of trials do, exactly: false KEEPs of a useless component, and power."""

from functools import lru_cache
from itertools import accumulate

from kcut.stats.binomial import binomial_mass, hypergeometric_mass, mixture
from kcut.stats.maximum import maximum

#: Fisher p-values nearer than this, in relative terms, are ties.
_TIE = 1e-9

#: Per table: Fisher's p, the passes in both groups together, those of WITH, and its chance given the first.
_Cell = tuple[float, int, int, float]


def point_rule_rate(k: int, p_without: float, p_with: float) -> float:
    """The chance that more of k trials pass WITH than WITHOUT; the false-keep rate where the rates are the same.

    ValueError for k < 1 or rates outside [0, 1].
    """
    _check(k, p_without, p_with)
    start, masses = binomial_mass(k, p_without)
    fewer = [0.0, *accumulate(masses)]
    first, withs = binomial_mass(k, p_with)
    return sum(mass * fewer[min(max(0, x - start), len(masses))] for x, mass in enumerate(withs, first))


def boschloo_rate(k: int, p_without: float, p_with: float, *, alpha: float = 0.05) -> float:
    """The chance that Boschloo's test of k against k trials is significant at level alpha: KEEP.

    The false-keep rate where the rates are the same, the power elsewhere. ValueError as `point_rule_rate`.
    """
    _check(k, p_without, p_with)
    start, masses = binomial_mass(k, p_without)
    first, withs = binomial_mass(k, p_with)
    total = 0.0
    for x, mass in enumerate(withs, first):
        # of each number WITH it is the smaller numbers WITHOUT that are significant
        total += mass * sum(masses[: max(0, keep_region(k, alpha)[x] + 1 - start)])
    return total


def _check(k: int, *rates: float) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    if not all(0 <= rate <= 1 for rate in rates):
        raise ValueError(f"rates lie between 0 and 1, unlike {rates}")


@lru_cache(maxsize=64)
def keep_region(k: int, alpha: float = 0.05) -> tuple[int, ...]:
    """For each number of k passes WITH: the most passes of k WITHOUT that Boschloo's test calls KEEP; -1 if none.

    The tables of the smallest Fisher p-values, as many as keep the size of the region within alpha.
    """
    cells = _cells(k)
    low, high = 0, len(cells)
    while low < high:
        middle = _whole(cells, (low + high + 1) // 2)
        if middle == 0 or _size_within(cells[:middle], k, alpha):
            low = max(middle, (low + high + 1) // 2)
        else:
            high = (low + high + 1) // 2 - 1
    edges = [-1] * (k + 1)
    for _, s, x, _ in cells[: _whole(cells, low)]:
        edges[x] = max(edges[x], s - x)
    return tuple(edges)


def _cells(k: int) -> list[_Cell]:
    """All tables of k against k, by Fisher's p."""
    cells: list[_Cell] = []
    for s in range(2 * k + 1):
        low, masses = hypergeometric_mass(k, k, s)
        tails = list(accumulate(reversed(masses)))
        top = low + len(masses) - 1
        cells += [(min(1.0, tail), s, top - i, masses[-1 - i]) for i, tail in enumerate(tails)]
    return sorted(cells)


def _whole(cells: list[_Cell], count: int) -> int:
    """The largest number up to `count` that does not part tables of the same p."""
    while 0 < count < len(cells) and cells[count][0] <= cells[count - 1][0] * (1 + _TIE):
        count -= 1
    return count


def _size_within(region: list[_Cell], k: int, alpha: float) -> bool:
    weights = [0.0] * (2 * k + 1)
    for _, s, _, mass in region:
        weights[s] += mass
    return maximum(lambda p: mixture(weights, p), 2 * k, limit=alpha) <= alpha
