"""Sequential designs and the e-process: reference tables, error rates by brute force, properties."""

import json
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.stats.eprocess import e_keeps, e_value
from kcut.stats.operating import operating, operating_steps
from kcut.stats.paths import MOST_PAIRS, paths
from kcut.stats.sequential import SPARE, UNIT, design, keep_boundary, noninferior_boundary
from kcut.stats.sequential_plan import MOST_PLANNED, keep_power, sequential_plan
from kcut.stats.stopping import Boundary, StoppingTable, boundary, decided
from kcut.stats.tango import Limit, tango_score

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())
RATES = tuple(i / 10 for i in range(1, 10))


@pytest.mark.parametrize("most", ORACLE["sequential_boundaries"])
def test_reference_tables(most: str) -> None:
    table, row = design(int(most)), ORACLE["sequential_boundaries"][most]
    assert table.keep.constant == row["c_keep"]
    assert table.cut.constant == row["c_cut_delta20_beta10"]
    assert [list(line) for line in table.keep.rows] == [line["keep_min_u_for_v"] for line in row["rows"]]
    assert [list(line) for line in table.cut.rows] == [line["cut_min_v_for_u"] for line in row["rows"]]


@pytest.mark.parametrize(("key", "alpha"), [("c_keep_alpha05", 0.05), ("c_keep_alpha10", 0.10)])
def test_reference_keep_constants(key: str, alpha: float) -> None:
    for most, constant in ORACLE[key].items():
        assert keep_boundary(int(most), alpha).constant == constant


def test_reference_cut_constants() -> None:
    for most, constant in ORACLE["c_cut_delta20_beta10"].items():
        assert design(int(most)).cut.constant == constant


def test_reference_noninferiority_constants() -> None:
    assert noninferior_boundary(20, 0.10).constant == 1.9410
    assert noninferior_boundary(20, 0.20).constant == 1.9850


@pytest.mark.parametrize("row", ORACLE["operating_K20"], ids=lambda row: f"{row['p_without']}-{row['p_with']}")
def test_reference_operating_characteristics(row: dict[str, Any]) -> None:
    found = operating(design(20), row["p_without"], row["p_with"])
    assert found.keep == pytest.approx(row["keep"], rel=1e-12)
    assert found.cut == pytest.approx(row["cut"], rel=1e-12)
    assert found.inconclusive == pytest.approx(row["inconclusive"], rel=1e-12)
    assert found.mean_pairs == pytest.approx(row["mean_pairs"], rel=1e-12)
    assert found.unreachable == 0


def test_ending_when_keep_is_out_of_reach_costs_no_power() -> None:
    for p_without, p_with in ((0.5, 0.5), (0.5, 0.7), (0.2, 0.6)):
        on = operating(design(20), p_without, p_with, cut=False)
        ended = operating(design(20), p_without, p_with, cut=False, stop_unreachable=True)
        assert ended.keep == pytest.approx(on.keep, rel=1e-12)
        assert ended.inconclusive == pytest.approx(ended.unreachable) == pytest.approx(1 - ended.keep)
    useless = operating(design(20), 0.5, 0.5, cut=False, stop_unreachable=True)
    assert round(useless.mean_pairs, 1) == 13.6
    # with a boundary for harm that mirrors KEEP, as many pairs are saved on either side
    going_on = operating(design(20), 0.5, 0.5, cut=False)
    assert round(2 * going_on.mean_pairs - 20, 1) == 19.4


@pytest.mark.parametrize("most", [3, 5, 8, 10, 13, 20, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.10])
def test_useless_components_are_kept_at_most_at_the_level(most: int, alpha: float) -> None:
    table = design(most, alpha)
    for p in RATES:
        assert operating(table, p, p, cut=False).keep <= alpha
        assert operating(table, p, p).keep <= alpha
    assert max(operating_steps(table, r / 400, r / 400, cut=False).keep for r in range(101)) <= alpha


@pytest.mark.parametrize("most", [3, 5, 10, 20, 30])
@pytest.mark.parametrize(("delta", "beta"), [(0.20, 0.10), (0.10, 0.20), (0.35, 0.05)])
def test_components_that_help_are_cut_at_most_at_the_level(most: int, delta: float, beta: float) -> None:
    table = design(most, 0.05, delta, beta)
    for i in range(21):
        p = (1 - delta) * i / 20
        assert operating(table, p, min(1.0, p + delta)).cut <= beta


@pytest.mark.parametrize("margin", [0.10, 0.20])
def test_worse_components_pass_as_no_worse_at_most_at_the_level(margin: float) -> None:
    ends = paths(20, noninferior_boundary(20, margin)).keep
    for i in range(21):
        p = (1 - margin) * i / 20
        assert ends.chance(p * (1 - p - margin), (p + margin) * (1 - p)) <= 0.05


@pytest.mark.parametrize("most", [5, 10, 20, 30])
def test_no_smaller_constant_keeps_the_level(most: int) -> None:
    """One digit less fails, at the null, or for a constant smaller by the spare."""
    for alpha in (0.05, 0.10):
        units = round(keep_boundary(most, alpha).constant * UNIT) - 1
        smaller = paths(most, boundary(most, Fraction(0), Fraction(units, UNIT) - SPARE)).keep
        assert max(smaller.chance(r / 400, r / 400) for r in range(101)) > alpha


