"""Many tables decided at once: as the exact p of each would, with few of them computed."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.stats.benefit import benefit_below
from kcut.stats.exact import boschloo
from kcut.stats.settled import Settled, below, gains, proves

SIZES = ((4, 4), (7, 5), (12, 12))


def tables(n1: int, n2: int) -> list[tuple[int, int, int, int]]:
    return [(x1, n1, x2, n2) for x1, x2 in product(range(n1 + 1), range(n2 + 1))]


def test_order_settles_what_the_exact_test_says() -> None:
    for n1, n2 in SIZES:
        keeps, cuts = gains(0.05), below(0.2, 0.1)
        keeps.settle(tables(n1, n2))
        cuts.settle(tables(n1, n2))
        for table in tables(n1, n2):
            assert keeps.holds(table) is proves(boschloo(*table), 0.05)
            assert cuts.holds(table) is proves(benefit_below(*table, 0.2), 0.1)


@settings(max_examples=30, deadline=None)
@given(st.permutations(tables(5, 5)))
def test_in_whatever_order_they_are_asked(asked: list[tuple[int, int, int, int]]) -> None:
    keeps = gains(0.05)
    assert {table for table in asked if keeps.holds(table)} == {
        table for table in asked if proves(boschloo(*table), 0.05)
    }


def test_few_are_computed() -> None:
    """Of 441 tables of 20 against 20, those about the level settle the rest."""
    computed = []

    def test(table: tuple[int, int, int, int]) -> float:
        computed.append(table)
        return boschloo(*table)

    known = gains(0.05)
    counted = Settled(test, known._order, 0.05, known._guess)  # the same test, counted
    counted.settle(tables(20, 20))
    assert len(computed) < 40
