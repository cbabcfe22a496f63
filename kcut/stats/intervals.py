"""95 % intervals of a rate and of the difference of two rates."""

from math import hypot, sqrt

#: The 97.5 % point of the normal distribution.
Z95 = 1.959963984540054


def wilson(c: int, n: int) -> tuple[float, float] | None:
    """Wilson's score interval of the rate c/n (Wilson 1927); None when n = 0."""
    if not 0 <= c <= n:
        raise ValueError(f"{c} passes in {n} trials cannot be")
    if n == 0:
        return None
    z2 = Z95 * Z95
    centre = (c + z2 / 2) / (n + z2)
    half = Z95 / (n + z2) * sqrt(c * (n - c) / n + z2 / 4)
    return (0.0 if c == 0 else centre - half, 1.0 if c == n else centre + half)


def newcombe(x1: int, n1: int, x2: int, n2: int) -> tuple[float, float] | None:
    """Newcombe's hybrid score interval of x1/n1 - x2/n2 (Newcombe 1998, method 10); None if a group is empty."""
    first, second = wilson(x1, n1), wilson(x2, n2)
    if first is None or second is None:
        return None
    p1, p2 = x1 / n1, x2 / n2
    gain = (x1 * n2 - x2 * n1) / (n1 * n2)
    low = gain - hypot(p1 - first[0], second[1] - p2)
    high = gain + hypot(first[1] - p1, p2 - second[0])
    return max(-1.0, low), min(1.0, high)
