"""The course of a run that stops as soon as it is clear: pairs in index order, whatever order they end in."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.course import Course, Pair, course_of
from kcut.model.artifact import Warn
from kcut.model.plan import UNCAPPED, Plan
from kcut.model.trial import TrialRecord, Usage
from kcut.stats.sequential import design
from kcut.stats.stopping import decided
from tests.records import a_run, an_attempt
from tests.test_verdict import judged

#: A pair by what its trials did: both passed, only WITH, only WITHOUT, neither, and one that stayed void.
BOTH, UP, DOWN, NEITHER, VOID = "+^v-x"
OUTCOMES = {BOTH: ("pass", "pass"), UP: ("pass", "fail"), DOWN: ("fail", "pass"), NEITHER: ("fail", "fail")}


def plan(k: int = 20, **changes: Any) -> Plan:
    return a_run(k=k, until_decided=True, **changes).plan


def attempts(pairs: str, **changes: Any) -> list[TrialRecord]:
    """The trials of pairs, one letter each."""
    found = []
    for number, pair in enumerate(pairs):
        on, off = OUTCOMES.get(pair, ("void", "pass"))
        reason = "quota" if on == "void" else None
        found.append(an_attempt(number, "with", on, reason=reason, tree=f"on{number}", **changes))
        found.append(an_attempt(number, "without", off, tree=f"off{number}", **changes))
    return found


def course(pairs: str, **changes: Any) -> Course:
    return course_of(plan(**changes), attempts(pairs))


def test_a_clear_gain_is_a_keep_at_the_first_look_that_shows_it() -> None:
    table = design(20)
    first = next(n for n in range(1, 21) if table.look(n, n, 0) == "keep")
    found = course(UP * 20)
    assert (found.end, found.seen, found.n, found.u, found.v, found.over) == ("keep", first, first, first, 0, True)


def test_nothing_is_looked_at_beyond_the_decision() -> None:
    found = course(UP * 10 + DOWN * 10)
    assert (found.end, found.seen, found.v) == ("keep", course(UP * 20).seen, 0)


def test_a_pair_waits_for_all_before_it() -> None:
    late = [trial for trial in attempts(UP * 20) if trial.key.pair != 3]
    found = course_of(plan(), late)
    assert (found.end, found.seen, found.over) == (None, 3, False)


def test_a_pair_with_a_trial_that_stayed_void_is_skipped() -> None:
    with_void = course(UP * 3 + VOID + UP * 16)
    assert (with_void.n, with_void.seen) == (course(UP * 20).n, course(UP * 20).seen + 1)


def test_a_trial_that_would_run_again_is_awaited() -> None:
    again = attempts(UP * 20)
    again[4] = an_attempt(2, "with", "void", reason="overloaded")
    found = course_of(plan(), again)
    assert (found.seen, found.over) == (2, False)


def test_a_run_that_nothing_decides_ends_with_its_last_pair() -> None:
    found = course((UP + DOWN + BOTH) * 7, k=20)
    assert (found.end, found.seen, found.over) == (None, 20, True)


def test_harm_is_confirmed_beyond_a_cut_only_if_asked_for() -> None:
    plain, confirmed = course(DOWN * 20), course(DOWN * 20, confirm_harm=True)
    assert (plain.end, plain.harm) == ("cut", False)
    assert (confirmed.end, confirmed.harm) == ("cut", True)
    assert confirmed.seen == course(UP * 20).seen > plain.seen, "harm takes as much as a KEEP, the other way round"
    unclear = course(DOWN * plain.seen + (UP + DOWN) * 10, confirm_harm=True)
    assert (unclear.end, unclear.harm, unclear.over, unclear.seen) == ("cut", False, True, 20)
    useless = course(BOTH * 20, confirm_harm=True)
    assert (useless.end, useless.harm) == ("cut", False)
    assert useless.seen < 20, "WITHOUT is not ahead: there is no harm to confirm"


def test_a_keep_out_of_reach_ends_the_run_if_asked_to() -> None:
    pairs = UP + DOWN * 4 + (UP + DOWN) * 7 + BOTH
    stopped = course(pairs, stop="keep-unreachable", delta=0.01)
    assert (stopped.end, stopped.over) == ("hopeless", True)
    assert stopped.seen < course(pairs, delta=0.01).seen == 20
    left = 20 - stopped.seen
    assert course(pairs[: stopped.seen] + UP * left, delta=0.01).end is None


def test_an_e_process_has_no_last_pair() -> None:
    found = course_of(plan(k=UNCAPPED, anytime=True), attempts((UP + DOWN) * 40))
    assert (found.end, found.seen, found.over) == (None, 80, False)
    assert course_of(plan(k=UNCAPPED, anytime=True), attempts((UP + DOWN) * 5 + UP * 40)).end == "keep"


def test_cheaper_needs_both_success_and_cost() -> None:
    def costs(on: float, off: float, pairs: str) -> Course:
        usages = {"with": on, "without": off}
        trials = [
            an_attempt(
                trial.key.pair,
                trial.key.cohort.value,
                trial.outcome.value,
                usage=Usage(cost_usd=usages[trial.key.cohort.value] * (1 + trial.key.pair / 100)),
            )
            for trial in attempts(pairs)
        ]
        return course_of(plan(objective="cost", margin=0.2), trials)

    assert costs(0.5, 1.0, BOTH * 20).end == "keep"
    assert costs(1.0, 1.0, BOTH * 20).end is None
    assert costs(0.5, 1.0, DOWN * 20).end is None


@settings(max_examples=60, deadline=None)
@given(st.text("+^v-", min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_it_is_the_design_over_the_pairs_in_index_order(pairs: str, shuffler: random.Random) -> None:
    recorded = attempts(pairs)
    shuffler.shuffle(recorded)
    found = course_of(plan(), recorded)
    seen, verdict = decided(design(20), [tuple(o == "pass" for o in OUTCOMES[pair]) for pair in pairs])  # type: ignore[misc]  # two booleans
    assert (found.seen, found.end) == (seen, verdict)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=20))
def test_looking_one_by_one_is_looking_at_once(steps: Sequence[tuple[bool, bool]]) -> None:
    one = Course(plan())
    for on, off in steps:
        if not one.over:
            one.add(Pair(on, off))
    recorded = "".join({(1, 1): BOTH, (1, 0): UP, (0, 1): DOWN, (0, 0): NEITHER}[on, off] for on, off in steps)
    at_once = course(recorded)
    assert (one.seen, one.u, one.v, one.end) == (at_once.seen, at_once.u, at_once.v, at_once.end)


# -- what the artifact says of it


def test_the_artifact_counts_the_pairs_up_to_the_decision() -> None:
    needed = course(UP * 20).seen
    artifact, decision, warnings = judged(attempts(UP * needed + DOWN * 3), k=20, until_decided=True)
    assert (artifact.k, artifact.max_k, len(artifact.trials)) == (needed, 20, 2 * (needed + 3))
    assert (artifact.with_.k, artifact.with_.valid, artifact.with_.successes) == (needed, needed, needed)
    assert (decision.verdict, decision.method, decision.pairs, decision.after) == ("keep", "sequential", needed, 6)
    assert artifact.with_.pass_caret
    assert "early-keep" in warnings


def test_an_undecided_run_says_what_to_allow_for() -> None:
    artifact, decision, warnings = judged(attempts((UP + DOWN + BOTH) * 6 + UP * 2), k=20, until_decided=True)
    assert (decision.verdict, artifact.k, artifact.max_k) == ("inconclusive", 20, 20)
    assert decision.needed_k is not None
    assert f"--max-k {decision.needed_k}" in warnings["few-trials"].advice


def test_a_saturated_task_is_no_cut() -> None:
    _, decision, warnings = judged(attempts(BOTH * 20)[: 2 * course(BOTH * 20).seen], k=20, until_decided=True)
    assert decision.verdict == "inconclusive"
    assert "saturated" in warnings


def test_a_keep_that_voids_could_have_made_is_none() -> None:
    needed = course(UP * 20).seen
    pairs = UP * (needed - 1) + VOID * 2 + UP
    _, decision, warnings = judged(attempts(pairs), k=20, until_decided=True)
    assert decision.verdict == "inconclusive"
    assert "void-imbalance" in warnings


@pytest.mark.parametrize(("confirm", "code"), [(False, "suspected-harm"), (True, "harm")])
def test_harm_is_said(confirm: bool, code: str) -> None:
    needed = course(DOWN * 20, confirm_harm=confirm).seen
    _, decision, warnings = judged(attempts(DOWN * needed), k=20, until_decided=True, confirm_harm=confirm)
    assert decision.verdict == "cut"
    assert code in warnings


def test_a_course_without_a_cap_that_never_began_has_no_verdict() -> None:
    _, decision, _ = judged([an_attempt(0)], k=UNCAPPED, until_decided=True, anytime=True, state="interrupted")
    assert decision.verdict == "invalid"


def test_an_interrupted_course_has_no_verdict() -> None:
    _, decision, _ = judged(attempts(UP * 3), k=20, until_decided=True, state="interrupted")
    assert decision.verdict == "invalid"


def test_a_task_that_had_no_turn_is_in_no_mean() -> None:
    needed = course(UP * 20).seen
    many = tuple({"name": str(number), "task": "t"} for number in range(needed + 2))
    artifact, decision, _ = judged(attempts(UP * needed), k=20, until_decided=True, tasks=many)
    assert (decision.verdict, len(artifact.tasks)) == ("keep", needed)
    assert (artifact.with_.success_rate, artifact.without.success_rate, artifact.pass_) == (1, 0, True)


def test_tasks_without_a_complete_pair_are_not_cut() -> None:
    found = [
        an_attempt(0, "with", "void", reason="quota"),
        an_attempt(0, "without", "fail", tree="a"),
        an_attempt(1, "with", "fail", tree="b"),
        an_attempt(1, "without", "void", reason="quota"),
        *(
            an_attempt(pair, cohort, "fail", tree=f"{cohort}{pair}")
            for pair in range(2, 8)
            for cohort in ("with", "without")
        ),
    ]
    one = ({"name": "only", "task": "t"},)
    _, decision, _ = judged(found, k=8, tasks=one)
    assert decision.pairs == 6
    few, decision, _ = judged(
        found[:4], k=4, tasks=one, state="finished", warnings=(Warn(code="budget-stop", advice="x"),)
    )
    assert (decision.verdict, decision.p_value_cut, few.pass_) == ("inconclusive", 1.0, False)
