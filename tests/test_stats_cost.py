"""Costs of two cohorts: the Hodges-Lehmann ratio and its exact interval."""

import json
from itertools import combinations
from math import exp, log, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.cost import cost_ratio, order_statistic, rank_tail
from kcut.stats.estimators import median
from kcut.stats.pairwise import pairwise_difference

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())

costs = st.lists(st.floats(0.01, 100), min_size=1, max_size=9)


@pytest.mark.parametrize("n", ORACLE["hodges_lehmann_order_statistics"])
def test_reference_order_statistics(n: str) -> None:
    row, size = ORACLE["hodges_lehmann_order_statistics"][n], int(n)
    assert order_statistic(size, size, 0.025) == row["c"] + 1
    assert 1 - 2 * rank_tail(size, size, row["c"]) == pytest.approx(row["coverage"], abs=5.1e-6)


def test_five_against_five_is_the_third_difference_from_either_end() -> None:
    with_, without = [1.0, 2.0, 4.0, 8.0, 16.0], [1.1, 2.3, 4.7, 9.1, 15.0]
    differences = sorted(log(a) - log(b) for a in with_ for b in without)
    found = cost_ratio(with_, without)
    assert found is not None
    assert found.low == pytest.approx(exp(differences[2]))
    assert found.high == pytest.approx(exp(differences[22]))
    assert found.ratio == pytest.approx(exp(differences[12]))
    assert found.coverage == pytest.approx(0.96825, abs=5e-6)
    # P(U <= 4) is .0476: the fifth from either end is the one-sided bound
    assert found.lower == pytest.approx(exp(differences[4]))
    assert found.upper == pytest.approx(exp(differences[20]))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 6), (3, 3), (4, 7), (6, 5)])
def test_rank_tails_are_those_of_every_arrangement(m: int, n: int) -> None:
    counts = [0] * (m * n + 1)
    for places in combinations(range(m + n), m):
        counts[sum(places) - m * (m - 1) // 2] += 1
    for u in range(m * n + 1):
        assert rank_tail(m, n, u) == pytest.approx(sum(counts[: u + 1]) / sum(counts), rel=1e-14)
    assert rank_tail(m, n, -1) == 0
    assert rank_tail(m, n, m * n + 5) == 1


def test_rank_tails_of_many_values_are_as_good_as_normal() -> None:
    for m, n in ((50, 50), (20, 125)):
        for u in (int(m * n * share) for share in (0.38, 0.42, 0.45)):
            exact = rank_tail(m, n, u)
            near = scipy_stats.norm.cdf((u + 0.5 - m * n / 2) / (m * n * (m + n + 1) / 12) ** 0.5)
            assert exact == pytest.approx(near, rel=0.05, abs=5e-4)
    # around the number from which on they are not counted
    exact_rank, near_rank = order_statistic(114, 114, 0.025), order_statistic(115, 114, 0.025)
    assert exact_rank is not None
    assert near_rank is not None
    assert near_rank / 115 == pytest.approx(exact_rank / 114, rel=1e-3)
    assert rank_tail(115, 114, near_rank - 1) <= 0.025 < rank_tail(115, 114, near_rank)
    # one value may have any rank among many: nothing normal about it
    assert order_statistic(1, 5000, 0.025) == 125


@settings(deadline=None)
@given(costs, costs)
def test_ratios_lie_in_their_interval_and_turn_over(with_: list[float], without: list[float]) -> None:
    found, turned = cost_ratio(with_, without), cost_ratio(without, with_)
    assert found is not None
    assert turned is not None
    assert turned.ratio == pytest.approx(1 / found.ratio)
    assert min(with_) / max(without) <= found.ratio * (1 + 1e-12)
    assert found.ratio <= max(with_) / min(without) * (1 + 1e-12)
    if found.low is not None:
        assert found.high is not None
        assert found.upper is not None
        assert found.lower is not None
        assert found.low <= found.lower <= found.ratio * (1 + 1e-12)
        assert found.ratio <= found.upper * (1 + 1e-12) <= found.high * (1 + 2e-12)
        assert turned.high == pytest.approx(1 / found.low)
        assert found.coverage is not None
        assert found.coverage >= 0.95
    doubled = cost_ratio([2 * cost for cost in with_], without)
    assert doubled is not None
    assert doubled.ratio == pytest.approx(2 * found.ratio)


def test_ratios_that_are_undefined() -> None:
    assert cost_ratio([], [1.0]) is None
    assert cost_ratio([1.0], []) is None
    for bad in (None, 0.0, -1.0, nan, float("inf")):
        assert cost_ratio([1.0, bad], [1.0, 2.0]) is None
        assert cost_ratio([1.0, 2.0], [1.0, bad]) is None


def test_three_against_three_bound_one_side_only() -> None:
    found = cost_ratio([1.0, 1.1, 1.2], [2.0, 2.1, 2.2])
    assert found is not None
    assert found.low is found.high is found.coverage is None
    assert found.upper == pytest.approx(1.2 / 2.0)
    assert found.lower == pytest.approx(1.0 / 2.2)
    assert order_statistic(2, 2, 0.05) is None
    # P(U <= 0) is exactly one tenth
    assert order_statistic(2, 3, 1 - 0.9) == 1


def test_a_cohort_twice_as_dear_is_found_out_among_a_thousand() -> None:
    without = [1.0 + (i * 7919 % 1000) / 500 for i in range(1000)]
    found = cost_ratio([2 * cost for cost in without], without)
    assert found is not None
    assert found.ratio == pytest.approx(2.0, rel=1e-3)
    assert found.low is not None
    assert found.high is not None
    assert 1.9 < found.low < 2 < found.high < 2.1
    assert found.coverage == pytest.approx(0.95, abs=1e-3)


def test_very_many_values_are_represented_by_some() -> None:
    without = [1.0 + (i * 7919 % 10_007) / 500 for i in range(12_000)]
    found = cost_ratio([1.3 * cost for cost in without], without)
    assert found is not None
    assert found.ratio == pytest.approx(1.3, rel=1e-3)
    assert found.low == pytest.approx(1.2823, abs=2e-3)
    assert found.high == pytest.approx(1.3179, abs=2e-3)


@settings(deadline=None, max_examples=20)
@given(st.integers(150, 260), st.integers(150, 260), st.integers(1, 40), st.data())
def test_selected_differences_are_the_sorted_ones(m: int, n: int, grain: int, data: st.DataObject) -> None:
    first = sorted((i * 7919 % 1009) / grain for i in range(m))
    second = sorted(float(i * 104729 % 997 // grain) for i in range(n))
    everything = sorted(x - y for x in first for y in second)
    for rank in (1, m * n, data.draw(st.integers(1, m * n)), (m * n + 1) // 2):
        assert pairwise_difference(first, second, rank) == everything[rank - 1]
    assert median(everything) is not None
    for bad in (0, m * n + 1):
        with pytest.raises(ValueError, match="there is no difference"):
            pairwise_difference(first, second, bad)
