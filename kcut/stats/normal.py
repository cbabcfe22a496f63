"""The normal distribution."""

from math import erfc, sqrt


def upper_tail(z: float) -> float:
    """The chance of more than z."""
    return erfc(z / sqrt(2)) / 2


def upper_point(tail: float) -> float:
    """The z that is passed with that chance, 0 < tail < 1; ValueError elsewhere."""
    if not 0 < tail < 1:
        raise ValueError(f"a chance lies between 0 and 1, unlike {tail}")
    low, high = -40.0, 40.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        low, high = (middle, high) if upper_tail(middle) > tail else (low, middle)
