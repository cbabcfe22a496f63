"""Several tasks: evidence over all of them, whether they differ, whether their sum misleads."""

import json
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.binomial import hypergeometric_mass, hypergeometric_window
from kcut.stats.cmh import Table, cmh_exact_one_sided
from kcut.stats.exact import fisher_one_sided
from kcut.stats.heterogeneity import chi_square_tail, homogeneity, simpson

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())

tables = st.tuples(st.integers(0, 7), st.integers(0, 7), st.integers(0, 7), st.integers(0, 7)).map(
    lambda four: (min(four[0], four[1]), four[1], min(four[2], four[3]), four[3])
)


def strata(row: dict[str, Any]) -> list[Table]:
    return [(on, n_on, off, n_off) for off, n_off, on, n_on in row["tables_off_n_on_n"]]


@pytest.mark.parametrize("row", ORACLE["cmh_exact_one_sided"], ids=lambda row: str(row["p"]))
def test_reference_cmh(row: dict[str, Any]) -> None:
    assert cmh_exact_one_sided(strata(row)) == pytest.approx(row["p"], abs=5.1e-7)
    x1, n1, x2, n2 = (sum(column) for column in zip(*strata(row), strict=True))
    assert fisher_one_sided(x1, n1, x2, n2) == pytest.approx(row["pooled_fisher"], abs=5.1e-7)


def test_a_value_at_the_level_is_exactly_there() -> None:
    assert cmh_exact_one_sided(strata(ORACLE["cmh_exact_one_sided"][0])) == 0.02
    assert cmh_exact_one_sided([(3, 3, 0, 3)]) == 0.05


def slow(rows: list[Table]) -> float:
    """By the definition, every combination of tables."""
    seen = sum(x1 for x1, _, _, _ in rows)
    options = [
        [(x, comb(n1, x) * comb(n2, x1 + x2 - x)) for x in range(max(0, x1 + x2 - n2), min(n1, x1 + x2) + 1)]
        for x1, n1, x2, n2 in rows
    ]
    reached = total = 0
    for choice in product(*options):
        ways = 1
        for _, count in choice:
            ways *= count
        total += ways
        if sum(x for x, _ in choice) >= seen:
            reached += ways
    return reached / total


@settings(deadline=None, max_examples=60)
@given(st.lists(tables, min_size=1, max_size=4))
def test_cmh_agrees_with_its_definition(rows: list[Table]) -> None:
    p = cmh_exact_one_sided(rows)
    assert p == pytest.approx(slow(rows), rel=1e-14)
    assert 0 < p <= 1
    # the tables of the other direction are the rest, and the ones seen
    turned = cmh_exact_one_sided([(x2, n2, x1, n1) for x1, n1, x2, n2 in rows])
    assert p + turned >= 1 - 1e-12
    for i, (x1, n1, x2, n2) in enumerate(rows):
        if x2 > 0 and x1 < n1:
            better = [*rows[:i], (x1 + 1, n1, x2 - 1, n2), *rows[i + 1 :]]
            assert cmh_exact_one_sided(better) <= p


@settings(deadline=None)
@given(tables)
def test_one_stratum_is_fishers_test(table: Table) -> None:
    if table[1] and table[3]:
        assert cmh_exact_one_sided([table]) == pytest.approx(fisher_one_sided(*table), rel=1e-14)


def test_many_and_large_strata_agree_with_whole_numbers() -> None:
    rows = [(2 + i % 3, 5, 1 + i % 4, 5) for i in range(60)]
    counted = sum(n1 + n2 for _, n1, _, n2 in rows)
    assert counted > 400
    half = rows[:40]
    doubled = cmh_exact_one_sided([*half, (1, 2, 1, 2)])
    assert doubled == pytest.approx(slow_by_counting([*half, (1, 2, 1, 2)]), rel=1e-12)
    assert cmh_exact_one_sided(rows) == pytest.approx(slow_by_counting(rows), rel=1e-12)
    large = [(260, 500, 240, 480), (30, 400, 20, 390)]
    assert cmh_exact_one_sided(large) == pytest.approx(slow_by_counting(large), rel=1e-10)


def slow_by_counting(rows: list[Table]) -> float:
    ways = {0: 1}
    for x1, n1, x2, n2 in rows:
        s = x1 + x2
        counts = [(x, comb(n1, x) * comb(n2, s - x)) for x in range(max(0, s - n2), min(n1, s) + 1)]
        following: dict[int, int] = {}
        for done, count in ways.items():
            for x, more in counts:
                following[done + x] = following.get(done + x, 0) + count * more
        ways = following
    seen = sum(x1 for x1, _, _, _ in rows)
    return sum(count for x, count in ways.items() if x >= seen) / sum(ways.values())


def test_hundreds_of_strata_and_large_tables_end() -> None:
    assert cmh_exact_one_sided([(2, 3, 1, 3)] * 600) == 1e-15
    assert cmh_exact_one_sided([(1, 3, 1, 3)] * 600) == pytest.approx(0.5, abs=0.03)
    assert 0 < cmh_exact_one_sided([(251, 500, 249, 500)] * 100) < 0.5
    assert 0 < cmh_exact_one_sided([(25_300, 50_000, 25_000, 50_000)]) < 0.05


