"""Every way that a run of pairs can go, counted up to the pair that ends it."""

from dataclasses import dataclass
from math import comb

from kcut.stats.stopping import Boundary

#: Beyond this many pairs the counts leave the range of floats.
MOST_PAIRS = 500

#: Per number of pairs that differ, and of those for WITH: in how many ways a run got there without ending. A row may
#: be shorter, where none gets further.
Rows = list[list[float]]


@dataclass(frozen=True, slots=True)
class Ends:
    """The runs that end in one way: after n pairs with u for WITH and v against, in `ways` orders.

    `cells` are (ways, u, v, pairs that tie); no run has more than `most` pairs.
    """

    most: int
    cells: tuple[tuple[float, int, int, int], ...]

    def chance(self, up: float, down: float) -> float:
        """The chance to end so, if a pair speaks for WITH with chance `up` and against it with chance `down`."""
        return sum(self._masses(up, down))

    def pairs(self, up: float, down: float) -> float:
        """The mean number of pairs, counting 0 for runs that end in another way."""
        masses = self._masses(up, down)
        return sum(mass * (u + v + ties) for mass, (_, u, v, ties) in zip(masses, self.cells, strict=True))

    def _masses(self, up: float, down: float) -> list[float]:
        ups, downs, stays = ([p**i for i in range(self.most + 1)] for p in (up, down, max(0.0, 1 - up - down)))
        return [ways * ups[u] * downs[v] * stays[ties] for ways, u, v, ties in self.cells]


@dataclass(frozen=True, slots=True)
class Paths:
    """All runs of a plan: those that reach KEEP, those that reach CUT, those ended as hopeless, the rest."""

    keep: Ends
    cut: Ends
    hopeless: Ends
    rest: Ends


def paths(
    most: int, keep: Boundary | None, cut: Boundary | None = None, *, unreachable: Boundary | None = None
) -> Paths:
    """The runs of at most `most` pairs; KEEP is looked at first, then CUT, each after every pair.

    With `unreachable` (the KEEP boundary again) a run also ends when no further pairs could reach that. ValueError
    above MOST_PAIRS.
    """
    _check(most)
    ends: tuple[list[tuple[float, int, int, int]], ...] = ([], [], [])
    rows: Rows = [[1.0]]
    for n in range(1, most + 1):
        rows = _step(rows)
        for m, row in enumerate(rows):
            high = keep.by_discordant[n - 1][m] if keep else m + 1
            low = m - cut.by_discordant[n - 1][m] if cut else -1
            hopeless = _hopeless(unreachable, most, n, m) if unreachable else -1
            low, stop = min(low, high - 1), min(max(low, hopeless), high - 1)
            for kind, start, end in ((1, 0, low + 1), (2, low + 1, stop + 1), (0, high, m + 1)):
                if start < end:
                    cells = enumerate(row[start:end], start)
                    ends[kind].extend((ways, u, m - u, n - m) for u, ways in cells if ways)
                    row[start:end] = [0.0] * (len(row[start:end]) if kind else 0)
    rest = [(ways, u, m - u, most - m) for m, row in enumerate(rows) for u, ways in enumerate(row) if ways]
    return Paths(*(Ends(most, tuple(cells)) for cells in (*ends, rest)))


def _check(most: int) -> None:
    if not 1 <= most <= MOST_PAIRS:
        raise ValueError(f"a plan has 1 to {MOST_PAIRS} pairs, not {most}")


def _step(rows: Rows) -> Rows:
    """One pair more: it ties, or speaks for WITH, or against it."""
    grown = [[*rows[0]]]
    for before, tied in zip(rows, [*rows[1:], []], strict=True):
        padding = [0.0] * (len(tied) - len(before))
        for_with, against = [0.0, *before, *padding], [*before, 0.0, *padding]
        ties = [*tied, *[0.0] * (len(before) + 1 - len(tied))]
        grown.append([a + b + c for a, b, c in zip(ties, for_with, against, strict=False)])
    return grown


def _hopeless(keep: Boundary, most: int, n: int, m: int) -> int:
    """The largest u, of m pairs that differ, from which not even a lucky end reaches KEEP; -1 if all can."""
    u = m
    while u >= 0 and keep.met(u + most - n, m - u, most):
        u -= 1
    return u


def null_weights(most: int, keep: Boundary) -> list[float]:
    """For each number m of `most` pairs that differ: the chance to reach KEEP, if either direction is as likely.

    The chance over all runs is the `mixture` of these at the chance of a pair to differ. A run that reached it goes
    on being counted as one that did.
    """
    _check(most)
    rows: Rows = [[1.0]]
    reached = [0.0]
    for n in range(1, most + 1):
        rows = _step(rows)
        reached = [a + 2 * b for a, b in zip([*reached, 0.0], [0.0, *reached], strict=True)]
        for m, (row, high) in enumerate(zip(rows, keep.by_discordant[n - 1], strict=True)):
            if high <= m:
                reached[m] += sum(row[high:])
                del row[high:]
    return [ways / (comb(most, m) * 2**m) for m, ways in enumerate(reached)]
