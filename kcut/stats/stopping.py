"""Stopping tables: after which pairs a running comparison is clear, in integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

from kcut.stats.tango import Limit, check_pairs


@dataclass(frozen=True)
class Boundary:
    """Where T(-margin) >= constant (most / n)^(1/4), T being Tango's statistic of a pairs for and b against.

    `rows[n - 1][b]` is the smallest a that reaches it after n pairs; no a does for a b beyond the row's end.
    """

    margin: Fraction
    constant: float
    rows: tuple[tuple[int, ...], ...]

    def met(self, a: int, b: int, n: int) -> bool:
        """True if a pairs for and b against in n pairs are on the boundary or beyond it."""
        row = self.rows[n - 1]
        return b < len(row) and a >= row[b]

    @cached_property
    def by_discordant(self) -> tuple[tuple[int, ...], ...]:
        """`[n - 1][m]`: the smallest a that reaches it if m of n pairs differ; m + 1 if none does."""
        found = []
        for n, row in enumerate(self.rows, 1):
            a, firsts = 0, []
            for m in range(n + 1):
                # a pair against more never helps, and one for more makes up for it
                while a <= m and not (m - a < len(row) and a >= row[m - a]):
                    a += 1
                firsts.append(a)
            found.append(tuple(firsts))
        return tuple(found)


def boundary(most: int, margin: Fraction, constant: Fraction) -> Boundary:
    """The boundary of a plan of at most `most` pairs. See `Boundary`."""
    rows: list[tuple[int, ...]] = []
    for n in range(1, most + 1):
        row: list[int] = []
        reached = Limit(n, most, margin, constant).reached
        a = max(0, rows[-1][0] - 1) if rows and rows[-1] else 0
        while a > 0 and reached(a - 1, 0):
            a -= 1
        for b in range(n + 1):
            while a <= n - b and not reached(a, b):
                a += 1
            if a > n - b:
                break
            row.append(a)
        rows.append(tuple(row))
    return Boundary(margin, float(constant), tuple(rows))


@dataclass(frozen=True)
class StoppingTable:
    """A sequential design: at most `most` pairs, looked at after every complete one, KEEP before CUT.

    A useless component is kept with a chance of at most `alpha`; one that adds `delta` everywhere is cut with one
    of at most `beta`. `keep` takes (u, v), `cut` takes (v, u): u pairs only WITH passed, v only WITHOUT did.
    """

    most: int
    alpha: float
    delta: float
    beta: float
    keep: Boundary
    cut: Boundary

    def look(self, n: int, u: int, v: int) -> Literal["keep", "cut"] | None:
        """What n complete pairs show; None: go on, or, at n = most, neither. ValueError for impossible counts."""
        self._check(n, u, v)
        if self.keep.met(u, v, n):
            return "keep"
        return "cut" if self.cut.met(v, u, n) else None

    def harm(self, n: int, u: int, v: int) -> bool:
        """True if WITHOUT is ahead by as much as WITH would have to be for KEEP; by symmetry at the same level."""
        self._check(n, u, v)
        return self.keep.met(v, u, n)

    def keep_unreachable(self, n: int, u: int, v: int) -> bool:
        """True if not even a plan whose every further pair speaks for WITH could end in KEEP.

        The boundary falls with n, and every pair for WITH raises the statistic: so the last look decides.
        """
        self._check(n, u, v, first=0)
        return not self.keep.met(u + self.most - n, v, self.most)

    def _check(self, n: int, u: int, v: int, first: int = 1) -> None:
        check_pairs(u, v, n)
        if not first <= n <= self.most:
            raise ValueError(f"{n} pairs are outside a plan of {self.most}")


def decided(table: StoppingTable, steps: Sequence[tuple[bool, bool]]) -> tuple[int, Literal["keep", "cut"] | None]:
    """The first look that decides, over pairs of (WITH passed, WITHOUT passed) in index order: (pairs seen, verdict).

    Pairs beyond the plan are not looked at.
    """
    u = v = n = 0
    for n, (on, off) in enumerate(steps[: table.most], 1):
        u, v = u + (on and not off), v + (off and not on)
        verdict = table.look(n, u, v)
        if verdict is not None:
            return n, verdict
    return n, None