def test_strata_that_say_nothing_change_nothing() -> None:
    row = [(3, 5, 1, 5)]
    assert cmh_exact_one_sided([*row, (5, 5, 5, 5), (0, 5, 0, 4), (0, 0, 2, 5), (1, 2, 0, 0)]) == cmh_exact_one_sided(
        row
    )
    assert cmh_exact_one_sided([]) == cmh_exact_one_sided([(0, 0, 1, 2)]) == 1.0
    for bad in ((3, 2, 0, 1), (0, 1, -1, 1)):
        with pytest.raises(ValueError, match="cannot be compared"):
            cmh_exact_one_sided([bad])


@settings(deadline=None)
@given(st.integers(0, 900), st.integers(0, 900), st.data())
def test_the_window_holds_all_that_counts(n1: int, n2: int, data: st.DataObject) -> None:
    s = data.draw(st.integers(0, n1 + n2))
    low, masses = hypergeometric_mass(n1, n2, s)
    first, window = hypergeometric_window(n1, n2, s)
    assert window == pytest.approx(masses[first - low : first - low + len(window)], rel=1e-9, abs=1e-300)
    assert sum(window) == pytest.approx(1)


def slow_homogeneity(rows: list[Table]) -> float:
    """By the definition: all combinations with these margins and as many passes in the first groups."""
    options = [
        [(x, comb(n1, x) * comb(n2, x1 + x2 - x)) for x in range(max(0, x1 + x2 - n2), min(n1, x1 + x2) + 1)]
        for x1, n1, x2, n2 in rows
    ]
    seen = 1
    for x1, n1, x2, n2 in rows:
        seen *= comb(n1, x1) * comb(n2, x2)
    unlikely = total = 0
    for choice in product(*options):
        if sum(x for x, _ in choice) == sum(x1 for x1, _, _, _ in rows):
            ways = 1
            for _, count in choice:
                ways *= count
            total += ways
            unlikely += ways if ways <= seen else 0
    return unlikely / total


@settings(deadline=None, max_examples=60)
@given(st.lists(tables, min_size=1, max_size=4))
def test_homogeneity_agrees_with_its_definition(rows: list[Table]) -> None:
    found = homogeneity(rows)
    telling = sum(1 for x1, n1, x2, n2 in rows if n1 and n2 and 0 < x1 + x2 < n1 + n2)
    if found is None:
        assert telling < 2
    else:
        assert found.method == "zelen"
        assert found.strata == telling
        assert found.p == pytest.approx(slow_homogeneity(rows), rel=1e-12)
        turned = homogeneity([(x2, n2, x1, n1) for x1, n1, x2, n2 in reversed(rows)])
        assert turned is not None
        assert turned.p == pytest.approx(found.p, rel=1e-12)


def test_opposite_effects_are_found_out_and_equal_ones_are_not() -> None:
    opposite = homogeneity([(9, 10, 1, 10), (1, 10, 9, 10)])
    equal = homogeneity([(7, 10, 3, 10)] * 4)
    assert opposite is not None
    assert equal is not None
    assert opposite.p < 1e-5
    assert equal.p == 1.0


def test_very_many_trials_are_left_to_the_asymptotic_test() -> None:
    rows = [(60, 100, 40, 100), (55, 90, 35, 100), (30, 80, 30, 80), (50, 120, 48, 110)]
    exact = homogeneity(rows)
    near = homogeneity([(10 * x1, 10 * n1, 10 * x2, 10 * n2) for x1, n1, x2, n2 in rows])
    assert exact is not None
    assert near is not None
    assert exact.method == "zelen"
    assert near.method == "breslow-day-tarone"
    assert near.p < exact.p
    same = homogeneity([(600, 1000, 400, 1000), (300, 500, 200, 500)])
    assert same is not None
    assert same.p == pytest.approx(1.0)
    extreme = homogeneity([(1000, 1000, 400, 1000), (500, 500, 200, 500)])
    assert extreme is not None
    assert extreme.p == 1.0


def test_the_asymptotic_test_nears_the_exact_one() -> None:
    rows = [(70, 120, 45, 118), (61, 130, 60, 128), (80, 125, 66, 130)]
    exact = homogeneity(rows)
    near = homogeneity([*rows, *[(0, 200, 0, 200)]])
    assert exact is not None
    assert near == exact
    padded = homogeneity([*rows, (350, 500, 250, 500), (240, 400, 160, 400)])
    assert padded is not None
    assert padded.method == "breslow-day-tarone"
    assert 0 < padded.p < 1


@settings(deadline=None)
@given(st.floats(0, 80), st.integers(1, 60))
def test_chi_square_tails_agree_with_scipy(x: float, freedom: int) -> None:
    assert chi_square_tail(x, freedom) == pytest.approx(scipy_stats.chi2.sf(x, freedom), rel=1e-9, abs=1e-300)


def test_simpsons_paradox_is_named() -> None:
    # better on both tasks, but tried on the hard one above all
    found = simpson([(9, 10, 80, 100), (30, 100, 2, 10)])
    assert found is not None
    assert found.pooled == pytest.approx(39 / 110 - 82 / 110)
    assert found.stratified == pytest.approx(0.1)
    assert found.reversed
    straight = simpson([(3, 5, 1, 5), (4, 5, 2, 5), (1, 3, 0, 0)])
    assert straight is not None
    assert straight.stratified == pytest.approx(0.4)
    assert not straight.reversed
    assert simpson([]) is simpson([(1, 2, 0, 0), (0, 0, 1, 3)]) is None
    with pytest.raises(ValueError, match="cannot be compared"):
        simpson([(3, 2, 0, 1)])
