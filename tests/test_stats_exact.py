"""The exact tests and the number of trials they need: reference values, scipy, level, power."""

import json
from collections.abc import Callable
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.benefit import benefit_below, score_z
from kcut.stats.binomial import binomial_mass, hypergeometric_mass
from kcut.stats.exact import boschloo, fisher_one_sided, fisher_two_sided
from kcut.stats.maximum import PRECISION, ROUGH, ROUGH_FROM, maximum
from kcut.stats.planning import MOST, has_power, needed_k

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())


def table(row: dict[str, Any]) -> tuple[int, int, int, int]:
    (x1, n1), (x2, n2) = row["with_"], row["without"]
    return x1, n1, x2, n2


def chance(n: int, x: int, p: float) -> float:
    return float(comb(n, x) * p**x * (1 - p) ** (n - x))


def name(row: dict[str, Any]) -> str:
    return "-".join(map(str, table(row)))


@pytest.mark.parametrize("row", ORACLE["two_sample_p"], ids=name)
def test_reference_fisher_and_boschloo(row: dict[str, Any]) -> None:
    assert fisher_one_sided(*table(row)) == pytest.approx(row["fisher_one_sided"], rel=1e-13)
    assert boschloo(*table(row)) == pytest.approx(row["boschloo_one_sided"], rel=1e-12)


@pytest.mark.parametrize("row", ORACLE["fixed_k_cut_one_sided"], ids=name)
def test_reference_benefit_below(row: dict[str, Any]) -> None:
    assert score_z(*table(row), row["delta"]) == pytest.approx(row["score_z"], abs=6e-9)
    assert benefit_below(*table(row), row["delta"]) == pytest.approx(row["p_value"], abs=6e-9)


counts = st.integers(1, 14).flatmap(
    lambda n1: st.integers(1, 14).flatmap(
        lambda n2: st.tuples(st.integers(0, n1), st.just(n1), st.integers(0, n2), st.just(n2))
    )
)


@settings(deadline=None)
@given(counts)
def test_fisher_agrees_with_scipy(four: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = four
    rows = [[x1, n1 - x1], [x2, n2 - x2]]
    assert fisher_one_sided(*four) == pytest.approx(scipy_stats.fisher_exact(rows, "greater").pvalue, rel=1e-9)
    assert fisher_two_sided(*four) == pytest.approx(scipy_stats.fisher_exact(rows).pvalue, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(counts)
def test_boschloo_agrees_with_scipy(four: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = four
    expected = scipy_stats.boschloo_exact([[x1, x2], [n1 - x1, n2 - x2]], "greater", n=64).pvalue
    found = boschloo(*four)
    if found <= ROUGH_FROM:
        assert found == pytest.approx(expected, rel=1e-6)
    else:
        assert found == pytest.approx(expected, rel=ROUGH)


def slow_boschloo(x1: int, n1: int, x2: int, n2: int) -> float:
    """By the definition, table by table, on a dense grid."""
    seen = fisher_one_sided(x1, n1, x2, n2)
    region = [
        (a, b)
        for a, b in product(range(n1 + 1), range(n2 + 1))
        if fisher_one_sided(a, n1, b, n2) <= seen * (1 + 1e-12)
    ]
    return max(sum(chance(n1, a, p) * chance(n2, b, p) for a, b in region) for p in (i / 400 for i in range(401)))


def slow_benefit_below(x1: int, n1: int, x2: int, n2: int, delta: float) -> float:
    seen = score_z(x1, n1, x2, n2, delta)
    region = [(a, b) for a, b in product(range(n1 + 1), range(n2 + 1)) if score_z(a, n1, b, n2, delta) <= seen + 1e-9]
    grid = ((1 - delta) * i / 400 for i in range(401))
    return max(sum(chance(n1, a, min(1.0, p + delta)) * chance(n2, b, p) for a, b in region) for p in grid)


@settings(max_examples=25, deadline=None)
@given(counts)
def test_both_tests_agree_with_their_definitions(four: tuple[int, int, int, int]) -> None:
    for found, slow in (
        (boschloo(*four), slow_boschloo(*four)),
        (benefit_below(*four, 0.2), slow_benefit_below(*four, 0.2)),
    ):
        # the grid misses the top by little, and kcut's maximum misses nothing
        spare = PRECISION if found <= ROUGH_FROM else ROUGH
        assert slow * (1 - spare) - 1e-12 <= found <= slow * 1.002 + 1e-12


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (5, 5), (7, 3), (12, 12), (4, 19), (16, 16)])
@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5, 0.9])
def test_the_score_orders_tables_like_a_staircase(n1: int, n2: int, delta: float) -> None:
    score = {(x, y): score_z(x, n1, y, n2, delta) for x in range(n1 + 1) for y in range(n2 + 1)}
    for (x, y), z in score.items():
        if x < n1:
            assert score[x + 1, y] >= z - 1e-9
        if y < n2:
            assert score[x, y + 1] <= z + 1e-9


@pytest.mark.parametrize("n", [3, 5, 8])
def test_better_results_have_smaller_p(n: int) -> None:
    for x, y in product(range(n), range(1, n + 1)):
        here, better = boschloo(x, n, y, n), min(boschloo(x + 1, n, y, n), boschloo(x, n, y - 1, n))
        assert better <= here * (1 + ROUGH)
        here_cut, better_cut = benefit_below(x, n, y, n, 0.2), benefit_below(x + 1, n, y, n, 0.2)
        assert better_cut >= here_cut * (1 - ROUGH)


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_useless_components_are_kept_at_most_at_the_level(k: int, p: float) -> None:
    """All tables of k trials, weighed by their chance when the component does nothing, or adds exactly delta."""
    kept = sum(
        chance(k, x, p) * chance(k, y, p)
        for x, y in product(range(k + 1), repeat=2)
        if x > y and boschloo(x, k, y, k) <= 0.05
    )
    assert kept <= 0.05
    helps = min(1.0, p + 0.2)
    if p <= 0.8:
        cut = sum(
            chance(k, x, helps) * chance(k, y, p)
            for x, y in product(range(k + 1), repeat=2)
            if benefit_below(x, k, y, k, 0.2) <= 0.10
        )
        assert cut <= 0.10


