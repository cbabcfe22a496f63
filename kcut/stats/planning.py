"""How many trials a fixed-size benchmark needs."""

from functools import lru_cache
from math import ceil, sqrt

from kcut.stats.binomial import binomial_mass, hypergeometric_mass, mixture
from kcut.stats.maximum import maximum

#: The most trials per cohort that are planned for.
MOST = 500
#: The 80 % point of the normal distribution, and the 95 % point: they only say where the search begins.
_Z80, _Z95 = 0.8416212335729143, 1.6448536269514722
_LOOK_AHEAD = 12
#: Fisher p-values nearer than this, in relative terms, are ties.
_TIE = 1e-9


@lru_cache(maxsize=64)
def needed_k(p_without: float, p_with: float, *, alpha: float = 0.05, power: float = 0.80) -> int | None:
    """The smallest k per cohort from which on Boschloo's one-sided test has that power; None above MOST.

    Power is a sawtooth in k: what is returned is the first k after which it does not fall below `power` again
    (looked for among the next dozen; further dips were never seen). ValueError unless 0 <= p_without < p_with <= 1.
    """
    if not 0 <= p_without < p_with <= 1:
        raise ValueError(f"there is no gain from {p_without} to {p_with}")
    found: int | None = None
    for k in range(_start(p_without, p_with), MOST + 1):
        if found is not None and k > found + _LOOK_AHEAD:
            break
        if not has_power(k, p_without, p_with, alpha=alpha, power=power):
            found = None
        elif found is None:
            found = k
    return found


def _start(p_without: float, p_with: float) -> int:
    """Where to begin: below the normal approximation, which asks for fewer trials than the exact test does."""
    mean, gain = (p_with + p_without) / 2, p_with - p_without
    spread = _Z95 * sqrt(2 * mean * (1 - mean))
    spread += _Z80 * sqrt(p_with * (1 - p_with) + p_without * (1 - p_without))
    return max(1, ceil(0.97 * (spread / gain) ** 2) - 5)


def has_power(k: int, p_without: float, p_with: float, *, alpha: float, power: float) -> bool:
    """True if Boschloo's one-sided test of k against k trials at level alpha has that power at these rates. Exact.

    Its region holds the tables whose Fisher p is at most c, for the largest c that keeps its size within alpha. So
    it is enough to find the smallest c that gives the power and to ask whether that region's size is within alpha.
    """
    weights = _smallest_region(k, p_without, p_with, alpha, power)
    if weights is None:
        return False
    for p in (0.5, p_without, p_with, (p_without + p_with) / 2):
        if mixture(weights, p) > alpha:
            return False
    return maximum(lambda p: mixture(weights, p), 2 * k, limit=alpha) <= alpha


def _smallest_region(k: int, p_without: float, p_with: float, alpha: float, power: float) -> list[float] | None:
    """The smallest Fisher region with that power: for each number s of passes in all its chance given s.

    Tables of a Fisher p up to alpha are always in it, since Fisher's test keeps the level. None if the whole of
    what was looked at has too little power.
    """
    first, second = _mass(k, p_with), _mass(k, p_without)
    most = 1.0 if k <= 20 else 6 * alpha  # from there on the region of 6 alpha is far larger than alpha
    weights = [0.0] * (2 * k + 1)
    reached = 0.0
    further: list[tuple[float, int, float, float]] = []
    for s in range(2 * k + 1):
        low, masses = hypergeometric_mass(k, k, s)
        tail = 0.0
        for x in range(low + len(masses) - 1, low - 1, -1):
            mass = masses[x - low]
            tail += mass
            if tail > most * (1 + _TIE):
                break
            chance = first[x] * second[s - x]
            if tail <= alpha * (1 - _TIE):
                weights[s] += mass
                reached += chance
            else:
                further.append((tail, s, mass, chance))
    level = 0.0
    for tail, s, mass, chance in sorted(further):
        if reached >= power and tail > level * (1 + _TIE):
            break
        weights[s] += mass
        reached += chance
        level = tail
    return weights if reached >= power else None


def _mass(k: int, p: float) -> list[float]:
    """The binomial masses of 0 to k."""
    start, masses = binomial_mass(k, p)
    return [0.0] * start + masses + [0.0] * (k + 1 - start - len(masses))
