"""Tango's score statistic of paired trials: how far u pairs for and v pairs against are from a difference."""

from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt

#: Floats nearer than this, beside their size and the number of pairs, are compared again with sixty digits.
_NEAR = 1e-9
_DIGITS = 60
#: Of sixty digits the last twenty are rounding: values that agree to forty are equal, and equal is enough.
_EQUAL = Decimal("1e-40")


def tango_score(u: int, v: int, n: int, d: float) -> float:
    """The score statistic of "first rate - second rate = d" (Tango 1998), -1 < d < 1.

    Of n pairs only the first passed in u, only the second in v. 0 where it is undefined (d = 0 and u = v = 0);
    ValueError for impossible counts.
    """
    check_pairs(u, v, n)
    if n == 0:
        return 0.0
    a, b, c = 2 * n, -u - v + (2 * n - u + v) * d, -v * d * (1 - d)
    q = (sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = n * (2 * q + d * (1 - d))
    gap = u - v - n * d
    if variance > 0:
        return gap / sqrt(variance)
    return 0.0 if gap == 0 else gap * float("inf")


def check_pairs(u: int, v: int, n: int) -> None:
    """ValueError unless u + v of n pairs can differ."""
    if u < 0 or v < 0 or u + v > n:
        raise ValueError(f"{u} pairs for and {v} against in {n} pairs cannot be")


class Limit:
    """Whether T(-margin) >= constant (most / n)^(1/4) after n of at most `most` pairs; margin and constant >= 0.

    Decided exactly: in integers where the margin is 0, else in floats and, near the boundary, in sixty digits.
    """

    def __init__(self, n: int, most: int, margin: Fraction, constant: Fraction) -> None:
        self._n, self._most, self._margin, self._constant = n, most, margin, constant
        self._left = n * constant.denominator**4
        self._right = constant.numerator**4 * most
        self._m = m = float(margin)
        self._shift, self._product = m * (1 + m), 8 * n * m * (1 + m)
        self._factor = float(constant) ** 2 * sqrt(most / n) * n

    def reached(self, u: int, v: int) -> bool:
        """True if u pairs for and v against are there."""
        if not self._margin:
            return u > v and (u - v) ** 4 * self._left >= self._right * (u + v) ** 2
        n, m = self._n, self._m
        gap = u - v + n * m
        if gap <= -0.5:
            return False
        b = u + v + (2 * n - u + v) * m
        q = (sqrt(max(0.0, b * b - self._product * v)) + b) / (4 * n)
        left = gap * gap
        right = self._factor * (2 * q - self._shift)
        if abs(left - right) > _NEAR * (n + left + right):
            return gap > 0 and left > right
        return self._precisely(u, v)

    def _precisely(self, u: int, v: int) -> bool:
        n = self._n
        with localcontext() as context:
            context.prec = _DIGITS
            m = Decimal(self._margin.numerator) / self._margin.denominator
            c = Decimal(self._constant.numerator) / self._constant.denominator
            b = u + v + (2 * n - u + v) * m
            q = ((b * b - 8 * n * v * m * (1 + m)).sqrt() + b) / (4 * n)
            gap = u - v + n * m
            return gap > 0 and gap * gap >= c * c * (Decimal(self._most) / n).sqrt() * n * (2 * q - m * (1 + m)) * (
                1 - _EQUAL
            )
