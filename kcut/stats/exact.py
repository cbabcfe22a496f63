"""Exact tests of two independent rates: Fisher's, given the margin, and Boschloo's, which needs no margin."""

from functools import lru_cache
from math import comb

from kcut.stats.binomial import hypergeometric_mass, hypergeometric_tail, hypergeometric_window, mixture
from kcut.stats.maximum import maximum

#: Float tails nearer than this to a threshold, in relative terms, are compared as integers; above one half, where
#: tails crowd below 1 and nothing is decided, they are ties.
_NEAR, _CROWDED = 1e-9, 0.5
#: Tables of more trials than this, in both groups together, are not enumerated.
ENUMERATED = 1000


def check_table(x1: int, n1: int, x2: int, n2: int) -> None:
    """ValueError unless both groups have trials and possible counts."""
    if not (0 <= x1 <= n1 and 0 <= x2 <= n2 and n1 > 0 and n2 > 0):
        raise ValueError(f"the counts {x1}/{n1} and {x2}/{n2} cannot be compared")


def _tail(x1: int, n1: int, s: int, n2: int) -> int:
    """The number of ways to have at least x1 of s passes in the first group, of C(n1 + n2, s) in all."""
    return sum(comb(n1, x) * comb(n2, s - x) for x in range(max(x1, s - n2), min(n1, s) + 1))


def fisher_one_sided(x1: int, n1: int, x2: int, n2: int) -> float:
    """Fisher's exact p of "the first rate is higher": the chance of x1 or more, given all passes.

    In whole numbers, rounded once; above ENUMERATED trials in floats, precise to 1e-8 of itself, where 1e-300 stands
    for all that is smaller.
    """
    check_table(x1, n1, x2, n2)
    if n1 + n2 > ENUMERATED:
        return hypergeometric_tail(x1, n1, x1 + x2, n2)
    return _tail(x1, n1, x1 + x2, n2) / comb(n1 + n2, x1 + x2)


def fisher_two_sided(x1: int, n1: int, x2: int, n2: int) -> float:
    """Fisher's exact p of "the rates differ": all tables, given all passes, that are no likelier than this one.

    Above ENUMERATED trials in floats: there tables as good as equally likely are ties, and twice the smaller tail
    stands for values below 1e-15.
    """
    check_table(x1, n1, x2, n2)
    s = x1 + x2
    if n1 + n2 > ENUMERATED:
        return _large_two_sided(x1, n1, x2, n2)
    ways = [comb(n1, x) * comb(n2, s - x) for x in range(max(0, s - n2), min(n1, s) + 1)]
    seen = comb(n1, x1) * comb(n2, x2)
    return sum(way for way in ways if way <= seen) / comb(n1 + n2, s)


def _large_two_sided(x1: int, n1: int, x2: int, n2: int) -> float:
    first, masses = hypergeometric_window(n1, n2, x1 + x2)
    if not first <= x1 < first + len(masses):
        smaller = min(hypergeometric_tail(x1, n1, x1 + x2, n2), hypergeometric_tail(x2, n2, x1 + x2, n1))
        return 2 * smaller
    seen = masses[x1 - first] * (1 + _NEAR)
    return min(1.0, sum(mass for mass in masses if mass <= seen))


@lru_cache(maxsize=64)
def boschloo(x1: int, n1: int, x2: int, n2: int) -> float:
    """Boschloo's exact p of "the first rate is higher" (Boschloo 1970).

    The tables whose Fisher p is at most this one's, at the common rate under which they are likeliest. Given s
    passes in all they have a chance that does not depend on the rate, so their chance is a polynomial in it
    with those chances as Bernstein coefficients; its maximum is found with certainty (`maximum`). Precise to
    PRECISION of `kcut.stats.maximum`.

    Above ENUMERATED trials in both groups together it is Fisher's p, which is never smaller: the size of that test is
    as good as its level there, unless a group is small, and it proves nothing that Boschloo's would not.
    """
    check_table(x1, n1, x2, n2)
    if n1 + n2 > ENUMERATED:
        return fisher_one_sided(x1, n1, x2, n2)
    weights = _rejected(n1, n2, _tail(x1, n1, x1 + x2, n2), comb(n1 + n2, x1 + x2))
    return min(1.0, maximum(lambda p: mixture(weights, p), n1 + n2))


def _rejected(n1: int, n2: int, ways: int, of: int) -> list[float]:
    """For each number s of passes in all: the chance, given s, of the tables whose Fisher p is at most ways/of."""
    threshold = ways / of
    weights = []
    for s in range(n1 + n2 + 1):
        low, masses = hypergeometric_mass(n1, n2, s)
        tail = accepted = 0.0
        for x in range(low + len(masses) - 1, low - 1, -1):
            tail += masses[x - low]
            if tail > threshold * (1 + _NEAR):
                break
            near = threshold * (1 - _NEAR) < tail and threshold <= _CROWDED
            if near and _tail(x, n1, s, n2) * of > ways * comb(n1 + n2, s):
                break
            accepted = min(1.0, tail)
        weights.append(accepted)
    return weights
