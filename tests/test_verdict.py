"""From a run's record to its artifact: validity, warnings, both rules."""

import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcut.model.artifact import Artifact, Decision, Warn
from kcut.model.outcome import Void
from kcut.model.trial import TrialRecord, Usage
from kcut.verdict import assemble, early_invalid
from tests.records import a_run, an_attempt


def trial(pair: int, cohort: str, outcome: str, **changes: Any) -> TrialRecord:
    """A trial whose files differ from every other's; an outcome that is a reason is a void."""
    if outcome in set(Void):
        return an_attempt(pair, cohort, "void", **{"reason": outcome, "tree": None} | changes)
    return an_attempt(pair, cohort, outcome, **{"tree": f"{cohort}{pair}"} | changes)


def trials(on: Sequence[str], off: Sequence[str], **changes: Any) -> list[TrialRecord]:
    return [
        trial(pair, cohort, outcome, **changes)
        for cohort, outcomes in (("with", on), ("without", off))
        for pair, outcome in enumerate(outcomes)
    ]


def counted(x: int, n: int, y: int, **changes: Any) -> list[TrialRecord]:
    on, off = (["pass"] * c + ["fail"] * (n - c) for c in (x, y))
    return trials(on, off, **changes)


def judged(attempts: Sequence[TrialRecord], **changes: Any) -> tuple[Artifact, Decision, dict[str, Warn]]:
    """The artifact, its decision and its warnings by code, each code once."""
    k = changes.pop("k", max(attempt.key.pair for attempt in attempts) + 1)
    artifact = assemble(a_run(k=k, **{"state": "finished"} | changes), attempts)
    assert artifact.decision is not None
    warnings = {warn.code: warn for warn in artifact.decision.warnings}
    assert len(warnings) == len(artifact.decision.warnings)
    assert all(warn.advice for warn in warnings.values())
    assert Artifact.model_validate(artifact.document()) == artifact
    return artifact, artifact.decision, warnings


def test_a_whole_artifact() -> None:
    usage = Usage(cost_usd=0.1, model="m-1", agent_version="2.0")
    attempts = counted(5, 5, 2, usage=usage, agent="claude")
    artifact, decision, warnings = judged(attempts, component="tidy", spec={"path": "s.md", "text": "x"}, score=None)
    assert (artifact.schema_version, artifact.component, artifact.k, artifact.task) == (1, "tidy", 5, "./run.sh")
    assert artifact.score == "kcut checkpoint s.md"
    assert artifact.pass_
    assert artifact.reason == "the success rate rose from 0.40 to 1.00"
    assert (artifact.rule, artifact.isolation, artifact.max_k, artifact.component_digest) == (
        "point",
        "sealed",
        None,
        None,
    )
    assert (decision.verdict, decision.pairs) == ("keep", 5)
    assert set(warnings) == {"few-trials"}
    assert artifact.base is not None
    assert artifact.base.commit == "3f9c2a1b" * 5
    assert artifact.order is not None
    assert artifact.order.seed == 7
    environment = artifact.environment
    assert environment is not None
    assert (environment.agent, environment.agent_version, environment.model) == ("claude", "2.0", "m-1")
    assert environment.git == "2.39.5"
    assert len(artifact.trials) == 10
    document = artifact.document()
    assert {"with", "without", "pass", "schemaVersion", "runId"} <= set(document)


@pytest.mark.parametrize(
    ("x", "n", "y", "point", "verdict"),
    [
        (5, 5, 2, True, "keep"),
        (3, 5, 2, True, "inconclusive"),
        (0, 5, 2, False, "cut"),
        (2, 5, 2, False, "inconclusive"),
    ],
)
def test_the_rule_says_what_sets_pass(x: int, n: int, y: int, point: bool, verdict: str) -> None:
    attempts = counted(x, n, y)
    assert judged(attempts)[0].pass_ is point
    artifact, decision, _ = judged(attempts, rule="evidence")
    assert artifact.rule == "evidence"
    assert artifact.pass_ is (verdict == "keep")
    assert artifact.reason.startswith("by the evidence rule: ")
    assert decision.verdict == verdict


