"""Fixed numbers of trials: exact error rates of the rules, non-inferiority, very large tables."""

import json
from itertools import product
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.benefit import benefit_below, restricted_rate, score_z
from kcut.stats.binomial import hypergeometric_tail
from kcut.stats.exact import ENUMERATED, boschloo, fisher_one_sided, fisher_two_sided
from kcut.stats.fixed import boschloo_rate, keep_region, point_rule_rate
from kcut.stats.intervals import newcombe
from kcut.stats.large import Score, large_benefit_below
from kcut.stats.noninferior import noninferior

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())
RATES = tuple(i / 10 for i in range(1, 10))


def chance(n: int, x: int, p: float) -> float:
    return float(comb(n, x) * p**x * (1 - p) ** (n - x))


@pytest.mark.parametrize("p", ORACLE["seed_rule_false_keep_no_effect"])
def test_reference_false_keeps_of_the_point_rule(p: str) -> None:
    for k, rate in ORACLE["seed_rule_false_keep_no_effect"][p].items():
        assert point_rule_rate(int(k), float(p), float(p)) == pytest.approx(rate, abs=5.1e-5)


def test_the_point_rule_keeps_every_other_useless_component_however_many_trials() -> None:
    rates = [point_rule_rate(k, 0.5, 0.5) for k in (3, 5, 10, 100, 1000)]
    assert [round(rate, 3) for rate in rates[:3]] == [0.344, 0.377, 0.412]
    assert rates == sorted(rates)
    assert rates[-1] < 0.5
    # ten of them at ten trials: one at least
    assert 1 - (1 - rates[2]) ** 10 == pytest.approx(0.995, abs=5e-4)


@pytest.mark.parametrize("row", ORACLE["plan_power80_alpha05"], ids=lambda row: f"{row['p_without']}-{row['p_with']}")
def test_reference_power(row: dict[str, Any]) -> None:
    power = boschloo_rate(row["fixed_k"], row["p_without"], row["p_with"])
    assert power == pytest.approx(row["fixed_power"], abs=5.1e-5)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 10, 20, 40])
def test_useless_components_are_kept_at_most_at_the_level(k: int) -> None:
    for alpha in (0.05, 0.10):
        for p in RATES:
            assert boschloo_rate(k, p, p, alpha=alpha) <= alpha
            assert boschloo_rate(k, p, p, alpha=alpha) <= point_rule_rate(k, p, p)


@pytest.mark.parametrize("k", [1, 3, 5, 8, 11])
def test_the_region_is_that_of_the_test_itself(k: int) -> None:
    for alpha in (0.05, 0.2):
        edges = keep_region(k, alpha)
        for x, y in product(range(k + 1), repeat=2):
            assert (y <= edges[x]) == (boschloo(x, k, y, k) <= alpha)
    for off, on in ((0.3, 0.3), (0.2, 0.9), (0.0, 1.0)):
        pairs = [(x, y, chance(k, x, on) * chance(k, y, off)) for x, y in product(range(k + 1), repeat=2)]
        assert point_rule_rate(k, off, on) == pytest.approx(sum(mass for x, y, mass in pairs if x > y))
        kept = sum(mass for x, y, mass in pairs if y <= keep_region(k)[x])
        assert boschloo_rate(k, off, on) == pytest.approx(kept)


def test_rates_and_numbers_that_cannot_be_are_refused() -> None:
    for rate in (point_rule_rate, boschloo_rate):
        with pytest.raises(ValueError, match="at least 1"):
            rate(0, 0.5, 0.5)
        with pytest.raises(ValueError, match="between 0 and 1"):
            rate(3, 0.5, 1.5)


tables = st.integers(1, 14).flatmap(
    lambda n1: st.integers(1, 14).flatmap(
        lambda n2: st.tuples(st.integers(0, n1), st.just(n1), st.integers(0, n2), st.just(n2))
    )
)


@settings(deadline=None, max_examples=25)
@given(tables, st.sampled_from([0.1, 0.2, 0.4]))
def test_noninferiority_agrees_with_its_definition(table: tuple[int, int, int, int], margin: float) -> None:
    x1, n1, x2, n2 = table
    seen = score_z(*table, -margin)
    region = [
        (a, b) for a, b in product(range(n1 + 1), range(n2 + 1)) if score_z(a, n1, b, n2, -margin) >= seen - 1e-9
    ]
    slow = max(
        sum(chance(n1, a, p) * chance(n2, b, min(1.0, p + margin)) for a, b in region)
        for p in ((1 - margin) * i / 400 for i in range(401))
    )
    found = noninferior(*table, margin)
    assert slow * (1 - 1e-3) - 1e-12 <= found <= slow * 1.002 + 1e-12
    if x1 < n1:
        assert noninferior(x1 + 1, n1, x2, n2, margin) <= found * 1.001


