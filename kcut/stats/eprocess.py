"""A running comparison without a last pair: an e-process, whose KEEP is valid whenever one looks."""

from fractions import Fraction
from math import comb

from kcut.stats.tango import check_pairs

#: Floats this near to the threshold, in relative terms, are decided in integers.
_NEAR = 1e-9


def e_value(u: int, v: int) -> Fraction:
    """The evidence against "the component does nothing" of u pairs for WITH and v against; exact.

    E(u, v) = sum over i <= u of C(m + 1, i) / ((m + 1) C(m, u)), m = u + v: the likelihood of the directions under
    a chance of WITH spread evenly over (1/2, 1), over that under 1/2. Its mean is 1 without an effect, whatever the
    order and the drift, and it passes 1 / alpha in at most a part alpha of such runs (Ville 1939). Ties do not
    count. ValueError for negative counts.
    """
    check_pairs(u, v, u + v)
    m = u + v
    term = total = 1
    for i in range(1, u + 1):
        term = term * (m + 2 - i) // i
        total += term
    return Fraction(total, (m + 1) * comb(m, u))


def e_keeps(u: int, v: int, alpha: float = 0.05) -> bool:
    """True if E(u, v) >= 1 / alpha: KEEP. Decided exactly, for ten thousand pairs each way and more.

    ValueError for negative counts, and unless 0 < alpha < 1.
    """
    check_pairs(u, v, u + v)
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, not be {alpha}")
    threshold = 1 / alpha
    term = total = 1 / (v + 1)
    for i in range(u, 0, -1):
        if total >= threshold * (1 + _NEAR):
            return True
        term *= i / (u + v + 2 - i)
        total += term
    if abs(total - threshold) > _NEAR * threshold:
        return total > threshold
    return e_value(u, v) >= 1 / Fraction(str(alpha))