def test_throttled_trials_are_no_failures() -> None:
    attempts = trials(["rate_limit", "rate_limit", "pass", "pass"], ["pass"] * 4)
    artifact, decision, _ = judged(attempts)
    assert (artifact.with_.k, artifact.with_.valid, artifact.with_.successes) == (4, 2, 2)
    assert artifact.with_.success_rate == 1.0
    assert artifact.with_.voids == {"rate_limit": 2}
    assert decision.verdict == "invalid"
    assert not artifact.pass_
    assert artifact.reason == "more than a quarter of a cohort stayed void: 2 of 4 WITH trials (rate_limit)"


def test_nothing_valid_is_invalid() -> None:
    artifact, decision, warnings = judged(trials(["rate_limit"] * 3, ["rate_limit"] * 3))
    assert (artifact.with_.success_rate, artifact.without.success_rate) == (None, None)
    assert (decision.verdict, artifact.pass_, decision.p_value, decision.method) == ("invalid", False, None, None)
    assert warnings["invalid"].evidence == {"cause": "voids"}
    assert "3 of 3 WITH trials (rate_limit) and 3 of 3 WITHOUT trials (rate_limit)" in artifact.reason


def test_a_quarter_is_not_more_than_a_quarter() -> None:
    _, decision, warnings = judged(trials(["auth", *["pass"] * 3], ["fail"] * 4))
    assert decision.verdict != "invalid"
    assert warnings["voids"].evidence == {"with": {"auth": 1}, "without": {}}
    assert "log" in warnings["voids"].advice


@pytest.mark.parametrize("rule", ["point", "evidence"])
def test_one_manipulated_trial_spoils_the_run(rule: str) -> None:
    on = ["pass"] * 9
    artifact, decision, _ = judged(trials([*on, "manipulation"], ["fail"] * 10), rule=rule)
    assert (decision.verdict, artifact.pass_) == ("invalid", False)
    assert artifact.reason == "the component was missing in 1 WITH trial"
    leaked, _, _ = judged(trials([*on, "manipulation"], ["fail"] * 8 + ["manipulation"] * 2), rule=rule)
    assert leaked.reason == "the component was missing in 1 WITH trial and was present in 2 WITHOUT trials"


def test_a_score_that_never_runs_is_invalid() -> None:
    artifact, decision, warnings = judged(counted(0, 3, 0, score_broken=True, score_exit=127))
    assert decision.verdict == "invalid"
    assert warnings["invalid"].evidence == {"cause": "scorer"}
    assert "score could not run" in artifact.reason
    attempts = [*counted(0, 3, 0, score_broken=True)[:-1], trial(2, "without", "fail")]
    assert judged(attempts)[1].verdict == "inconclusive"


def test_a_component_that_keeps_the_agent_from_starting() -> None:
    artifact, _, warnings = judged(trials(["startup", "prompt_too_long", "pass"], ["pass"] * 3))
    assert artifact.reason.endswith("; the component itself may keep the agent from starting")
    assert warnings["component-blocks-start"].evidence["with"] == {"prompt_too_long": 1, "startup": 1}
    retried = [*counted(4, 4, 0), trial(0, "with", "startup", attempt=0)]
    assert "component-blocks-start" in judged(retried)[2]
    assert "component-blocks-start" not in judged(trials(["startup"], ["startup"]))[2]


def test_early_invalid_speaks_as_soon_as_the_end_is_certain() -> None:
    plan = a_run(k=8).plan
    voids = [trial(pair, "with", "quota") for pair in range(3)]
    assert early_invalid(plan, []) is None
    assert early_invalid(plan, voids[:2]) is None
    assert early_invalid(plan, [*voids[:2], trial(3, "without", "quota")]) is None
    note = early_invalid(plan, voids)
    assert note == "more than a quarter of a cohort stayed void: 3 of 8 WITH trials (quota)"
    assert early_invalid(plan, [trial(0, "without", "manipulation")]) is not None
    retried = [trial(0, "with", "overloaded"), trial(0, "with", "pass", attempt=2)]
    assert early_invalid(a_run(k=1).plan, retried) is None
    # a broken score can still run in a later trial
    assert early_invalid(plan, [trial(0, "with", "fail", score_broken=True)]) is None


def test_what_is_invalid_early_is_invalid_in_the_end() -> None:
    attempts = [trial(pair, "with", "quota") for pair in range(3)]
    run = a_run(k=8, state="finished")
    artifact = assemble(run, attempts)
    assert artifact.reason == early_invalid(run.plan, attempts)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"state": "interrupted"}, "the run was stopped after 6 of 6 trials"),
        ({"state": "invalid", "note": "a disk was full"}, "a disk was full"),
        ({"note": "a cost is unknown"}, "a cost is unknown"),
        ({"k": 5}, "only 6 of 10 trials have ended"),
        ({"k": 5, "state": "running"}, "only 6 of 10 trials have ended"),
    ],
)
def test_a_run_without_an_end_has_no_verdict(changes: dict[str, Any], reason: str) -> None:
    artifact, decision, _ = judged(counted(3, 3, 0), **changes)
    assert (decision.verdict, artifact.pass_, artifact.reason) == ("invalid", False, reason)


