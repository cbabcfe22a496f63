"""Estimators of one cohort: pass@k, pass^k, the median. Undefined is None, never 0 or 1."""

from collections.abc import Sequence
from math import comb


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """The chance that at least one of k trials passes, estimated from c passes in n: 1 - C(n-c, k) / C(n, k).

    Chen et al. 2021, arXiv 2107.03374. None when n < k; ValueError for impossible counts. Exact but for one rounding.
    """
    if _undefined(n, c, k):
        return None
    return (comb(n, k) - comb(n - c, k)) / comb(n, k)


def pass_hat_k(n: int, c: int, k: int) -> float | None:
    """The chance that all of k trials pass, estimated from c passes in n: C(c, k) / C(n, k).

    Yao et al. 2024 (tau-bench), arXiv 2406.12045. None when n < k; ValueError for impossible counts.
    """
    if _undefined(n, c, k):
        return None
    return comb(c, k) / comb(n, k)


def _undefined(n: int, c: int, k: int) -> bool:
    """True if there are too few trials; ValueError if the counts cannot be."""
    if n < 0 or not 0 <= c <= n:
        raise ValueError(f"{c} passes in {n} trials cannot be")
    if k < 1:
        raise ValueError(f"k must be at least 1, not {k}")
    return n < k


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones; None without values."""
    ordered = sorted(values)
    middle, odd = divmod(len(ordered), 2)
    if not ordered:
        return None
    return ordered[middle] if odd else (ordered[middle - 1] + ordered[middle]) / 2
