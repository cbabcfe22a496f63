"""Tests of order over several tasks and cohorts, and limits of outliers: against enumeration and scipy."""

import random
from fractions import Fraction
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kcut.stats.diagnostics import OUTLYING, modified_z_scores, runs_test
from kcut.stats.evenness import FEWEST, few_runs, outlier_limit, rates_differ, runs_of

OUTCOMES = st.lists(st.booleans(), max_size=8)


def orders(passes: int, n: int) -> list[tuple[bool, ...]]:
    """Every order of n outcomes with so many passes."""
    return [tuple(place in chosen for place in range(n)) for chosen in combinations(range(n), passes)]


def test_runs() -> None:
    assert [runs_of(text) for text in ([], [True], [True, True, False], [True, False, True])] == [0, 1, 2, 3]


@pytest.mark.parametrize(("passes", "n"), [(1, 2), (2, 5), (4, 8), (1, 9), (7, 9), (5, 10)])
def test_few_runs_against_every_order(passes: int, n: int) -> None:
    every = orders(passes, n)
    for outcomes in every:
        least = Fraction(sum(runs_of(other) <= runs_of(outcomes) for other in every), len(every))
        assert few_runs([outcomes]) == pytest.approx(float(least), abs=1e-12)


def test_few_runs_of_several_sequences_against_every_order() -> None:
    parts = [orders(2, 4), orders(1, 3), orders(3, 5)]
    every = list(product(*parts))
    totals = [sum(map(runs_of, sequences)) for sequences in every]
    for sequences, total in list(zip(every, totals, strict=True))[::7]:
        share = sum(other <= total for other in totals) / len(totals)
        assert few_runs(sequences) == pytest.approx(share, abs=1e-12)


def test_sequences_without_a_change_say_nothing() -> None:
    assert few_runs([]) is None
    assert few_runs([[True] * 5, [False], []]) is None
    telling = [True, True, False, False]
    assert few_runs([telling, [True] * 30]) == few_runs([telling]) == pytest.approx(2 / 6)


@given(OUTCOMES, OUTCOMES)
def test_few_runs_are_a_chance_and_know_no_sides(one: list[bool], other: list[bool]) -> None:
    found = few_runs([one, other])
    turned = few_runs([[not outcome for outcome in one], other[::-1]])
    assert found == (turned if turned is None else pytest.approx(turned))
    assert found is None or 0 < found <= 1


@given(OUTCOMES)
def test_one_sequence_is_the_runs_test(outcomes: list[bool]) -> None:
    alone = runs_test(outcomes)
    assert few_runs([outcomes]) == (None if alone is None else pytest.approx(alone.p_few))


def test_many_trials() -> None:
    halves = [True] * 300 + [False] * 300
    assert 0 < (few_runs([halves]) or 1) < 1e-100
    # mean 301, standard deviation 12.2: the normal approximation with half a run of correction
    assert few_runs([([True] * 2 + [False] * 2) * 150]) == pytest.approx(
        stats.norm.cdf((300.5 - 301) / 12.24), abs=0.01
    )


@pytest.mark.parametrize("table", [(3, 5, 1, 6), (0, 4, 4, 4), (2, 2, 0, 9), (10, 20, 9, 21), (1, 1, 0, 1)])
def test_one_stratum_is_fishers_test(table: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = table
    cells = [[x1, n1 - x1], [x2, n2 - x2]]
    tails = [stats.fisher_exact(cells, alternative=side).pvalue for side in ("greater", "less")]
    assert rates_differ([table]) == pytest.approx(min(1.0, 2 * min(tails)))


def test_strata_against_every_assignment() -> None:
    first, second = [True, True, False, True, False], [False, False, True, False]
    tables = []
    sums = []
    for chosen, other in product(combinations(range(5), 2), combinations(range(4), 2)):
        sums.append(sum(first[at] for at in chosen) + sum(second[at] for at in other))
        one, two = sum(first[at] for at in chosen), sum(second[at] for at in other)
        tables.append([(one, 2, sum(first) - one, 3), (two, 2, sum(second) - two, 2)])
    for table, seen in zip(tables, sums, strict=True):
        up, down = (sum(test(other, seen) for other in sums) / len(sums) for test in (int.__ge__, int.__le__))
        assert rates_differ(table) == pytest.approx(min(1.0, 2 * min(up, down)))


def test_strata_that_say_nothing() -> None:
    assert rates_differ([]) is None
    assert rates_differ([(3, 3, 2, 2), (0, 0, 1, 4), (0, 3, 0, 4)]) is None


def test_limits_fall_with_the_number_of_values_and_rise_with_certainty() -> None:
    for level in (0.01, 0.005, 0.001):
        limits = [outlier_limit(n, level) for n in range(FEWEST, 501)]
        assert limits == sorted(limits, reverse=True)
        assert min(limits) >= OUTLYING
    assert outlier_limit(20, 0.001) > outlier_limit(20, 0.01)
    assert outlier_limit(100_000, 0.005) > outlier_limit(500, 0.005)
    assert outlier_limit(50, 0.5) == OUTLYING
    with pytest.raises(ValueError, match="4 values"):
        outlier_limit(4, 0.01)


@pytest.mark.parametrize("n", [5, 6, 9, 14, 30, 60])
def test_normal_values_stay_within_the_limit(n: int) -> None:
    draw = random.Random(n)
    limit, samples = outlier_limit(n, 0.01), 1500
    passed = sum(
        max(map(abs, modified_z_scores([draw.gauss(0, 1) for _ in range(n)]) or [])) > limit for _ in range(samples)
    )
    assert passed / samples < 0.021  # 0.01, and four standard deviations