def test_a_run_without_any_trial_has_a_shape() -> None:
    artifact = assemble(a_run(state="interrupted"), [])
    assert (artifact.with_.valid, artifact.trials, artifact.pass_) == (0, (), False)


def test_a_budget_stop_decides_on_what_ran() -> None:
    stop = Warn(code="budget-stop", advice="raise --max-cost")
    artifact, decision, warnings = judged(counted(5, 5, 2), k=9, warnings=(stop,))
    assert (decision.verdict, decision.pairs, artifact.k) == ("keep", 5, 9)
    assert artifact.pass_
    assert warnings["budget-stop"] == stop
    artifact, decision, _ = judged(trials(["quota"], ["fail"]), k=9, warnings=(stop,))
    assert (decision.verdict, artifact.reason) == ("invalid", "no WITH trial is valid")


def test_saturated() -> None:
    _, decision, warnings = judged(counted(5, 5, 5))
    assert decision.verdict == "inconclusive"
    assert warnings["saturated"].evidence == {"with": "5/5", "without": "5/5"}
    assert "easy" in warnings["saturated"].advice
    assert "few-trials" not in warnings
    assert "hard" in judged(counted(0, 5, 0))[2]["saturated"].advice
    assert "saturated" not in judged(counted(1, 5, 0))[2]


def test_without_saturated() -> None:
    warnings = judged(counted(4, 5, 5))[2]
    assert "without-saturated" in warnings
    assert "saturated" not in warnings
    assert "few-trials" not in warnings


def test_few_trials() -> None:
    warnings = judged(counted(8, 10, 5))[2]
    assert warnings["few-trials"] == Warn(
        code="few-trials", evidence={"valid": 10, "needed": 32}, advice="run again with --k 32"
    )
    assert "few-trials" not in judged(counted(0, 5, 2))[2]
    assert "few-trials" not in judged(counted(20, 20, 0))[2]
    hopeless = judged(counted(9, 10, 9))[2]["few-trials"]
    assert hopeless.evidence == {"valid": 10, "needed": None}
    assert "less than 0.20 to gain" in hopeless.advice
    far = judged(counted(5, 10, 5), delta=0.05)[2]["few-trials"]
    assert "more than 500 trials" in far.advice
    enough = judged(counted(55, 90, 45))[2]["few-trials"]
    assert enough.evidence["needed"] == 75
    assert "--k 180" in enough.advice
    assert "show a gain of 0.20 in" in enough.advice


@pytest.mark.parametrize("n", [1, 2])
def test_exploratory(n: int) -> None:
    warnings = judged(counted(n, n, 0))[2]
    assert warnings["exploratory"].evidence["valid"] == n
    assert "--k 5" in warnings["exploratory"].advice
    assert "few-trials" not in warnings
    assert "exploratory" not in judged(counted(3, 3, 0))[2]


def test_rules_disagree() -> None:
    kept = judged(counted(9, 10, 1), min_gain="0.9")
    assert not kept[0].pass_
    assert kept[1].verdict == "keep"
    assert kept[2]["rules-disagree"].evidence == {"point": "fail", "evidence": "keep", "rule": "point"}
    cut = judged(counted(61, 120, 60), rule="evidence")
    assert (cut[0].pass_, cut[1].verdict) == (False, "cut")
    assert cut[2]["rules-disagree"].evidence == {"point": "pass", "evidence": "cut", "rule": "evidence"}
    assert "--rule point" in cut[2]["rules-disagree"].advice
    assert "rules-disagree" not in judged(counted(3, 5, 2))[2]


