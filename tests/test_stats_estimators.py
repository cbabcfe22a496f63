"""Estimators and intervals: reference values, identities, undefined cases."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from kcut.stats.estimators import median, pass_at_k, pass_hat_k
from kcut.stats.intervals import clopper_pearson, miettinen_nurminen, newcombe, tango, wilson
from kcut.stats.normal import upper_point, upper_tail
from kcut.stats.tango import tango_score

ORACLE: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "statistics.json").read_text())


def value(number: list[int] | float) -> float:
    return number[0] / number[1] if isinstance(number, list) else number


@pytest.mark.parametrize("row", ORACLE["pass_k"], ids=lambda row: f"{row['n']}-{row['c']}-{row['k']}")
def test_reference_pass_k(row: dict[str, Any]) -> None:
    assert pass_at_k(row["n"], row["c"], row["k"]) == pytest.approx(value(row["pass_at_k"]), rel=1e-15, abs=0)
    assert pass_hat_k(row["n"], row["c"], row["k"]) == pytest.approx(value(row["pass_hat_k"]), rel=1e-15, abs=0)


@pytest.mark.parametrize(("n", "c", "k"), ORACLE["pass_k_undefined"])
def test_too_few_trials_are_undefined(n: int, c: int, k: int) -> None:
    assert pass_at_k(n, c, k) is None
    assert pass_hat_k(n, c, k) is None


@pytest.mark.parametrize(
    ("n", "c", "k", "at", "hat"),
    [(5, 2, 3, 0.9, 0.0), (4, 1, 3, 0.75, 0.0), (3, 3, 3, 1.0, 1.0), (3, 0, 3, 0.0, 0.0)],
)
def test_reported_pass_k(n: int, c: int, k: int, at: float, hat: float) -> None:
    assert pass_at_k(n, c, k) == pytest.approx(at)
    assert pass_hat_k(n, c, k) == hat


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, 1, 0), (-1, 0, 1), (3, -1, 1), (0, 0, 0), (-1, -1, 5)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    for estimator in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match=r"cannot be|at least 1"):
            estimator(n, c, k)


@settings(deadline=None)
@given(n=st.integers(1, 60), data=st.data())
def test_identities(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    at, hat = pass_at_k(n, c, k), pass_hat_k(n, c, k)
    assert at is not None
    assert hat is not None
    assert pass_at_k(n, c, n) == (1.0 if c >= 1 else 0.0)
    assert pass_hat_k(n, c, n) == (1.0 if c == n else 0.0)
    assert pass_at_k(n, c, 1) == pass_hat_k(n, c, 1) == c / n
    assert 0 <= hat <= c / n <= at <= 1
    # the chance that some of k pass, and that all of k fail, are one
    mirrored = pass_hat_k(n, n - c, k)
    assert mirrored is not None
    assert at == pytest.approx(1 - mirrored, abs=1e-15)
    if c < n:
        more_at, more_hat = pass_at_k(n, c + 1, k), pass_hat_k(n, c + 1, k)
        assert more_at is not None
        assert more_hat is not None
        assert at <= more_at
        assert hat <= more_hat


def test_large_counts_are_exact() -> None:
    assert pass_at_k(5000, 1, 2500) == 0.5
    assert pass_hat_k(5000, 4999, 2500) == 0.5


@pytest.mark.parametrize("row", ORACLE["proportion_interval_95"], ids=lambda row: f"{row['successes']}-{row['n']}")
def test_reference_wilson(row: dict[str, Any]) -> None:
    assert wilson(row["successes"], row["n"]) == pytest.approx(tuple(row["wilson"]), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    "row", ORACLE["newcombe_95"], ids=lambda row: f"{row['x1']}-{row['n1']}-{row['x2']}-{row['n2']}"
)
def test_reference_newcombe(row: dict[str, Any]) -> None:
    interval = newcombe(row["x1"], row["n1"], row["x2"], row["n2"])
    assert interval == pytest.approx(tuple(row["interval"]), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("row", ORACLE["proportion_interval_95"], ids=lambda row: f"{row['successes']}-{row['n']}")
def test_reference_clopper_pearson(row: dict[str, Any]) -> None:
    found = clopper_pearson(row["successes"], row["n"])
    assert found == pytest.approx(tuple(row["clopper_pearson"]), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize(
    "row", ORACLE["miettinen_nurminen_95"], ids=lambda row: f"{row['x1']}-{row['n1']}-{row['x2']}-{row['n2']}"
)
def test_reference_miettinen_nurminen(row: dict[str, Any]) -> None:
    interval = miettinen_nurminen(row["x1"], row["n1"], row["x2"], row["n2"])
    assert interval == pytest.approx(tuple(row["interval"]), abs=5.1e-5)


@pytest.mark.parametrize("row", ORACLE["tango_95"], ids=lambda row: f"{row['u']}-{row['v']}-{row['n']}")
def test_reference_tango(row: dict[str, Any]) -> None:
    assert tango(row["u"], row["v"], row["n"]) == pytest.approx(tuple(row["interval"]), rel=1e-12, abs=1e-14)


@settings(deadline=None)
@given(n=st.integers(1, 300), level=st.sampled_from([0.8, 0.9, 0.95, 0.99]), data=st.data())
def test_clopper_pearson_agrees_with_scipy(n: int, level: float, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    found = clopper_pearson(c, n, level=level)
    expected = scipy_stats.binomtest(c, n).proportion_ci(level, method="exact")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-11)
    assert found is not None
    assert 0 <= found[0] <= c / n <= found[1] <= 1


@settings(deadline=None)
@given(n1=st.integers(1, 60), n2=st.integers(1, 60), data=st.data())
def test_miettinen_nurminen_holds_the_difference_and_mirrors(n1: int, n2: int, data: st.DataObject) -> None:
    x1, x2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    found, mirrored = miettinen_nurminen(x1, n1, x2, n2), miettinen_nurminen(x2, n2, x1, n1)
    assert found is not None
    assert mirrored == pytest.approx((-found[1], -found[0]), abs=1e-9)
    assert -1 <= found[0] <= (x1 * n2 - x2 * n1) / (n1 * n2) <= found[1] <= 1
    wider = miettinen_nurminen(x1, n1, x2, n2, level=0.99)
    assert wider is not None
    assert wider[0] <= found[0] + 1e-12
    assert found[1] <= wider[1] + 1e-12


@settings(deadline=None)
@given(n=st.integers(1, 200), data=st.data())
def test_tango_holds_the_difference_mirrors_and_ends_at_the_normal_point(n: int, data: st.DataObject) -> None:
    u = data.draw(st.integers(0, n))
    v = data.draw(st.integers(0, n - u))
    found, mirrored = tango(u, v, n), tango(v, u, n)
    assert found is not None
    assert mirrored == pytest.approx((-found[1], -found[0]), abs=1e-9)
    assert -1 <= found[0] <= (u - v) / n <= found[1] <= 1
    if found[0] > -1 and u + v:
        assert tango_score(u, v, n, found[0]) == pytest.approx(1.959964, abs=1e-3)


def test_intervals_of_very_many_trials_end() -> None:
    n = 50_000
    for interval in (clopper_pearson(30_000, n), miettinen_nurminen(30_000, n, 0, n), tango(30_000, 0, n)):
        assert interval is not None
        assert 0.595 < interval[0] < 0.6 < interval[1] < 0.605


@settings(deadline=None)
@given(st.floats(1e-12, 0.999))
def test_normal_points_agree_with_scipy(tail: float) -> None:
    z = upper_point(tail)
    assert z == pytest.approx(scipy_stats.norm.isf(tail), rel=1e-9, abs=1e-9)
    assert upper_tail(z) == pytest.approx(tail, rel=1e-9)


def test_levels_and_counts_that_cannot_be_are_refused() -> None:
    for bad in (0.0, 1.0, -1.0):
        with pytest.raises(ValueError, match="between 0 and 1"):
            clopper_pearson(1, 2, level=bad)
        with pytest.raises(ValueError, match="between 0 and 1"):
            upper_point(bad)
    with pytest.raises(ValueError, match="cannot be"):
        clopper_pearson(3, 2)
    with pytest.raises(ValueError, match="cannot be"):
        miettinen_nurminen(3, 2, 1, 2)
    with pytest.raises(ValueError, match="cannot be"):
        tango(2, 1, 2)
    assert clopper_pearson(0, 0) is None
    assert miettinen_nurminen(0, 0, 1, 2) is None
    assert tango(0, 0, 0) is None


@settings(deadline=None)
@given(n=st.integers(1, 300), data=st.data())
def test_wilson_agrees_with_scipy_and_holds_the_rate(n: int, data: st.DataObject) -> None:
    c = data.draw(st.integers(0, n))
    found = wilson(c, n)
    assert found is not None
    expected = scipy_stats.binomtest(c, n).proportion_ci(method="wilson")
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert 0 <= found[0] <= c / n <= found[1] <= 1
    mirrored = wilson(n - c, n)
    assert mirrored == pytest.approx((1 - found[1], 1 - found[0]), abs=1e-12)


@settings(deadline=None)
@given(n1=st.integers(1, 80), n2=st.integers(1, 80), data=st.data())
def test_newcombe_holds_the_difference_and_mirrors(n1: int, n2: int, data: st.DataObject) -> None:
    x1, x2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    found, mirrored = newcombe(x1, n1, x2, n2), newcombe(x2, n2, x1, n1)
    assert found is not None
    assert mirrored == pytest.approx((-found[1], -found[0]), abs=1e-12)
    gain = float(Fraction(x1, n1) - Fraction(x2, n2))
    assert -1 <= found[0] <= gain <= found[1] <= 1


def test_no_trials_no_interval() -> None:
    assert wilson(0, 0) is None
    assert newcombe(0, 0, 1, 2) is None
    assert newcombe(1, 2, 0, 0) is None
    with pytest.raises(ValueError, match="cannot be"):
        wilson(3, 2)


@pytest.mark.parametrize(
    ("values", "middle"), [([], None), ([3.0], 3.0), ([4, 1], 2.5), ([9, 1, 5], 5), ([1, 2, 3, 10], 2.5)]
)
def test_median(values: list[float], middle: float | None) -> None:
    assert median(values) == middle