@pytest.mark.parametrize("k", [5, 8, 12])
def test_worse_components_pass_as_no_worse_at_most_at_the_level(k: int) -> None:
    passing = [(x, y) for x, y in product(range(k + 1), repeat=2) if noninferior(x, k, y, k, 0.1) <= 0.05]
    for i in range(10):
        p = 0.1 + 0.9 * i / 9
        assert sum(chance(k, x, max(0.0, p - 0.1)) * chance(k, y, p) for x, y in passing) <= 0.05


LARGE = [
    (25_400, 50_000, 25_000, 50_000),
    (47_000, 50_000, 1_905, 2_000),
    (61, 100, 24_500, 49_000),
    (520, 600, 380, 500),
]


@pytest.mark.parametrize("table", LARGE)
def test_fisher_of_large_tables_agrees_with_scipy(table: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = table
    assert n1 + n2 > ENUMERATED
    one = scipy_stats.hypergeom.sf(x1 - 1, n1 + n2, x1 + x2, n1)
    assert fisher_one_sided(*table) == pytest.approx(one, rel=1e-7)
    assert boschloo(*table) == fisher_one_sided(*table)
    two = scipy_stats.fisher_exact([[x1, n1 - x1], [x2, n2 - x2]]).pvalue
    assert fisher_two_sided(*table) == pytest.approx(two, rel=1e-6)


@settings(deadline=None)
@given(st.integers(1, 400), st.integers(1, 400), st.data())
def test_hypergeometric_tails_agree_with_whole_numbers(n1: int, n2: int, data: st.DataObject) -> None:
    x1, x2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    found = hypergeometric_tail(x1, n1, x1 + x2, n2)
    assert found == pytest.approx(fisher_one_sided(x1, n1, x2, n2), rel=1e-9)


@pytest.mark.parametrize("table", [(130, 200, 110, 200), (40, 100, 100, 250), (295, 300, 270, 300)])
def test_above_the_limit_little_changes(table: tuple[int, int, int, int]) -> None:
    x1, n1, x2, n2 = table
    assert n1 + n2 <= ENUMERATED
    exact = benefit_below(*table, 0.2)
    assert large_benefit_below(*table, 0.2) == pytest.approx(exact, rel=1e-6, abs=1e-15)
    assert boschloo(*table) <= fisher_one_sided(*table) <= 1.5 * boschloo(*table)
    assert hypergeometric_tail(x1, n1, x1 + x2, n2) == pytest.approx(fisher_one_sided(*table), rel=1e-9)


def test_large_tables_agree_with_the_normal_approximation() -> None:
    for table in ((30_000, 50_000, 20_300, 50_000), (1_800, 3_000, 1_230, 3_000)):
        p = benefit_below(*table, 0.2)
        assert p == pytest.approx(scipy_stats.norm.cdf(score_z(*table, 0.2)), rel=0.05)
        assert p == noninferior(table[2], table[3], table[0], table[1], 0.2)
        assert newcombe(*table) is not None


def test_hopeless_large_tables_end_at_the_smallest_number_told_apart() -> None:
    assert benefit_below(25_000, 50_000, 25_000, 50_000, 0.2) == 1e-15
    assert benefit_below(50_000, 50_000, 0, 50_000, 0.2) == pytest.approx(1.0)
    assert fisher_one_sided(50_000, 50_000, 0, 50_000) == 1e-300
    assert fisher_one_sided(0, 50_000, 50_000, 50_000) == 1.0
    assert fisher_two_sided(50_000, 50_000, 0, 50_000) == 2e-300
    assert fisher_two_sided(0, 50_000, 0, 50_000) == 1.0


@settings(deadline=None, max_examples=30)
@given(st.integers(501, 3000), st.sampled_from([0.05, 0.2, 0.5]), st.data())
def test_closed_and_halved_rates_are_the_same(n: int, delta: float, data: st.DataObject) -> None:
    x1, x2 = data.draw(st.integers(0, n)), data.draw(st.integers(0, 600))
    assert Score(n, 600, delta).restricted(x1, x2) == pytest.approx(restricted_rate(x1, n, x2, 600, delta), abs=1e-6)
