"""What a sequential design does: its chances of KEEP and CUT, and the pairs it takes, computed exactly."""

from dataclasses import dataclass
from functools import lru_cache

from kcut.stats.paths import Paths, paths
from kcut.stats.sequential import steps
from kcut.stats.stopping import StoppingTable


@dataclass(frozen=True, slots=True)
class Operating:
    """The chances of the verdicts and the mean number of pairs. `unreachable` is a part of `inconclusive`."""

    keep: float
    cut: float
    inconclusive: float
    unreachable: float
    mean_pairs: float


def operating(
    table: StoppingTable, p_without: float, p_with: float, *, cut: bool = True, stop_unreachable: bool = False
) -> Operating:
    """What a design does where the trials of a pair pass independently, at these rates.

    Without `cut` a run goes on past CUT, which it can then not end in; with `stop_unreachable` it ends when no
    further pair can bring KEEP into reach. ValueError for rates outside [0, 1].
    """
    if not (0 <= p_without <= 1 and 0 <= p_with <= 1):
        raise ValueError(f"rates lie between 0 and 1, unlike {p_without} or {p_with}")
    return operating_steps(table, *steps(p_without, p_with), cut=cut, stop_unreachable=stop_unreachable)


def operating_steps(
    table: StoppingTable, up: float, down: float, *, cut: bool = True, stop_unreachable: bool = False
) -> Operating:
    """The same where a pair speaks for WITH with chance `up`, and against it with chance `down`."""
    if up < 0 or down < 0 or up + down > 1 + 1e-12:
        raise ValueError(f"{up} and {down} are not the chances of two events that exclude each other")
    runs = _runs(table, cut, stop_unreachable)
    keep, cuts, hopeless = (ends.chance(up, down) for ends in (runs.keep, runs.cut, runs.hopeless))
    pairs = sum(ends.pairs(up, down) for ends in (runs.keep, runs.cut, runs.hopeless, runs.rest))
    return Operating(keep, cuts, hopeless + runs.rest.chance(up, down), hopeless, pairs)


@lru_cache(maxsize=16)
def _runs(table: StoppingTable, cut: bool, stop_unreachable: bool) -> Paths:
    keep = table.keep
    return paths(table.most, keep, table.cut if cut else None, unreachable=keep if stop_unreachable else None)
