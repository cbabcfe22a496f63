"""The two rules."""

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.decision import decide, void_balance
from kcut.model.artifact import CohortSummary, Decision
from kcut.model.outcome import SIDES, Cohort
from kcut.model.trial import TrialRecord
from kcut.rates import point_rule
from kcut.summary import of_cohort, summarise
from tests.records import a_run, an_attempt


def cohort(successes: int, valid: int, k: int | None = None) -> CohortSummary:
    """A cohort of k planned trials, of which `valid` count."""
    planned = valid if k is None else k
    attempts = [an_attempt(pair, outcome="pass" if pair < successes else "fail") for pair in range(valid)]
    attempts += [an_attempt(pair, outcome="void", reason="quota") for pair in range(valid, planned)]
    return summarise(planned, attempts)


def trials(on: Sequence[str], off: Sequence[str]) -> list[TrialRecord]:
    """Trials by outcome; `vpass` had a void attempt first, `void` stayed void."""
    attempts = []
    for name, outcomes in (("with", on), ("without", off)):
        for pair, outcome in enumerate(outcomes):
            retried = outcome.startswith("v") and outcome != "void"
            if retried:
                attempts.append(an_attempt(pair, name, "void", reason="overloaded"))
            last = outcome.removeprefix("v") if retried else outcome
            reason = "overloaded" if last == "void" else None
            attempts.append(an_attempt(pair, name, last, attempt=1 + retried, reason=reason))
    return attempts


def decided(attempts: Sequence[TrialRecord], k: int, **plan: Any) -> Decision:
    on, off = (summarise(k, of_cohort(attempts, name)) for name in (Cohort.WITH, Cohort.WITHOUT))
    return decide(a_run(k=k, **plan).plan, attempts, on, off)


def counted(x: int, n: int, y: int, **plan: Any) -> Decision:
    """x of n WITH against y of n WITHOUT."""
    rows = [["pass"] * c + ["fail"] * (n - c) for c in (x, y)]
    return decided(trials(*rows), n, **plan)


@pytest.mark.parametrize(
    ("on", "off", "passed", "reason"),
    [
        ((5, 5), (2, 5), True, "the success rate rose from 0.40 to 1.00"),
        ((2, 5), (2, 5), False, "the success rate is 0.40 in both cohorts"),
        ((1, 5), (3, 5), False, "the success rate fell from 0.60 to 0.20"),
        ((5, 5), (5, 5), False, "the success rate is 1.00 in both cohorts"),
        ((0, 5), (0, 5), False, "the success rate is 0.00 in both cohorts"),
        ((2, 3), (3, 5), True, "the success rate rose from 0.60 to 0.67"),
        ((101, 201), (100, 200), True, "the success rate rose from 0.50 (1/2) to 0.50 (101/201)"),
    ],
)
def test_point_rule(on: tuple[int, int], off: tuple[int, int], passed: bool, reason: str) -> None:
    point = point_rule(cohort(*on), cohort(*off))
    assert (point.passed, point.reason) == (passed, reason)


def test_a_void_never_makes_a_pass() -> None:
    """All passed WITH; WITHOUT all that ran passed too, and one trial stayed void."""
    on, off = cohort(5, 5), cohort(4, 4, k=5)
    assert on.pass_caret
    assert not off.pass_caret
    assert not point_rule(on, off).passed


def test_a_cohort_without_valid_trials_fails() -> None:
    assert point_rule(cohort(0, 0, k=2), cohort(0, 2)).reason == "no trial of the WITH cohort is valid"
    assert not point_rule(cohort(2, 2), cohort(0, 0, k=2)).passed
    assert not point_rule(cohort(0, 0, k=2), cohort(0, 2), "-1").passed


