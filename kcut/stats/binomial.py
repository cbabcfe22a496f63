"""Binomial and hypergeometric masses in floats, each scaled by its own sum: no gamma function, no overflow."""

from collections.abc import Sequence

#: Terms this small beside the largest one change nothing that is printed.
_NOTHING = 1e-18


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
    low, high = max(0, s - n2), min(n1, s)
    mode = min(high, max(low, (n1 + 1) * (s + 1) // (n1 + n2 + 2)))
    masses = [1.0]
    term = 1.0
    for x in range(mode, low, -1):
        term *= x * (n2 - s + x) / ((n1 - x + 1) * (s - x + 1))
        masses.append(term)
    masses.reverse()
    term = 1.0
    for x in range(mode, high):
        term *= (n1 - x) * (s - x) / ((x + 1) * (n2 - s + x + 1))
        masses.append(term)
    total = sum(masses)
    return low, [mass / total for mass in masses]
