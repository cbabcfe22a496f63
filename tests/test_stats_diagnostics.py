"""Run checks and adjusted p-values."""

import json
from itertools import groupby, permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.diagnostics import OUTLYING, halves, modified_z_scores, outliers, runs_test
from kcut.stats.exact import fisher_two_sided
from kcut.stats.multiple import benjamini_hochberg, holm

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())


@pytest.mark.parametrize("outcomes", ["PPPFFF", "PFPFPF", "PPFPPPF", "PFFFF", "PF"])
def test_runs_are_counted_over_every_order(outcomes: str) -> None:
    orders = set(permutations(outcomes))
    counts = [sum(1 for _ in groupby(order)) for order in orders]
    found = runs_test([outcome == "P" for outcome in outcomes])
    assert found is not None
    assert found.runs == sum(1 for _ in groupby(outcomes))
    assert found.expected == pytest.approx(sum(counts) / len(counts))
    assert found.p_few == pytest.approx(sum(count <= found.runs for count in counts) / len(counts))
    assert found.p_many == pytest.approx(sum(count >= found.runs for count in counts) / len(counts))


def test_a_run_that_broke_off_is_told_from_a_mixed_one() -> None:
    broken = runs_test([True] * 10 + [False] * 10)
    mixed = runs_test([True, False, False, True, True] * 4)
    assert broken is not None
    assert mixed is not None
    assert broken.p_few < 0.0001
    assert mixed.p_few > 0.05
    assert runs_test([True] * 5) is runs_test([]) is None


@pytest.mark.parametrize("n", [999, 1001])
def test_runs_of_very_many_outcomes(n: int) -> None:
    found = runs_test([i * i % 7 < 3 for i in range(n)])
    assert found is not None
    near = runs_test([i * i % 7 < 3 for i in range(1000)])
    assert near is not None
    assert found.p_many == pytest.approx(near.p_many, rel=0.2, abs=1e-12)
    long = runs_test([i % 2 == 0 for i in range(100_000)])
    assert long is not None
    assert long.p_many == 0
    assert long.p_few == 1


def test_outliers_stick_out() -> None:
    assert outliers([2.1, 2.6, 2.4, 2.5, 2.3, 2.1, 2.3, 2.6, 8.2, 8.3]) == (8, 9)
    assert outliers([10.0, 11.0, 9.0, 10.5, 9.5]) == ()
    assert outliers([-100.0, 1.0, 2.0, 3.0]) == (0,)
    assert outliers([1.0, 2.0]) == outliers([]) == outliers([5.0] * 9) == ()


def test_half_of_the_values_equal_leave_the_mean_deviation() -> None:
    values = [1.0] * 9 + [50.0]
    scores = modified_z_scores(values)
    assert scores is not None
    assert scores[:9] == [0] * 9
    assert scores[9] == pytest.approx(49 / (1.253314 * 4.9))
    assert outliers(values) == (9,)
    assert modified_z_scores([3.0] * 4) is None


@settings(deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=3, max_size=20), st.integers(1, 9), st.integers(-9, 9))
def test_scores_do_not_hang_on_the_unit(values: list[int], factor: int, shift: int) -> None:
    here, there = modified_z_scores(values), modified_z_scores([factor * value + shift for value in values])
    assert (here is None) == (there is None)
    if here is not None:
        assert there == pytest.approx(here, abs=1e-9)
        assert all((abs(score) > OUTLYING) == (i in outliers(values)) for i, score in enumerate(here))


def test_halves_of_a_run() -> None:
    found = halves([True] * 6 + [False] + [False] * 6)
    assert found is not None
    assert (found.early, found.late) == ((6, 6), (0, 6))
    assert found.change == -1
    assert found.p == fisher_two_sided(6, 6, 0, 6) < 0.01
    assert halves([]) is halves([True]) is None
    pair = halves([False, True])
    assert pair is not None
    assert pair.change == pair.p == 1


def test_reference_adjustments() -> None:
    row = ORACLE["multiplicity"]
    assert holm(row["p"]) == pytest.approx(row["holm"], abs=1e-12)
    assert benjamini_hochberg(row["p"]) == pytest.approx(row["bh"], rel=1e-12)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_adjustments_agree_with_scipy_in_any_order(p_values: list[float], random: Any) -> None:
    random.shuffle(p_values)
    claims, screens = holm(p_values), benjamini_hochberg(p_values)
    assert screens == pytest.approx(list(scipy_stats.false_discovery_control(p_values)), rel=1e-12)
    for p, claim, screen in zip(p_values, claims, screens, strict=True):
        assert p <= screen * (1 + 1e-12)
        assert screen <= claim * (1 + 1e-12)
        assert claim <= min(1.0, len(p_values) * p) or p > 0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [claims[i] for i in order] == sorted(claims)
    assert [screens[i] for i in order] == sorted(screens)


def test_what_is_no_p_value_is_refused() -> None:
    assert holm([]) == benjamini_hochberg([]) == []
    for adjust in (holm, benjamini_hochberg):
        for bad in (-0.1, 1.1, float("nan")):
            with pytest.raises(ValueError, match="not a p-value"):
                adjust([0.5, bad])