@pytest.mark.parametrize(
    ("on", "off", "gain", "passed"),
    [
        ((7, 10), (6, 10), "0.1", True),
        ((3, 10), (2, 10), "0.1", True),
        ((8, 10), (7, 10), "0.1", True),
        ((2, 3), (1, 3), "1/3", True),
        ((2, 3), (1, 3), "0.3333333333333334", False),
        ((2, 3), (1, 3), "0.3333333333333333", True),
        ((5, 5), (4, 5), "0.2", True),
        ((5, 5), (4, 5), "0.21", False),
        ((4, 10), (5, 10), "-0.1", True),
        ((5, 5), (5, 5), "0", True),
        ((2, 5), (5, 5), "0", False),
    ],
)
def test_min_gain_is_exact(on: tuple[int, int], off: tuple[int, int], gain: str, passed: bool) -> None:
    assert point_rule(cohort(*on), cohort(*off), gain).passed is passed


def test_min_gain_in_words() -> None:
    assert point_rule(cohort(7, 10), cohort(6, 10), "0.1").reason == "a gain of +0.10 meets --min-gain 0.1"
    assert point_rule(cohort(2, 3), cohort(1, 3), "0.5").reason == "a gain of +0.33 (1/3) is short of --min-gain 0.5"


@pytest.mark.parametrize(("x", "y"), [(7, 6), (3, 2), (8, 7)])
def test_a_gain_of_a_tenth_is_a_tenth(x: int, y: int) -> None:
    assert counted(x, 10, y).difference == 0.1


def test_keep() -> None:
    found = counted(5, 5, 2)
    assert found.verdict == "keep"
    assert found.method == "boschloo"
    assert (found.alpha, found.delta, found.pairs, found.needed_k) == (0.05, 0.2, 5, None)
    assert found.p_value == pytest.approx(0.03092404517250955)
    assert found.difference == 0.6
    assert found.interval == pytest.approx((0.029789890791841578, 0.8823792257673522))
    assert found.statistic is None


def test_cut() -> None:
    found = counted(0, 5, 2)
    assert (found.verdict, found.needed_k, found.difference) == ("cut", None, -0.4)
    assert found.p_value_cut == pytest.approx(0.02256166, abs=1e-8)
    assert found.p_value == pytest.approx(1)


@pytest.mark.parametrize(
    ("x", "n", "y", "needed"),
    [
        (8, 10, 5, 32),  # from 0.5 to 0.8: the gain that was seen
        (5, 10, 5, 75),  # to 0.7: delta, since less was seen
        (4, 10, 5, 75),
        (1, 3, 1, None),
        (5, 5, 5, None),  # nothing is left to gain
        (9, 10, 9, None),
        (0, 5, 0, 40),  # planned for a WITHOUT rate of 0.05
        (3, 5, 4, 20),  # all that is left, exactly delta
    ],
)
def test_inconclusive_says_how_many_trials_are_needed(x: int, n: int, y: int, needed: int | None) -> None:
    found = counted(x, n, y)
    assert found.verdict == "inconclusive"
    if (x, n, y) == (1, 3, 1):
        assert found.needed_k is not None
    elif (x, n, y) == (3, 5, 4):
        assert found.needed_k is not None
        assert 15 < found.needed_k < 40
    else:
        assert found.needed_k == needed


def test_more_trials_than_are_ever_planned() -> None:
    assert counted(5, 10, 5, delta=0.05).needed_k is None


@pytest.mark.parametrize("x", [0, 20])
def test_a_saturated_task_cuts_nothing(x: int) -> None:
    found = counted(x, 20, x)
    assert found.p_value_cut is not None
    assert found.p_value_cut < 0.10
    assert found.verdict == "inconclusive"


def test_all_passed_against_none_failed_but_one_is_not_saturated() -> None:
    assert counted(19, 20, 20).verdict == "cut"


def test_keep_goes_before_cut() -> None:
    """A small gain, well measured: it is there, and it is less than delta."""
    found = counted(320, 500, 270, delta=0.20)
    assert found.p_value is not None
    assert found.p_value_cut is not None
    assert found.p_value <= 0.05
    assert found.p_value_cut <= 0.10
    assert found.verdict == "keep"


def test_voids_in_one_cohort_take_a_keep_back() -> None:
    clean = decided(trials(["pass"] * 8, ["fail"] * 8), 8)
    upset = decided(trials(["vpass"] * 5 + ["pass"] * 3, ["fail"] * 8), 8)
    even = decided(trials(["vpass"] * 5 + ["pass"] * 3, ["vfail"] * 5 + ["fail"] * 3), 8)
    assert (clean.verdict, upset.verdict, even.verdict) == ("keep", "inconclusive", "keep")
    assert upset.p_value == clean.p_value


