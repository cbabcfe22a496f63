"""Whether an exact p is within a level, for many tables: order settles most of them without computing p. Pure."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf

from kcut.stats.benefit import benefit_below, score_z
from kcut.stats.exact import boschloo, fisher_one_sided
from kcut.stats.maximum import PRECISION
from kcut.stats.normal import upper_point

#: Passes and trials of the first group, then of the second.
Table = tuple[int, int, int, int]


def proves(p: float, level: float) -> bool:
    """True if even the largest value that the computed p may stand for is within the level."""
    return p * (1 + PRECISION) <= level


@dataclass(slots=True)
class _Known:
    """For groups of one size: the highest order that is within the level, the lowest that is not, and all p."""

    within: float = -inf
    beyond: float = inf
    p: dict[Table, float] = field(default_factory=dict)
    order: dict[Table, float] = field(default_factory=dict)


class Settled:
    """The answers of one exact test at one level.

    Of tables of the same sizes, `order` ranks the more extreme ones lower, as the test does: so p never falls as it
    rises, and what one p says holds for all tables on that side. `guess` is the order about which the answer changes.
    """

    def __init__(
        self, test: Callable[[Table], float], order: Callable[[Table], float], level: float, guess: float
    ) -> None:
        self._test = test
        self._order = order
        self._level = level
        self._guess = guess
        self._known: dict[tuple[int, int], _Known] = {}

    def p(self, table: Table) -> float:
        """The exact p itself."""
        known = self._of(table)
        if table not in known.p:
            p = known.p[table] = self._test(table)
            order = self._rank(table)
            if proves(p, self._level):
                known.within = max(known.within, order)
            else:
                known.beyond = min(known.beyond, order)
        return known.p[table]

    def holds(self, table: Table) -> bool:
        """True if p is within the level."""
        known = self._of(table)
        order = self._rank(table)
        if order <= known.within:
            return True
        if order >= known.beyond:
            return False
        return proves(self.p(table), self._level)

    def settle(self, tables: Iterable[Table]) -> None:
        """Find the answers for many tables: those nearest to where it changes come first, and settle the rest."""
        distance = {table: abs(self._rank(table) - self._guess) for table in tables}
        for table in sorted(distance, key=lambda table: (distance[table], table)):
            self.holds(table)

    def _rank(self, table: Table) -> float:
        order = self._of(table).order
        if table not in order:
            order[table] = self._order(table)
        return order[table]

    def _of(self, table: Table) -> _Known:
        return self._known.setdefault((table[1], table[3]), _Known())


def gains(alpha: float) -> Settled:
    """ "The first rate is higher" at level alpha, by Boschloo's test, which ranks tables by Fisher's p."""
    return Settled(lambda table: boschloo(*table), lambda table: fisher_one_sided(*table), alpha, 1.35 * alpha)


def below(delta: float, beta: float) -> Settled:
    """ "The first rate is not higher by delta" at level beta; the test ranks tables by their score."""
    return Settled(
        lambda table: benefit_below(*table, delta), lambda table: score_z(*table, delta), beta, -upper_point(beta)
    )
