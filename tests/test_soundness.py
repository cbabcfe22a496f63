"""What a run's record says against its evidence: drift, place, outliers, and how often a sound run is suspected."""

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import pytest

from kcut.course import course_of
from kcut.flips import Flips, of_flips
from kcut.model.artifact import Warn
from kcut.model.outcome import Cohort
from kcut.model.plan import CheckoutPlan, SpecText, TaskPlan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord, Usage
from kcut.plan import pair_order
from kcut.report.findings import line
from kcut.soundness import ALPHA, Looked, look, order_tests, outliers
from tests.records import a_run, an_attempt

#: Whether a trial passes, by its pair, its place in it and its cohort.
Rule = Callable[[int, int, Cohort], bool]
TWO = (TaskPlan(name="easy", task="x"), TaskPlan(name="hard", task="y"))


def trials(pairs: int, rule: Rule, *, seed: int = 7, **changes: Any) -> list[TrialRecord]:
    """The trials of a run in the order that its seed gives, each with files of its own."""

    def fields(pair: int, place: int, cohort: Cohort) -> dict[str, Any]:
        return {"position": place, "tree": f"{cohort}{pair}"} | changes

    return [
        an_attempt(
            pair,
            cohort.value,
            "pass" if rule(pair, place, cohort) else "fail",
            **fields(pair, place, cohort),
        )
        for pair in range(pairs)
        for place, cohort in enumerate(pair_order(seed, pair))
    ]


def looked(attempts: Sequence[TrialRecord], **changes: Any) -> tuple[Looked, dict[str, Warn]]:
    """What was found, and the warnings by code, each code once."""
    k = changes.pop("k", max(attempt.key.pair for attempt in attempts) + 1 if attempts else 2)
    found = look(a_run(k=k, **{"state": "finished"} | changes), attempts)
    codes = {warn.code: warn for warn in found.warnings}
    assert len(codes) == len(found.warnings)
    return found, codes


def helps(pair: int, _place: int, cohort: Cohort) -> bool:
    """WITH nearly always passes, WITHOUT seldom; in no order."""
    return pair % 10 != 3 if cohort is Cohort.WITH else pair % 7 == 2


def test_a_sound_run() -> None:
    found, codes = looked(trials(20, helps))
    assert codes == {}
    assert found.trials == 40
    assert set(found.tests) == {"runs with", "runs without", "runs", "halves", "position"}
    assert min(found.tests.values()) > ALPHA


def test_drift() -> None:
    found, codes = looked(trials(10, lambda pair, _place, _cohort: pair < 5))
    drift = codes["drift"]
    assert drift.evidence["early"] == {"with": "5/5", "without": "5/5"}
    assert drift.evidence["late"] == {"with": "0/5", "without": "0/5"}
    assert drift.evidence["p"] == min(found.tests.values()) < 0.001
    assert "5 tests" in drift.evidence["adjusted"]
    assert "position" not in codes
    assert line(drift).startswith("drift: p ")
    assert "early (with 5/5, without 5/5), late (with 0/5, without 0/5)" in line(drift)
    assert f"kcut show {a_run().run_id}" in drift.advice
    assert "--jobs 1" in looked(trials(10, lambda pair, _place, _cohort: pair < 5), jobs=4)[1]["drift"].advice


