"""How many pairs a sequential benchmark has to allow for, and how many it takes on average."""

from dataclasses import dataclass
from functools import lru_cache

from kcut.stats.paths import paths
from kcut.stats.sequential import ALPHA, keep_boundary, steps

#: The most pairs that are planned for.
MOST_PLANNED = 130
#: Power is a sawtooth in the number of pairs: so many more are asked before a number is believed.
_LOOK_AHEAD = 6


@dataclass(frozen=True, slots=True)
class SequentialPlan:
    """The smallest cap that has the power and keeps it, its power, and the mean number of pairs at that effect."""

    max_pairs: int
    power: float
    mean_pairs: float


@lru_cache(maxsize=64)
def sequential_plan(
    p_without: float, p_with: float, *, alpha: float = ALPHA, power: float = 0.80
) -> SequentialPlan | None:
    """The plan for KEEP at level alpha where trials pass with these rates; None if it takes more than MOST_PLANNED.

    The power is that of the KEEP boundary, without CUT, and the mean that of a run which ends when it reaches KEEP
    or when KEEP can no longer be reached. CUT ends runs earlier, but takes up to beta of the power where the effect
    is not larger than its delta. ValueError unless 0 <= p_without < p_with <= 1.
    """
    if not 0 <= p_without < p_with <= 1:
        raise ValueError(f"there is no gain from {p_without} to {p_with}")
    cap = _smallest_cap(p_without, p_with, alpha, power)
    if cap is None:
        return None
    keep = keep_boundary(cap, alpha)
    runs = paths(cap, keep, unreachable=keep)
    up, down = steps(p_without, p_with)
    mean = sum(ends.pairs(up, down) for ends in (runs.keep, runs.hopeless, runs.rest))
    return SequentialPlan(cap, runs.keep.chance(up, down), mean)


def _smallest_cap(p_without: float, p_with: float, alpha: float, power: float) -> int | None:
    """Doubling and halving to where the power first suffices, then on to where it stays."""

    def enough(most: int) -> bool:
        return keep_power(most, p_without, p_with, alpha=alpha) >= power

    low, high = 0, 8
    while not enough(high):
        if high == MOST_PLANNED:
            return None
        low, high = high, min(2 * high, MOST_PLANNED)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    cap = high
    while high < cap + _LOOK_AHEAD:
        high += 1
        if not enough(high):
            cap = high + 1
    return cap if cap <= MOST_PLANNED else None


@lru_cache(maxsize=256)
def keep_power(most: int, p_without: float, p_with: float, *, alpha: float = ALPHA) -> float:
    """The chance that at most `most` pairs end in KEEP, without CUT."""
    return paths(most, keep_boundary(most, alpha)).keep.chance(*steps(p_without, p_with))
