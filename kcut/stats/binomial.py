"""Binomial and hypergeometric masses in floats, each scaled by its own sum: no gamma function, no overflow."""

from collections.abc import Sequence
from math import exp, lgamma

#: Terms this small beside the largest one change nothing that is printed.
_NOTHING = 1e-18
#: Tails smaller than this are not told apart.
_LEAST = 1e-300


def binomial_mass(n: int, p: float) -> tuple[int, list[float]]:
    """The binomial masses of n trials of chance p that are not negligible: (the first count, their masses)."""
    if p <= 0:
        return 0, [1.0]
    if p >= 1:
        return n, [1.0]
    mode = min(n, int((n + 1) * p))
    odds = p / (1 - p)
    below: list[float] = []
    term = 1.0
    for x in range(mode, 0, -1):
        term *= x / ((n - x + 1) * odds)
        if term < _NOTHING:
            break
        below.append(term)
    first = mode - len(below)
    below.reverse()
    below.append(1.0)
    term = 1.0
    for x in range(mode, n):
        term *= (n - x) * odds / (x + 1)
        if term < _NOTHING:
            break
        below.append(term)
    total = sum(below)
    return first, [mass / total for mass in below]


def mixture(weights: Sequence[float], p: float) -> float:
    """The sum of weights[s] times the binomial mass of s in n trials of chance p; n is len(weights) - 1."""
    first, masses = binomial_mass(len(weights) - 1, p)
    return sum(mass * weights[s] for s, mass in enumerate(masses, first))


def hypergeometric_mass(n1: int, n2: int, s: int) -> tuple[int, list[float]]:
    """The chances of x passes in the first group, given s in both: (the smallest x, the masses up to the largest)."""
    return _hypergeometric(n1, n2, s, 0.0)


def hypergeometric_window(n1: int, n2: int, s: int) -> tuple[int, list[float]]:
    """The hypergeometric masses that are not negligible: (the first count, their masses)."""
    return _hypergeometric(n1, n2, s, _NOTHING)


def _hypergeometric(n1: int, n2: int, s: int, least: float) -> tuple[int, list[float]]:
    """From the likeliest count outwards, as far as masses are at least that part of its own."""
    low, high = max(0, s - n2), min(n1, s)
    mode = min(high, max(low, (n1 + 1) * (s + 1) // (n1 + n2 + 2)))
    masses = [1.0]
    term = 1.0
    for x in range(mode, low, -1):
        term *= x * (n2 - s + x) / ((n1 - x + 1) * (s - x + 1))
        if term < least:
            break
        masses.append(term)
    first = mode + 1 - len(masses)
    masses.reverse()
    term = 1.0
    for x in range(mode, high):
        term *= (n1 - x) * (s - x) / ((x + 1) * (n2 - s + x + 1))
        if term < least:
            break
        masses.append(term)
    total = sum(masses)
    return first, [mass / total for mass in masses]


def binomial_bound(n: int, p: float, level: float = 0.95) -> int:
    """The smallest count that n trials of chance p stay within with that probability or more."""
    first, masses = binomial_mass(n, p)
    below = 0.0
    for count, mass in enumerate(masses, first):
        below += mass
        if below >= level:
            return count
    return n


def hypergeometric_tail(x: int, n1: int, s: int, n2: int) -> float:
    """The chance of at least x passes in the first group, given s in both; of large groups, to 1e-8 of itself.

    Summed from the less likely side; 1e-300 stands for all that is smaller.
    """
    if x > max(0, s - n2) and (x - 1) * (n1 + n2) >= n1 * s:
        return max(_LEAST, _outward(x, n1, s, n2))
    # the rest: fewer than x in the first group, that is more than s - x in the second
    return min(1.0, max(_LEAST, 1 - _outward(s - x + 1, n2, s, n1)))


def _outward(x: int, n1: int, s: int, n2: int) -> float:
    """The chance of x, above the mean, and more."""
    if x > min(n1, s):
        return 0.0
    total = term = 1.0
    for a in range(x, min(n1, s)):
        term *= (n1 - a) * (s - a) / ((a + 1) * (n2 - s + a + 1))
        total += term
        if term < _NOTHING * total:
            break
    return total * exp(_log_comb(n1, x) + _log_comb(n2, s - x) - _log_comb(n1 + n2, s))


def _log_comb(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