def test_drift_in_one_cohort_and_in_bursts() -> None:
    assert "drift" in looked(trials(20, lambda pair, _place, cohort: cohort is Cohort.WITH and pair >= 10))[1]
    bursts = looked(trials(40, lambda pair, _place, _cohort: pair // 10 % 2 == 0))[1]
    assert bursts["drift"].evidence["early"] == bursts["drift"].evidence["late"]
    assert bursts["drift"].evidence["tests"]["runs"] < 0.001


def test_time_is_what_counts_where_it_is_known() -> None:
    attempts = trials(12, lambda pair, _place, _cohort: pair % 2 == 0)
    assert "drift" not in looked(attempts)[1]
    moved = [
        an_attempt(
            attempt.key.pair,
            attempt.key.cohort.value,
            attempt.outcome.value,
            position=attempt.position,
            tree=attempt.tree,
            started_at=f"2026-11-30T15:{(attempt.key.pair % 2) * 30 + attempt.key.pair:02d}:00.000Z",
        )
        for attempt in attempts
    ]
    assert "drift" in looked(moved)[1]


def test_tasks_that_take_turns_are_no_drift_and_hide_none() -> None:
    turns = trials(40, lambda pair, _place, _cohort: pair % 2 == 0)
    found, codes = looked(turns, k=20, tasks=TWO)
    assert found.tests == {}
    assert "drift" not in codes
    changed = trials(40, lambda pair, _place, _cohort: pair % 2 == 0 and pair < 20)
    drift = looked(changed, k=20, tasks=TWO)[1]["drift"]
    assert drift.evidence["early"] == {"with": "10/20", "without": "10/20"}
    assert drift.evidence["late"] == {"with": "0/20", "without": "0/20"}


def test_a_component_that_helps_is_neither_drift_nor_place() -> None:
    found, codes = looked(trials(20, lambda _pair, _place, cohort: cohort is Cohort.WITH))
    assert (found.tests, set(codes) & {"drift", "position"}) == ({}, set())


def test_place() -> None:
    def second(_pair: int, place: int, _cohort: Cohort) -> bool:
        return place == 1

    _, codes = looked(trials(12, second))
    place = codes["position"]
    assert set(codes) & {"drift", "position"} == {"position"}
    assert place.evidence["p"] < 0.001
    assert {share.split("/")[0] for share in place.evidence["first"].values()} == {"0"}
    assert "--isolate-home" in place.advice
    base = CheckoutPlan(base="3f9c2a1b" * 5)
    for changes, advised in (
        ({"jobs": 2}, "--jobs 1"),
        ({"checkout": base.model_copy(update={"link_paths": ("cache",)})}, "--copy cache"),
        ({"checkout": base.model_copy(update={"isolation": "worktree"})}, "--isolation sealed"),
        ({"isolate_home": True}, "outlives"),
    ):
        assert advised in looked(trials(12, second), **changes)[1]["position"].advice


@pytest.mark.parametrize("state", ["finished", "interrupted", "invalid"])
def test_every_state_of_a_run_is_looked_at(state: str) -> None:
    attempts = trials(12, lambda pair, _place, _cohort: pair < 6)
    attempts += [an_attempt(pair, "with", "void", reason="startup", tree=None) for pair in range(12, 18)]
    attempts += [an_attempt(pair, "without", "fail", tree=f"w{pair}") for pair in range(12, 18)]
    _, codes = looked(attempts, k=20, state=state, note=None)
    assert {"drift", "voids", "void-imbalance", "component-blocks-start"} <= set(codes)
    assert ("invalid" in codes) or state == "finished"


def test_a_run_without_a_trial() -> None:
    found, codes = looked([], state="interrupted")
    assert (found.trials, set(codes)) == (0, {"invalid"})
    assert "--resume" in codes["invalid"].advice


def test_voids_that_turn_a_keep_round() -> None:
    attempts = trials(8, lambda _pair, _place, cohort: cohort is Cohort.WITH)
    gone = an_attempt(8, "with", "void", reason="overloaded", attempt=3, tree=None)
    few = trials(4, lambda pair, _place, cohort: cohort is Cohort.WITH or pair < 2)
    _, codes = looked([*few, gone, an_attempt(8, "without", "fail", tree="w8")], k=5)
    assert codes["void-imbalance"].evidence["flips"] is True
    assert "flips yes" in line(codes["void-imbalance"])
    assert "overloaded 1" in line(codes["voids"])
    assert "void-imbalance" not in looked([*attempts, gone, an_attempt(8, "without", "fail", tree="w8")], k=9)[1]


def test_what_the_artifact_warns_of_is_said_once_and_the_result_is_not() -> None:
    same = trials(3, lambda _pair, _place, _cohort: True, tree="a" * 40)
    _, codes = looked(same)
    assert {"arms-identical", "saturated"} <= set(codes)
    assert "timeouts" in looked(trials(3, helps, timed_out=True))[1]
    mixed = trials(10, helps)
    mixed[0] = an_attempt(0, "with", "pass", usage=Usage(model="other-1"), tree="x")
    mixed[1] = an_attempt(0, "without", "fail", usage=Usage(model="model-1"), tree="y")
    assert "models-differ" in looked(mixed)[1]
    harm = looked(trials(20, lambda _pair, _place, cohort: cohort is Cohort.WITHOUT))[1]
    assert not set(harm) & {"suspected-harm", "rules-disagree"}


def test_a_sequential_run() -> None:
    attempts = trials(20, lambda _pair, _place, cohort: cohort is Cohort.WITH)
    plan = a_run(k=20, until_decided=True).plan
    seen = [attempt for attempt in attempts if attempt.key.pair < course_of(plan, attempts).seen]
    found, codes = looked(seen, k=20, until_decided=True)
    assert (found.trials, codes) == (len(seen), {})


def test_a_component_against_itself() -> None:
    def alike(_pair: int, _place: int, cohort: Cohort) -> bool:
        return cohort is Cohort.WITH

    fair = looked(trials(40, lambda pair, _place, _cohort: pair % 3 == 0, tree="a" * 40), k=5, aa=8)[1]
    assert fair == {}
    codes = looked(trials(40, alike), k=5, aa=8)[1]
    assert codes["false-keeps"].evidence == {"keeps": 8, "runs": 8, "bound": 2}


def test_outliers_in_time_and_cost() -> None:
    def spread(attempts: list[TrialRecord]) -> list[TrialRecord]:
        draw = random.Random(3)
        return [
            an_attempt(
                attempt.key.pair,
                attempt.key.cohort.value,
                attempt.outcome.value,
                position=attempt.position,
                tree=attempt.tree,
                wall_ms=60_000 * math.exp(draw.gauss(0, 0.2)) * (20 if str(attempt.key) == "with #4" else 1),
                usage=Usage(
                    cost_usd=0.1 * math.exp(draw.gauss(0, 0.2)) * (30 if str(attempt.key) == "without #2" else 1)
                ),
            )
            for attempt in attempts
        ]

    for pairs in (5, 20):
        _, codes = looked(spread(trials(pairs, helps)))
        evidence = codes["outliers"].evidence
        assert [row["trial"] for row in evidence["time"]] == ["with #4"]
        assert [row["trial"] for row in evidence["cost"]] == ["without #2"]
        assert evidence["time"][0]["z"] > 3.5
        assert "time with #4 " in line(codes["outliers"])
        assert "(median " in line(codes["outliers"])
    assert "--logs" in codes["outliers"].advice
    assert "logs" in looked(spread(trials(20, helps)), logs=True)[1]["outliers"].advice
    assert "worktree" in looked(spread(trials(20, helps)), keep="all")[1]["outliers"].advice


@pytest.mark.parametrize(
    "times",
    [
        [1000.0] * 12,
        [60.0] * 11 + [700.0],  # the machine's own
        [60_000.0] * 11 + [90_000.0],  # less than twice the median
        [1000.0, 900_000.0],  # too few to say what is ordinary
    ],
)
def test_no_outliers(times: list[float]) -> None:
    attempts = [
        an_attempt(pair, cohort, "pass", wall_ms=times[pair], tree=f"{cohort}{pair}")
        for pair in range(len(times))
        for cohort in ("with", "without")
    ]
    assert "outliers" not in looked(attempts)[1]


def test_a_time_limit_is_no_outlier_and_a_free_trial_neither() -> None:
    attempts = [
        an_attempt(
            pair, "with", "pass", wall_ms=9e6 if pair == 0 else 1e3 + pair, timed_out=pair == 0, tree=f"w{pair}"
        )
        for pair in range(10)
    ]
    attempts += [
        an_attempt(pair, "without", "fail", usage=Usage(cost_usd=0.0 if pair else 1.0), tree=f"o{pair}")
        for pair in range(10)
    ]
    assert "outliers" not in looked(attempts)[1]


def family(run: RunRecord, attempts: Sequence[TrialRecord]) -> bool:
    """True if one of the tests of drift and place would warn."""
    return min(order_tests(run.plan, attempts).values(), default=1.0) <= ALPHA


@pytest.mark.parametrize("order", [(0, 1, 0, 1, 0), (0, 0, 0, 1, 1), (0, 1, 1, 1, 1)])
def test_false_alarms_of_five_pairs_by_enumeration(order: tuple[int, ...]) -> None:
    """All outcomes of ten trials: whatever the rates, the chance of a false alarm is a sum over these."""
    run = a_run(k=5, state="finished")
    alarms: Counter[tuple[int, int]] = Counter()
    for outcomes in product((False, True), repeat=10):
        attempts = [
            an_attempt(pair, cohort, "pass" if outcomes[2 * pair + side] else "fail", position=side ^ order[pair])
            for pair in range(5)
            for side, cohort in enumerate(("with", "without"))
        ]
        attempts.sort(key=lambda trial: (trial.key.pair, trial.position))
        if family(run, attempts):
            alarms[sum(outcomes[::2]), sum(outcomes[1::2])] += 1
    for on in (0.1, 0.3, 0.5, 0.8):
        for off in (0.1, 0.3, 0.5, 0.8):
            chance = sum(
                times * on**x * (1 - on) ** (5 - x) * off**y * (1 - off) ** (5 - y)
                for (x, y), times in alarms.items()
            )
            assert chance <= ALPHA


@pytest.mark.parametrize(
    ("pairs", "rates", "until_decided"),
    [
        (10, [(0.5, 0.5)], False),
        (25, [(0.3, 0.6)], False),
        (60, [(0.5, 0.5)], False),
        (24, [(0.2, 0.2), (0.5, 0.7), (0.9, 0.9)], False),
        (20, [(0.5, 0.5)], True),
        (20, [(0.4, 0.8)], True),
    ],
)
def test_false_alarms_by_simulation(pairs: int, rates: list[tuple[float, float]], until_decided: bool) -> None:
    """Sound runs whose times and costs spread as those of agents do: drift, place or outliers in at most 5 %."""
    draw = random.Random(pairs)
    tasks = tuple(TaskPlan(name=f"t{number}", task="x") for number in range(len(rates))) if len(rates) > 1 else ()
    run = a_run(k=pairs // len(rates), tasks=tasks, until_decided=until_decided, state="finished")
    samples = 150 if pairs > 30 else 400
    alarms = 0
    for _ in range(samples):
        seed = draw.randrange(2**31)
        attempts = [
            an_attempt(
                attempt.key.pair,
                attempt.key.cohort.value,
                attempt.outcome.value,
                position=attempt.position,
                tree=attempt.tree,
                wall_ms=60_000 * math.exp(draw.gauss(0, 0.4)),
                usage=Usage(cost_usd=0.1 * math.exp(draw.gauss(0, 0.4))),
            )
            for attempt in trials(
                pairs,
                lambda pair, _place, cohort: draw.random() < rates[pair % len(rates)][cohort is Cohort.WITH],
                seed=seed,
            )
        ]
        if until_decided:
            seen = course_of(run.plan, attempts).seen
            attempts = [attempt for attempt in attempts if attempt.key.pair < seen]
        alarms += family(run, attempts) or bool(list(outliers(run, attempts)))
    assert alarms / samples <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / samples)


def test_what_scores_bound() -> None:
    none = Flips({"with #0": (0, 59)}, {}, {})
    assert (none.rate, none.shrink) == (0.0, 1.0)
    assert none.upper == pytest.approx(1 - 0.05 ** (1 / 59))
    assert (none.upper or 1) < 0.05 <= (Flips({"with #0": (0, 58)}, {}, {}).upper or 0)
    some = Flips({"with #0": (3, 10), "without #1": (0, 10)}, {}, {})
    assert (some.flips, some.scores, some.rate) == (3, 20, 0.15)
    assert some.shrink == pytest.approx(0.7)
    assert some.upper == pytest.approx(0.3437, abs=1e-3)  # the beta quantile of 4 and 17
    empty = Flips({}, {}, {})
    assert (empty.rate, empty.upper, empty.shrink) == (None, None, None)


def test_warnings_about_a_score() -> None:
    plan = a_run().plan
    found = Flips({"with #0": (3, 10), "without #1": (0, 10)}, {"with #2": "/gone"}, {"with #3": "why"}, ("/left",))
    codes = {warn.code: warn for warn in of_flips(plan, found)}
    assert set(codes) == {"scorer-flips", "kept-gone", "kept-unscored", "leftover"}
    assert codes["scorer-flips"].evidence["trials"] == {"with #0": "3/10"}
    assert "with #2 /gone" in line(codes["kept-gone"])
    spec = a_run(score=None, spec=SpecText(path="specs/tidy.md", text="")).plan
    assert "specs/tidy.md" in next(of_flips(spec, found)).advice
    assert list(of_flips(plan, Flips({"with #0": (0, 10)}, {}, {}))) == []


def test_a_line_has_no_control_characters() -> None:
    warn = Warn(
        code="x", evidence={"pathsLeft": ["a\x1b[31m", *"bcdefg"], "none": None, "yes": True}, advice="do\nit"
    )
    assert line(warn) == "x: paths left a\\x1b[31m, b, c, d, e and 2 more, none unknown, yes yes: do\\nit"
