"""p-values of several components, adjusted for there being several."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values (1979), in the order given: for claims.

    Rejecting those up to alpha makes even one false claim with a chance of at most alpha, however the tests depend.
    ValueError for what is not a p-value.
    """
    _check(p_values)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, i in enumerate(_rising(p_values)):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values (1995), in the order given: for screening.

    Of those up to q a part q is expected to be false, if the tests are independent. ValueError for what is not a
    p-value.
    """
    _check(p_values)
    adjusted = [0.0] * len(p_values)
    lowest = 1.0
    for rank, i in reversed(list(enumerate(_rising(p_values), 1))):
        lowest = min(lowest, len(p_values) * p_values[i] / rank)
        adjusted[i] = lowest
    return adjusted


def _rising(p_values: Sequence[float]) -> list[int]:
    return sorted(range(len(p_values)), key=p_values.__getitem__)


def _check(p_values: Sequence[float]) -> None:
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"{p} is not a p-value")