def test_drift_and_a_fixed_mix_of_tasks_do_not_raise_false_keeps() -> None:
    """Pair by pair other rates, the same in both cohorts: the chance is computed over all states."""
    table = design(20)
    for rates in ([0.7] * 10 + [0.5] * 10, [0.1, 0.9, 0.5, 0.3] * 5, [i / 20 for i in range(20)]):
        states: dict[tuple[int, int], float] = {(0, 0): 1.0}
        kept = 0.0
        for n, p in enumerate(rates, 1):
            following: dict[tuple[int, int], float] = {}
            for (u, v), mass in states.items():
                for du, dv, chance in ((1, 0, p * (1 - p)), (0, 1, p * (1 - p)), (0, 0, 1 - 2 * p * (1 - p))):
                    if table.look(n, u + du, v + dv) == "keep":
                        kept += mass * chance
                    else:
                        state = (u + du, v + dv)
                        following[state] = following.get(state, 0.0) + mass * chance
            states = following
        assert kept <= 0.05


def every_run(most: int) -> Iterator[tuple[int, ...]]:
    return product((1, 0, -1), repeat=most)


@pytest.mark.parametrize("most", [5, 8])
def test_chances_are_those_of_every_single_run(most: int) -> None:
    table = design(most)
    up, down = 0.37, 0.21
    totals = {"keep": 0.0, "cut": 0.0, "none": 0.0, "pairs": 0.0}
    for run in every_run(most):
        mass = 1.0
        for step in run:
            mass *= {1: up, 0: 1 - up - down, -1: down}[step]
        n, verdict = decided(table, [(step > 0, step < 0) for step in run])
        totals[verdict or "none"] += mass
        totals["pairs"] += mass * n
    found = operating_steps(table, up, down)
    assert found.keep == pytest.approx(totals["keep"])
    assert found.cut == pytest.approx(totals["cut"])
    assert found.inconclusive == pytest.approx(totals["none"])
    assert found.mean_pairs == pytest.approx(totals["pairs"])


@lru_cache(maxsize=4)
def reachable(table: StoppingTable, n: int, u: int, v: int) -> bool:
    """By trying every continuation."""
    if n and table.keep.met(u, v, n):
        return True
    if n == table.most:
        return False
    return any(reachable(table, n + 1, u + du, v + dv) for du, dv in ((1, 0), (0, 1), (0, 0)))


def test_keep_is_called_unreachable_exactly_when_it_is() -> None:
    table = design(10)
    for n in range(11):
        for u in range(n + 1):
            for v in range(n - u + 1):
                if n == 0 or not table.keep.met(u, v, n):
                    assert table.keep_unreachable(n, u, v) == (not reachable(table, n, u, v)), (n, u, v)


@settings(deadline=None)
@given(st.sampled_from([5, 10, 20, 37]), st.data())
def test_looks_are_monotone_and_harm_mirrors_keep(most: int, data: st.DataObject) -> None:
    table = design(most)
    n = data.draw(st.integers(1, most))
    u = data.draw(st.integers(0, n))
    v = data.draw(st.integers(0, n - u))
    verdict = table.look(n, u, v)
    assert table.harm(n, v, u) == (verdict == "keep")
    if verdict == "keep":
        assert u > v
        assert not table.keep_unreachable(n, u, v)
        if u + v < n:
            assert table.look(n, u + 1, v) == "keep"
        if v:
            assert table.look(n, u, v - 1) == "keep"
    elif verdict == "cut":
        if u + v < n:
            assert table.look(n, u, v + 1) == "cut"
        if u:
            assert table.look(n, u - 1, v) == "cut"


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 25), st.sampled_from([0.0, 0.1, 0.2, 0.55]), st.floats(0.5, 3))
def test_boundaries_are_those_of_the_statistic(most: int, margin: float, constant: float) -> None:
    c = Fraction(round(constant * UNIT), UNIT)
    found = boundary(most, Fraction(str(margin)), c)
    for n in range(1, most + 1):
        for u in range(n + 1):
            for v in range(n - u + 1):
                score, limit = tango_score(u, v, n, -margin), float(c) * (most / n) ** 0.25
                if abs(score - limit) > 1e-9:
                    assert found.met(u, v, n) == (score > limit)
                assert tango_score(v, u, n, margin) == pytest.approx(-score, abs=1e-6)


def test_a_tie_with_the_boundary_reaches_it() -> None:
    # without a pair that differs T(-.2) is sqrt(n / 4): 2 after 16 pairs, exactly the limit
    assert Limit(16, 16, Fraction(1, 5), Fraction(2)).reached(0, 0)
    assert not Limit(16, 16, Fraction(1, 5), Fraction(20001, 10000)).reached(0, 0)
    assert not Limit(15, 16, Fraction(1, 5), Fraction(2)).reached(0, 0)
    # T(0) is 2 for four pairs against none
    assert Limit(16, 16, Fraction(0), Fraction(2)).reached(4, 0)
    assert not Limit(16, 16, Fraction(0), Fraction(20001, 10000)).reached(4, 0)