def test_a_keep_that_rests_on_what_stayed_void_is_taken_back() -> None:
    plan = a_run(k=5).plan
    attempts = trials(["pass"] * 4 + ["void"], ["fail"] * 3 + ["pass"] + ["void"])
    on, off = (summarise(5, of_cohort(attempts, name)) for name in (Cohort.WITH, Cohort.WITHOUT))
    balance = void_balance(plan, attempts)
    assert (balance.with_trials, balance.without_trials, balance.p) == (1, 1, 1.0)
    assert balance.flips
    found = decide(plan, attempts, on, off)
    assert found.p_value is not None
    assert found.p_value <= 0.05
    assert found.verdict == "inconclusive"
    assert found.pairs == 4
    robust = decided(trials(["pass"] * 9 + ["void"], ["fail"] * 9 + ["void"]), 10)
    assert robust.verdict == "keep"


def mirrored(attempts: Sequence[TrialRecord]) -> list[TrialRecord]:
    """The same with the cohorts' names exchanged."""
    return [
        an_attempt(
            record.key.pair,
            "without" if record.key.cohort is Cohort.WITH else "with",
            record.outcome.value,
            attempt=record.attempt,
            reason=record.reason.value if record.reason else None,
        )
        for record in attempts
    ]


outcomes = st.sampled_from(["pass", "fail", "pass", "fail", "void", "vpass", "vfail"])


@st.composite
def runs(draw: st.DrawFn) -> tuple[int, list[TrialRecord]]:
    k = draw(st.integers(1, 9))
    on, off = (draw(st.lists(outcomes, min_size=k, max_size=k)) for _ in SIDES)
    attempts = trials(on, off)
    if any(all(outcome == "void" for outcome in side) for side in (on, off)):
        attempts = trials(["pass", *on[1:]], ["fail", *off[1:]])
    return k, attempts


@settings(deadline=None, max_examples=60)
@given(runs())
def test_exchanged_cohorts_are_never_both_kept(run: tuple[int, list[TrialRecord]]) -> None:
    k, attempts = run
    here, there = decided(attempts, k), decided(mirrored(attempts), k)
    assert not (here.verdict == there.verdict == "keep")
    if here.verdict == "keep":
        # what helps is not worse than nothing, and its mirror image is no benefit
        assert here.difference is not None
        assert here.difference > 0
        assert there.difference == -here.difference
        assert there.p_value is not None
        assert there.p_value > 0.5
    assert here.p_value is not None
    assert there.p_value is not None
    assert max(here.p_value, there.p_value) > 0.25


@settings(deadline=None, max_examples=40)
@given(runs(), st.randoms(use_true_random=False))
def test_neither_the_order_of_records_nor_of_pairs_matters(
    run: tuple[int, list[TrialRecord]], shuffler: random.Random
) -> None:
    k, attempts = run
    here = decided(attempts, k)
    mixed = list(attempts)
    shuffler.shuffle(mixed)
    assert decided(mixed, k) == here
    order = list(range(k))
    shuffler.shuffle(order)
    renumbered = [
        an_attempt(
            order[record.key.pair],
            record.key.cohort.value,
            record.outcome.value,
            attempt=record.attempt,
            reason=record.reason.value if record.reason else None,
        )
        for record in attempts
    ]
    assert decided(renumbered, k) == here


def test_one_more_success_never_turns_a_keep_away() -> None:
    for n in (3, 5, 8):
        for x, y in product(range(n), range(n + 1)):
            if counted(x, n, y).verdict == "keep":
                assert counted(x + 1, n, y).verdict == "keep"


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_point_rule_compares_exact_fractions(n1: int, n2: int, data: st.DataObject) -> None:
    x1, x2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    gain = Fraction(x1, n1) - Fraction(x2, n2)
    on, off = cohort(x1, n1), cohort(x2, n2)
    assert point_rule(on, off).passed is (gain > 0)
    assert point_rule(on, off, str(gain)).passed
    assert not point_rule(on, off, str(gain + Fraction(1, 10**9))).passed