def test_arms_identical() -> None:
    same = judged(counted(3, 3, 3, tree="a" * 40))[2]
    assert same["arms-identical"].evidence == {"pairs": 3}
    assert "HARNESS_COMPONENT_ENABLED" in same["arms-identical"].advice
    by_pair = [trial(pair, cohort, "pass", tree=f"{pair}") for pair in range(3) for cohort in ("with", "without")]
    assert "arms-identical" in judged(by_pair)[2]
    for change in ({"tree": "b"}, {"task_exit": 9}, {"score_exit": 9}, {"tree": None}):
        attempts = [*counted(3, 3, 3, tree="a" * 40)[:-1], trial(2, "without", "pass", **{"tree": "a" * 40} | change)]
        assert "arms-identical" not in judged(attempts)[2]
    assert "arms-identical" not in judged(counted(3, 3, 3, tree=None))[2]


def test_score_edited() -> None:
    touched = [trial(pair, "with", "pass", touched=("it's.sh", "b")) for pair in range(3)]
    attempts = [*touched, *(trial(pair, "without", "fail") for pair in range(3))]
    warn = judged(attempts)[2]["score-edited"]
    assert warn.evidence == {"with": ["b", "it's.sh"]}
    assert warn.advice.endswith("""add --unprotect b --unprotect 'it'"'"'s.sh'""")
    attempts[0] = trial(0, "with", "pass")
    assert "score-edited" not in judged(attempts)[2]


def test_models_differ() -> None:
    attempts = [
        trial(pair, cohort, "pass" if cohort == "with" else "fail", usage=Usage(model=f"m-{cohort}"))
        for pair in range(3)
        for cohort in ("with", "without")
    ]
    artifact, _, warnings = judged(attempts)
    assert warnings["models-differ"].evidence["without"] == {"model": ["m-without"], "agentVersion": []}
    assert artifact.environment is not None
    assert artifact.environment.model is None


def test_void_imbalance() -> None:
    first = [trial(pair, "with", "overloaded") for pair in range(5)]
    attempts = first + [
        trial(pair, cohort, "pass" if cohort == "with" else "fail", attempt=2)
        for pair in range(8)
        for cohort in ("with", "without")
    ]
    artifact, decision, warnings = judged(attempts)
    assert decision.verdict == "inconclusive"
    assert artifact.pass_
    assert warnings["void-imbalance"].evidence == {
        "withTrials": 5,
        "withoutTrials": 0,
        "p": pytest.approx(0.02564102564),
        "flips": False,
    }


def test_voids_that_leave_it_open_say_nothing_of_the_size_of_the_gain() -> None:
    first = [trial(pair, "with", "overloaded") for pair in range(6)]
    attempts = first + [
        trial(pair, cohort, "pass" if cohort == "with" or pair < 4 else "fail", attempt=2)
        for pair in range(20)
        for cohort in ("with", "without")
    ]
    _, decision, warnings = judged(attempts)
    assert (decision.verdict, decision.needed_k is not None and decision.needed_k <= 20) == ("inconclusive", True)
    assert "void-imbalance" in warnings
    assert "few-trials" not in warnings


@pytest.mark.parametrize(("jobs", "advice"), [(1, "with a longer"), (3, "with fewer --jobs or a longer")])
@pytest.mark.parametrize("voids", [2, 8])
def test_a_rate_limit_is_not_blamed_on_jobs_that_there_were_not(jobs: int, advice: str, voids: int) -> None:
    on = ["rate_limit"] * voids + ["pass"] * (12 - voids)
    artifact = assemble(a_run(k=12, jobs=jobs, state="finished"), trials(on, ["pass", "fail"] * 6))
    assert f"run again {advice} --retry-wait" in artifact.model_dump_json()


def test_the_run_keeps_its_own_warnings() -> None:
    own = Warn(code="baseline-passes", evidence={"exit": 0}, advice="make the score stricter")
    assert judged(counted(5, 5, 2), warnings=(own,))[2]["baseline-passes"] == own


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from(["pass", "fail", "quota", "startup"]), min_size=1, max_size=6),
    st.data(),
    st.randoms(use_true_random=False),
)
def test_the_order_of_records_never_matters(on: list[str], data: st.DataObject, shuffler: random.Random) -> None:
    off = data.draw(st.lists(st.sampled_from(["pass", "fail", "auth"]), min_size=len(on), max_size=len(on)))
    attempts = trials(on, off)
    mixed = list(attempts)
    shuffler.shuffle(mixed)
    run = a_run(k=len(on), state="finished")
    artifact = assemble(run, attempts)
    assert assemble(run, mixed) == artifact
    assert artifact.decision is not None
    if artifact.decision.verdict == "invalid":
        assert not artifact.pass_
    early = early_invalid(run.plan, mixed)
    assert early is None or artifact.reason == early
