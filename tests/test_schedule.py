"""What may start next, whatever the order in which trials end."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcut.model.outcome import Outcome, Void
from kcut.model.plan import CheckoutPlan, Plan
from kcut.model.trial import TrialKey, TrialRecord, Usage
from kcut.plan import slots
from kcut.schedule import TrialRequest, TrialSchedule


def plan(k: int = 5, **more: object) -> Plan:
    return Plan.model_validate(
        {"component": "x", "task": "true", "k": k, "seed": 7, "checkout": CheckoutPlan(base="0" * 40)} | more
    )


class Time:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def ended(request: TrialRequest, reason: Void | None = None, **more: object) -> TrialRecord:
    outcome = Outcome.VOID if reason else Outcome.PASS
    return TrialRecord(
        request.key,
        request.attempt,
        request.position,
        request.seed,
        outcome,
        reason,
        task_exit=0,
        **more,  # type: ignore[arg-type]  # keywords of a record
    )


def drain(
    schedule: TrialSchedule, time: Time, jobs: int, end: Callable[[TrialRequest], TrialRecord], rng: random.Random
) -> list[TrialRequest]:
    """Run the schedule as an engine would, results coming in random order; returns what was started."""
    started: list[TrialRequest] = []
    running: list[TrialRequest] = []
    while True:
        while len(running) < jobs and (request := schedule.take()) is not None:
            assert request.key not in {other.key for other in running}
            running.append(request)
            started.append(request)
        if running:
            schedule.finished(end(running.pop(rng.randrange(len(running)))))
            continue
        wait = schedule.wait()
        if wait is None:
            return started
        time.now += wait


@given(st.integers(1, 8), st.integers(1, 6), st.randoms(use_true_random=False))
def test_every_trial_runs_once_in_pair_order(k: int, jobs: int, rng: random.Random) -> None:
    schedule = TrialSchedule(plan(k), (), time := Time())
    started = drain(schedule, time, jobs, ended, rng)
    assert [request.key for request in started] == [slot.key for slot in slots(7, k)]
    assert schedule.complete
    assert len(schedule.final) == 2 * k


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 3), st.randoms(use_true_random=False))
def test_voids_run_again_with_their_seed_and_then_stay_void(
    k: int, jobs: int, retries: int, rng: random.Random
) -> None:
    schedule = TrialSchedule(plan(k, void_retries=retries), (), time := Time())
    started = drain(schedule, time, jobs, lambda request: ended(request, Void.SERVER_ERROR), rng)
    assert len(started) == 2 * k * (retries + 1)
    for key in {request.key for request in started}:
        mine = [request for request in started if request.key == key]
        assert [request.attempt for request in mine] == list(range(1, retries + 2))
        assert len({(request.seed, request.position) for request in mine}) == 1
    assert schedule.complete


@pytest.mark.parametrize("reason", [Void.AUTH, Void.QUOTA, Void.PERMISSIONS, Void.MANIPULATION])
def test_what_would_fail_again_is_not_run_again(reason: Void) -> None:
    schedule = TrialSchedule(plan(1), (), Time())
    request = schedule.take()
    assert request is not None
    assert schedule.finished(ended(request, reason)) is None


def test_waits_before_running_again() -> None:
    schedule = TrialSchedule(plan(1), (), time := Time())
    first, second = schedule.take(), schedule.take()
    assert first is not None
    assert second is not None
    assert schedule.finished(ended(first, Void.RATE_LIMIT)) == 5
    assert schedule.finished(ended(second, Void.RATE_LIMIT, retry_after_s=12.0)) == 12
    assert schedule.take() is None
    assert schedule.wait() == 5
    time.now += 5
    again = schedule.take()
    assert again == TrialRequest(first.key, 2, first.position, first.seed)
    assert schedule.finished(ended(again, Void.RATE_LIMIT)) == 30
    time.now += 7
    assert schedule.take() == TrialRequest(second.key, 2, second.position, second.seed)
    time.now += 23
    last = schedule.take()
    assert last is not None
    assert last.attempt == 3
    assert schedule.finished(ended(last, Void.RATE_LIMIT)) is None


def test_other_voids_run_again_at_once() -> None:
    schedule = TrialSchedule(plan(1), (), Time())
    request = schedule.take()
    assert request is not None
    assert schedule.finished(ended(request, Void.SETUP)) == 0
    assert schedule.take() == TrialRequest(request.key, 2, request.position, request.seed)


@given(st.integers(1, 6), st.data(), st.randoms(use_true_random=False))
def test_a_resumed_schedule_runs_exactly_what_is_missing(k: int, data: st.DataObject, rng: random.Random) -> None:
    whole = list(slots(7, k))
    done = data.draw(st.lists(st.sampled_from(whole), unique=True))
    recorded = [
        ended(TrialRequest(slot.key, 1, slot.position, slot.seed), data.draw(st.sampled_from([None, Void.SETUP])))
        for slot in done
    ]
    schedule = TrialSchedule(plan(k), recorded, time := Time())
    started = drain(schedule, time, 2, ended, rng)
    finished = {record.key for record in recorded if record.outcome is Outcome.PASS}
    assert {request.key for request in started} == {slot.key for slot in whole} - finished
    assert len(started) == len({request.key for request in started})
    assert schedule.complete


def test_halt_starts_nothing_more() -> None:
    schedule = TrialSchedule(plan(3), (), Time())
    assert schedule.take() is not None
    schedule.halt()
    assert schedule.take() is None
    assert schedule.wait() is None
    assert not schedule.complete


def costing(usd: float | None) -> Callable[[TrialRequest], TrialRecord]:
    return lambda request: ended(request, usage=Usage(cost_usd=usd))


@pytest.mark.parametrize(("limit", "pairs"), [(0.5, 1), (2.0, 1), (3.99, 1), (4.0, 2), (6.1, 3), (100, 5)])
@pytest.mark.parametrize("jobs", [1, 4])
def test_a_pair_starts_only_if_it_fits_the_budget(limit: float, pairs: int, jobs: int) -> None:
    schedule = TrialSchedule(plan(5, max_cost=limit), (), time := Time())
    started = drain(schedule, time, jobs, costing(1.0), random.Random(1))
    assert {request.key.pair for request in started} == set(range(pairs))
    assert schedule.budget_stop == (pairs < 5)


def test_an_unknown_cost_stops_a_budget() -> None:
    schedule = TrialSchedule(plan(5, max_cost=10), (), time := Time())
    started = drain(schedule, time, 1, costing(None), random.Random(1))
    assert {request.key for request in started} == {TrialKey(0, slot.key.cohort) for slot in slots(7, 1)}
    assert schedule.unknown_cost
