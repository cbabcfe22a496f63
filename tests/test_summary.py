"""What a cohort did: counts, rates and economics from recorded attempts."""

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.model.artifact import CohortSummary, TokenCounts
from kcut.model.trial import Tokens, TrialRecord, Usage
from kcut.summary import final_trials, summarise, trial_rows
from tests.records import a_run, an_attempt


def cost(usd: float | None, turns: int | None = 4) -> Usage:
    return Usage(cost_usd=usd, turns=turns)


def test_a_whole_cohort() -> None:
    attempts = [an_attempt(pair, outcome="pass" if pair else "fail", wall_ms=100.0 * pair) for pair in range(4)]
    assert summarise(4, attempts) == CohortSummary(
        k=4,
        valid=4,
        successes=3,
        pass_at=True,
        pass_caret=False,
        success_rate=0.75,
        rate_interval=(0.30064184258240184, 0.9544127391902995),
        pass_at_k=1.0,
        pass_hat_k=0.0,
        total_cost_usd=0.4,
        mean_cost_per_trial=0.1,
        cost_per_success=0.4 / 3,
        tokens=TokenCounts(input=4000, output=200, cache_read=40, cache_creation=20),
        median_wall_ms=150.0,
        median_turns=3.0,
        voids={},
        void_attempts=0,
        void_cost_usd=0.0,
    )


def test_a_retried_void_counts_as_an_attempt_and_its_cost_is_apart() -> None:
    attempts = [
        an_attempt(0, outcome="void", reason="overloaded", attempt=1, usage=cost(0.03)),
        an_attempt(0, outcome="void", reason="overloaded", attempt=2, usage=cost(0.0)),
        an_attempt(0, outcome="pass", attempt=3, usage=cost(0.5)),
        an_attempt(1, outcome="fail", usage=cost(0.25)),
    ]
    found = summarise(2, attempts)
    assert (found.valid, found.successes, found.voids) == (2, 1, {})
    assert (found.void_attempts, found.void_cost_usd) == (2, 0.03)
    assert (found.total_cost_usd, found.mean_cost_per_trial, found.cost_per_success) == (0.75, 0.375, 0.75)
    assert [row.attempts for row in trial_rows(a_run().plan, attempts)] == [3, 1]


def test_a_void_that_stays_is_in_no_rate() -> None:
    attempts = [
        an_attempt(0, outcome="pass"),
        an_attempt(1, outcome="void", reason="rate_limit", attempt=1, usage=cost(None)),
        an_attempt(1, outcome="void", reason="server_error", attempt=2, usage=cost(0.1)),
        an_attempt(2, outcome="pass"),
    ]
    found = summarise(3, attempts)
    assert (found.k, found.valid, found.successes, found.success_rate) == (3, 2, 2, 1.0)
    assert found.pass_at
    assert not found.pass_caret
    assert (found.pass_at_k, found.pass_hat_k) == (None, None)
    assert found.voids == {"server_error": 1}
    assert (found.void_attempts, found.void_cost_usd) == (2, None)


def test_no_valid_trial_leaves_everything_undefined() -> None:
    for attempts in ([], [an_attempt(0, outcome="void", reason="auth", usage=cost(None))]):
        found = summarise(3, attempts)
        assert (found.valid, found.successes, found.pass_at, found.pass_caret) == (0, 0, False, False)
        undefined = found.model_dump(
            include={
                "success_rate",
                "rate_interval",
                "pass_at_k",
                "pass_hat_k",
                "total_cost_usd",
                "mean_cost_per_trial",
                "cost_per_success",
                "tokens",
                "median_wall_ms",
                "median_turns",
            }
        )
        assert set(undefined.values()) == {None}
    assert summarise(3, []).void_cost_usd == 0.0


