"""The smallest difference that a fixed number of trials can prove."""

from functools import lru_cache

from kcut.stats.exact import boschloo
from kcut.stats.maximum import PRECISION


@lru_cache(maxsize=64)
def least_provable(n1: int, n2: int, alpha: float = 0.05) -> float | None:
    """The smallest difference of rates that Boschloo's one-sided test proves with so many trials; None if none is.

    It is proved most easily against a cohort in which no trial passed: a rate of 0 varies least.
    """
    for x1 in range(1, n1 + 1):
        if boschloo(x1, n1, 0, n2) * (1 + PRECISION) <= alpha:
            return x1 / n1
    return None
