"""The k-th smallest of all differences between two groups of values, without forming them all."""

from collections.abc import Sequence

#: Up to so many differences are formed and sorted.
FORMED = 20_000


def pairwise_difference(first: Sequence[float], second: Sequence[float], rank: int) -> float:
    """The rank-th smallest x - y, x of `first`, y of `second`, both sorted; rank counts from 1.

    Exactly one of the differences, as floats have it. Many are searched by halving between two of them, each time
    around one that is still possible: about n log n steps a round. ValueError for a rank out of range.
    """
    if not 1 <= rank <= len(first) * len(second):
        raise ValueError(f"there is no difference {rank} of {len(first)} times {len(second)}")
    if len(first) * len(second) <= FORMED:
        return sorted(x - y for x in first for y in second)[rank - 1]
    # of each x those differences are left whose y stands from low to before high, in falling order
    falling = [-y for y in reversed(second)]
    low, high = [0] * len(first), [len(second)] * len(first)
    while sum(high) - sum(low) > FORMED:
        pivot = _middle(first, falling, low, high)
        below, up_to = _counts(first, falling, pivot)
        if rank <= sum(below):
            high = below
        elif rank > sum(up_to):
            low = up_to
        else:
            return pivot
    left = sorted(x + falling[j] for x, a, b in zip(first, low, high, strict=True) for j in range(a, b))
    return left[rank - 1 - sum(low)]


def _middle(first: Sequence[float], falling: Sequence[float], low: list[int], high: list[int]) -> float:
    """Of each x's differences the middle one, and of these the middle one by weight: a quarter lies either side."""
    middles = sorted((x + falling[(a + b) // 2], b - a) for x, a, b in zip(first, low, high, strict=True) if a < b)
    half, weight = sum(count for _, count in middles) / 2, 0
    for value, count in middles:
        weight += count
        if weight >= half:
            return value
    raise AssertionError("half of a weight lies within it")


def _counts(first: Sequence[float], falling: Sequence[float], pivot: float) -> tuple[list[int], list[int]]:
    """For each x: how many of its differences are below the pivot, and how many are up to it."""
    below, up_to = [], []
    a = b = len(falling)
    for x in first:
        while a and x + falling[a - 1] >= pivot:
            a -= 1
        while b and x + falling[b - 1] > pivot:
            b -= 1
        below.append(a)
        up_to.append(b)
    return below, up_to