@pytest.mark.parametrize(
    ("usage", "unknown"),
    [
        (
            Usage(cost_usd=None, tokens=Tokens(1, 1), turns=1),
            {"total_cost_usd", "mean_cost_per_trial", "cost_per_success"},
        ),
        (Usage(cost_usd=0.1, tokens=None, turns=1), {"tokens"}),
        (Usage(cost_usd=0.1, tokens=Tokens(1, 1), turns=None), {"median_turns"}),
    ],
)
def test_one_unknown_makes_the_sum_unknown(usage: Usage, unknown: set[str]) -> None:
    found = summarise(2, [an_attempt(0), an_attempt(1, usage=usage)]).model_dump()
    sums = ("total_cost_usd", "mean_cost_per_trial", "cost_per_success", "tokens", "median_turns")
    assert {key for key in sums if found[key] is None} == unknown


def test_a_cost_of_zero_is_known() -> None:
    found = summarise(2, [an_attempt(0, usage=cost(0.0)), an_attempt(1, outcome="fail", usage=cost(0.0))])
    assert (found.total_cost_usd, found.mean_cost_per_trial, found.cost_per_success) == (0.0, 0.0, 0.0)


def test_no_success_has_no_cost() -> None:
    found = summarise(1, [an_attempt(0, outcome="fail")])
    assert (found.total_cost_usd, found.cost_per_success) == (0.1, None)


def test_rows_say_what_the_last_attempt_did_in_the_order_of_pairs() -> None:
    attempts = [
        an_attempt(1, "with", position=1),
        an_attempt(0, "with", position=1, late=True, outcome="void", reason="quota", attempt=2),
        an_attempt(1, "without", position=0, timed_out=True, outcome="fail"),
        an_attempt(0, "with", position=1, outcome="void", reason="startup", attempt=1),
        an_attempt(0, "without", position=0, usage=Usage()),
    ]
    rows = trial_rows(a_run().plan, attempts)
    assert [(row.pair, row.index, row.cohort, row.position) for row in rows] == [
        (0, 0, "without", 0),
        (0, 0, "with", 1),
        (1, 1, "without", 0),
        (1, 1, "with", 1),
    ]
    assert [row.reason for row in rows] == [None, "quota", None, None]
    assert [row.late for row in rows] == [False, True, False, False]
    assert [row.timed_out for row in rows] == [False, False, True, False]
    assert (rows[0].cost_usd, rows[0].tokens, rows[0].turns) == (None, None, None)
    assert rows[3].phases_ms.task == 800.25
    assert rows[3].phases_ms.apply == 0


@st.composite
def cohorts(draw: st.DrawFn) -> list[TrialRecord]:
    """Up to eight trials of one cohort with up to two void attempts in front of each."""
    attempts = []
    for pair in range(draw(st.integers(0, 8))):
        voids = draw(st.integers(0, 2))
        outcomes = ["void"] * voids + [draw(st.sampled_from(["pass", "fail", "void"]))]
        for number, outcome in enumerate(outcomes, 1):
            values: dict[str, Any] = {
                "attempt": number,
                "outcome": outcome,
                "reason": draw(st.sampled_from(["quota", "startup"])) if outcome == "void" else None,
                "usage": Usage(cost_usd=draw(st.none() | st.integers(0, 9).map(lambda n: n / 4))),
            }
            attempts.append(an_attempt(pair, **values))
    return attempts


@settings(deadline=None)
@given(cohorts(), st.randoms(use_true_random=False))
def test_sums_hold_and_the_order_of_records_never_matters(
    attempts: list[TrialRecord], shuffler: random.Random
) -> None:
    found = summarise(8, attempts)
    trials = final_trials(attempts)
    assert found.valid is not None
    assert found.valid + sum(found.voids.values()) == len(trials)
    assert found.successes <= found.valid <= found.k
    assert found.void_attempts + found.valid == len(attempts)
    valid_costs = [trial.usage.cost_usd for trial in trials if trial.valid]
    if valid_costs and None not in valid_costs:
        assert found.total_cost_usd == sum(cost for cost in valid_costs if cost is not None)
    else:
        assert found.total_cost_usd is None
    mixed = list(attempts)
    shuffler.shuffle(mixed)
    assert summarise(8, mixed) == found
    assert trial_rows(a_run().plan, mixed) == trial_rows(a_run().plan, attempts)