def test_the_statistic_where_it_is_undefined_or_the_counts_cannot_be() -> None:
    assert tango_score(0, 0, 0, 0.0) == tango_score(0, 0, 5, 0.0) == 0
    assert tango_score(3, 1, 9, 0.0) == pytest.approx(1.0)
    assert tango_score(0, 0, 16, 0.2) == pytest.approx(-2.0)
    for u, v, n in ((2, 2, 3), (-1, 0, 3), (0, -1, 3)):
        with pytest.raises(ValueError, match="cannot be"):
            tango_score(u, v, n, 0.0)


def test_looks_outside_the_plan_are_refused() -> None:
    table = design(5)
    for n, u, v in ((0, 0, 0), (6, 0, 0)):
        with pytest.raises(ValueError, match="outside a plan"):
            table.look(n, u, v)
    with pytest.raises(ValueError, match="cannot be"):
        table.look(3, 2, 2)
    for bad in (0, MOST_PAIRS + 1):
        with pytest.raises(ValueError, match="pairs, not"):
            design(bad)
        with pytest.raises(ValueError, match="pairs, not"):
            paths(bad, None)
    for levels in ((0.0, 0.2, 0.1), (0.05, 1.0, 0.1), (0.05, 0.2, 1.5)):
        with pytest.raises(ValueError, match="between 0 and 1"):
            design(5, *levels)
    with pytest.raises(ValueError, match="between 0 and 1"):
        operating(table, -0.1, 0.5)
    with pytest.raises(ValueError, match="exclude each other"):
        operating_steps(table, 0.6, 0.6)


def test_too_few_pairs_can_show_nothing() -> None:
    for most in (1, 2):
        table = design(most)
        assert table.keep == Boundary(Fraction(0), table.keep.constant, ((),) * most)
        assert table.keep_unreachable(0, 0, 0)
    assert decided(design(2), []) == (0, None)
    assert decided(design(5), [(True, False)] * 9) == (4, "keep")
    assert decided(design(5), [(False, True)] * 9) == (3, "cut")
    assert decided(design(5), [(True, True)] * 9) == (5, None)


@pytest.mark.parametrize("row", ORACLE["plan_power80_alpha05"], ids=lambda row: f"{row['p_without']}-{row['p_with']}")
def test_reference_sequential_plans(row: dict[str, Any]) -> None:
    plan = sequential_plan(row["p_without"], row["p_with"])
    assert plan is not None
    assert plan.max_pairs == row["sequential_max_pairs"]
    assert round(plan.mean_pairs, 1) == row["mean_pairs"]
    assert plan.power >= 0.80
    assert keep_power(plan.max_pairs - 1, row["p_without"], row["p_with"]) < 0.80


def test_small_effects_take_more_pairs_than_are_planned_for() -> None:
    assert MOST_PLANNED == 130
    assert sequential_plan(0.5, 0.6) is None
    for off, on in ((0.5, 0.5), (0.6, 0.5), (0.5, 1.1)):
        with pytest.raises(ValueError, match="no gain"):
            sequential_plan(off, on)


@pytest.mark.parametrize("row", ORACLE["e_value"], ids=lambda row: f"{row['u']}-{row['v']}")
def test_reference_e_values(row: dict[str, Any]) -> None:
    assert e_value(row["u"], row["v"]) == Fraction(*row["value"])


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_e_values_are_fair_bets_that_rise_with_evidence(u: int, v: int) -> None:
    here, won, lost = e_value(u, v), e_value(u + 1, v), e_value(u, v + 1)
    assert (won + lost) / 2 == here
    assert lost < here < won
    for alpha in (0.05, 0.1, 0.3):
        assert e_keeps(u, v, alpha) == (here >= 1 / Fraction(str(alpha)))


def test_e_values_at_and_near_the_threshold_are_decided_exactly() -> None:
    # 4/15 is no decimal: the one above it in its last digit is enough, the one below is not
    assert e_value(3, 0) == Fraction(15, 4)
    assert e_keeps(3, 0, 0.2666666666667)
    assert not e_keeps(3, 0, 0.2666666666666)
    assert e_keeps(1, 0, 0.66666666666667)
    assert not e_keeps(1, 0, 0.66666666666666)


def test_e_values_of_ten_thousand_pairs() -> None:
    assert e_keeps(10_000, 0)
    assert not e_keeps(0, 10_000)
    assert not e_keeps(10_000, 10_000)
    for v in range(9_400, 9_701, 100):
        assert e_keeps(10_000, v) == (e_value(10_000, v) >= 20)
    assert float(e_value(10_000, 10_000)) < 1 < inf


@pytest.mark.parametrize(("u", "v", "alpha"), [(-1, 0, 0.05), (0, -1, 0.05), (1, 1, 0.0), (1, 1, 1.0)])
def test_impossible_e_values_are_refused(u: int, v: int, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"cannot be|between 0 and 1"):
        e_keeps(u, v, alpha)