def test_at_three_trials_only_all_against_none_is_evidence() -> None:
    significant = [(x, y) for x, y in product(range(4), repeat=2) if boschloo(x, 3, y, 3) <= 0.05]
    assert significant == [(3, 0)]


@pytest.mark.parametrize("test", [fisher_one_sided, fisher_two_sided, boschloo])
@pytest.mark.parametrize("four", [(1, 0, 0, 1), (2, 1, 0, 1), (0, 1, -1, 1), (0, 0, 0, 0)])
def test_impossible_tables_are_refused(test: Callable[..., float], four: tuple[int, int, int, int]) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        test(*four)


def test_many_trials_end_and_agree_with_the_normal_approximation() -> None:
    p = boschloo(320, 500, 290, 500)
    z = (320 - 290) / 500 / (2 * 0.61 * 0.39 / 500) ** 0.5
    assert p == pytest.approx(scipy_stats.norm.sf(z), rel=0.05)
    z = score_z(320, 500, 290, 500, 0.2)
    assert benefit_below(320, 500, 290, 500, 0.2) == pytest.approx(scipy_stats.norm.cdf(z), rel=0.3)


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0, 1).filter(lambda p: p == 0 or p > 1e-300))
def test_binomial_masses_agree_with_scipy(n: int, p: float) -> None:
    first, masses = binomial_mass(n, p)
    expected = scipy_stats.binom.pmf(range(first, first + len(masses)), n, p)
    assert masses == pytest.approx(expected, rel=1e-9, abs=1e-13)
    assert sum(masses) == pytest.approx(1)


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.data())
def test_hypergeometric_masses_agree_with_combinatorics(n1: int, n2: int, data: st.DataObject) -> None:
    s = data.draw(st.integers(0, n1 + n2))
    low, masses = hypergeometric_mass(n1, n2, s)
    expected = [comb(n1, x) * comb(n2, s - x) / comb(n1 + n2, s) for x in range(low, low + len(masses))]
    assert masses == pytest.approx(expected, rel=1e-11)
    assert low == max(0, s - n2)
    assert low + len(masses) - 1 == min(n1, s)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_the_maximum_is_the_maximum(weights: list[float]) -> None:
    n = len(weights) - 1

    def curve(p: float) -> float:
        return sum(weight * chance(n, s, p) for s, weight in enumerate(weights))

    found = maximum(curve, n)
    densest = max(curve(i / 2000) for i in range(2001))
    assert found >= densest * (1 - ROUGH) - 1e-15
    assert found <= densest + n * n / 2000**2 + 1e-12
    for limit in (densest * 0.9, densest * 1.1 + 1e-6):
        assert (maximum(curve, n, limit=limit) > limit) == (densest > limit)


@pytest.mark.parametrize("row", ORACLE["plan_power80_alpha05"], ids=lambda row: f"{row['p_without']}-{row['p_with']}")
def test_reference_numbers_of_trials(row: dict[str, Any]) -> None:
    off, on, k = row["p_without"], row["p_with"], row["fixed_k"]
    assert needed_k(off, on) == k
    digits = row["fixed_power"]
    assert has_power(k, off, on, alpha=0.05, power=digits - 5e-5)
    assert not has_power(k, off, on, alpha=0.05, power=digits + 6e-5)


def exact_power(k: int, off: float, on: float) -> float:
    return sum(
        chance(k, x, on) * chance(k, y, off)
        for x, y in product(range(k + 1), repeat=2)
        if x > y and boschloo(x, k, y, k) <= 0.05
    )


@pytest.mark.parametrize(("off", "on"), [(0.5, 1.0), (0.2, 0.9), (0.05, 0.6), (0.1, 0.8)])
def test_power_is_that_of_the_test_itself(off: float, on: float) -> None:
    for k in range(2, 13):
        power = exact_power(k, off, on)
        assert has_power(k, off, on, alpha=0.05, power=power - 1e-9)
        assert not has_power(k, off, on, alpha=0.05, power=power + 1e-9)


def test_power_is_a_sawtooth_and_the_number_lies_behind_its_last_tooth() -> None:
    enough = [k for k in range(60, 75) if has_power(k, 0.2, 0.4, alpha=0.05, power=0.80)]
    assert 65 in enough
    assert 67 not in enough
    assert needed_k(0.2, 0.4) == 69


@pytest.mark.parametrize(("off", "on"), [(0.5, 0.9), (0.2, 0.6), (0.6, 0.95), (0.05, 0.3), (0.75, 1.0), (0.0, 0.5)])
def test_the_search_begins_early_enough(off: float, on: float) -> None:
    found = needed_k(off, on)
    assert found is not None
    enough = [has_power(k, off, on, alpha=0.05, power=0.80) for k in range(1, found + 20)]
    assert not enough[found - 2]
    assert all(enough[found - 1 :])


def test_beyond_what_is_planned_for() -> None:
    assert needed_k(0.5, 0.55) is None
    assert MOST == 500
    with pytest.raises(ValueError, match="no gain"):
        needed_k(0.5, 0.5)
