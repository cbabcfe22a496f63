"""Artifacts of every kind that a report shows, built the same each time."""

import random
from dataclasses import replace
from typing import Any, Literal

from kcut.model.artifact import Artifact, Decision, TaskResult, TokenCounts, Warn
from kcut.model.trial import Tokens, TrialRecord, Usage
from kcut.stats.intervals import newcombe
from kcut.stats.sequential import design
from kcut.stats.stopping import decided
from kcut.summary import summarise, trial_rows
from kcut.verdict import assemble
from tests.records import a_run, an_attempt

HOSTILE = (
    "<script>alert(1)</script> ]]> \"onload=x' </script> <!-- & \x1b[31m\u202e\u2028\ufffe\udcff {{x}} ${y} %{z} $x$"
)


def attempt(
    draw: random.Random, pair: int, cohort: str, outcome: str, *, cost: bool = True, **more: Any
) -> TrialRecord:
    """A trial whose time and cost vary as those of real ones do, and differ by cohort."""
    slow = 1.25 if cohort == "with" else 1.0
    usage = Usage(
        cost_usd=round(draw.lognormvariate(-2.2, 0.35) * slow, 4) if cost else None,
        tokens=Tokens(draw.randrange(8_000, 60_000), draw.randrange(400, 3_000), 1000, 50) if cost else None,
        turns=draw.randrange(2, 12),
        model="model-1",
        agent_version="2.1.0",
    )
    void = {"outcome": "void", "reason": outcome} if outcome not in {"pass", "fail"} else {"outcome": outcome}
    values: dict[str, Any] = {
        "usage": usage,
        "wall_ms": round(draw.lognormvariate(9.8, 0.3) * slow),
        "agent": "claude",
        "tree": f"{cohort}{pair}",
    }
    return an_attempt(pair, cohort, **(values | void | more))


def fixed(
    n: int = 12, on: float = 0.95, off: float = 0.35, *, seed: int = 3, cost: bool = True, **run: Any
) -> Artifact:
    """A run of fixed length."""
    draw = random.Random(seed)
    attempts = []
    for pair in range(n):
        for place, (cohort, rate) in enumerate((("with", on), ("without", off))):
            outcome = "pass" if draw.random() < rate else "fail"
            attempts.append(_at(attempt(draw, pair, cohort, outcome, cost=cost), (place + pair) % 2))
    return assemble(a_run(k=n, state="finished", **run), attempts)


def placebo() -> Artifact:
    """A run with a third cohort that does nearly as well, and a void in it."""
    draw = random.Random(8)
    attempts = []
    for pair in range(12):
        for place, (cohort, rate) in enumerate((("with", 0.95), ("without", 0.3), ("placebo", 0.9))):
            outcome = "pass" if draw.random() < rate else "fail"
            outcome = "quota" if cohort == "placebo" and pair == 4 else outcome
            attempts.append(_at(attempt(draw, pair, cohort, outcome), (place + pair) % 3))
    return assemble(a_run(k=12, control="placebo", state="finished"), attempts)


def _at(record: TrialRecord, position: int) -> TrialRecord:
    return replace(record, position=position)


def sequential(verdict: Literal["keep", "cut"] = "keep") -> Artifact:
    """A run that stopped at a boundary, with two trials that ended after the decision."""
    rows: list[str] = {
        "keep": "10 10 11 10 01 10 10 00 10 10 10",
        "cut": "11 01 00 11 10 01 00 11 01 10 01 00 01",
    }[verdict].split()
    _, found = decided(design(), [(row[0] == "1", row[1] == "1") for row in rows])
    assert found == verdict
    draw = random.Random(5)
    attempts = []
    for pair, outcomes in enumerate(rows):
        for place, (cohort, passed) in enumerate(zip(("with", "without"), list(outcomes), strict=True)):
            made = attempt(draw, pair, cohort, "pass" if passed == "1" else "fail")
            attempts.append(_at(made, (place + pair) % 2))
    artifact = assemble(a_run(k=len(rows), state="finished"), attempts)
    low, high = {"keep": (0.18, 0.86), "cut": (-0.55, 0.05)}[verdict]
    on, off = artifact.with_.success_rate or 0, artifact.without.success_rate or 0
    decision = Decision(
        verdict=verdict,
        method="sequential",
        alpha=0.05,
        delta=0.2,
        beta=0.1,
        statistic=2.3333,
        difference=on - off,
        interval=(low, high),
        pairs=len(rows),
        after=2,
        warnings=(Warn(code="early-keep", advice="an effect read after an early stop is inflated: do not quote it"),)
        if verdict == "keep"
        else (),
    )
    return artifact.model_copy(update={"decision": decision, "max_k": 20})


def eprocess() -> Artifact:
    """A run without a maximum."""
    artifact = sequential("keep")
    assert artifact.decision is not None
    decision = artifact.decision.model_copy(update={"method": "eprocess", "beta": None, "delta": None})
    return artifact.model_copy(update={"decision": decision, "max_k": None})


def several_tasks(
    names: tuple[str, ...] = ("parse-config", "fix-imports", "rename-module", "write-tests", "日本語 task"),
    **run: Any,
) -> Artifact:
    """Tasks with voids of several reasons, pairs numbered through."""
    draw = random.Random(11)
    k = 6
    attempts: list[TrialRecord] = []
    rows = []
    tasks = []
    pair = 0
    for number, name in enumerate(names):
        own = []
        for _ in range(k):
            for place, (cohort, rate) in enumerate((("with", 0.85), ("without", 0.3 + 0.12 * number))):
                outcome = "pass" if draw.random() < rate else "fail"
                if draw.random() < 0.09:
                    outcome = draw.choice(["rate_limit", "overloaded", "setup"])
                own.append(_at(attempt(draw, pair, cohort, outcome), (place + pair) % 2))
            pair += 1
        attempts += own
        rows += [row.model_copy(update={"task": name}) for row in trial_rows(a_run().plan, own)]
        on = summarise(k, [each for each in own if each.key.cohort.value == "with"])
        off = summarise(k, [each for each in own if each.key.cohort.value == "without"])
        tasks.append(
            TaskResult(
                name=name,
                weight=1 / len(names),
                task=f"./run.sh {name}",
                score="./check.sh",
                **{"with": on},
                without=off,
                difference=(on.success_rate or 0) - (off.success_rate or 0),
                interval=newcombe(on.successes, on.valid or 0, off.successes, off.valid or 0),
            )
        )
    artifact = assemble(a_run(k=k * len(names), state="finished", **run), attempts)
    assert artifact.decision is not None
    decision = artifact.decision.model_copy(update={"method": "cmh"})
    return artifact.model_copy(update={"tasks": tuple(tasks), "trials": tuple(rows), "decision": decision})


def hostile() -> Artifact:
    """Hostile text wherever text from outside can be."""
    long = HOSTILE + "x" * 10_000
    own = Warn(code=HOSTILE, evidence={"a": HOSTILE}, advice=long)
    artifact = several_tasks((HOSTILE, long, "a"), component=HOSTILE, task=long, score=long, warnings=(own,))
    assert artifact.base is not None
    assert artifact.environment is not None
    words = dict.fromkeys(("kcut", "git", "python", "platform", "agent", "agent_version", "model"), HOSTILE)
    bad = artifact.with_.model_copy(update={"voids": {HOSTILE: 2, "<b>": 1}})
    return artifact.model_copy(
        update={
            "reason": long,
            "run_id": HOSTILE,
            "ts": HOSTILE,
            "with_": bad,
            "component_digest": HOSTILE,
            "base": artifact.base.model_copy(update={"commit": HOSTILE}),
            "environment": artifact.environment.model_copy(update=words),
            "trials": tuple(row.model_copy(update={"reason": row.reason and HOSTILE}) for row in artifact.trials),
        }
    )


def huge(pairs: int = 5_000) -> Artifact:
    """Ten thousand trials, as cheap to make as they can be."""
    small = fixed(50)
    count = TokenCounts(input=20_000, output=1_000, cache_read=0, cache_creation=0)
    draw = random.Random(1)
    trials = []
    for pair in range(pairs):
        for place, template in enumerate((small.trials[0], small.trials[1])):
            values = {
                "pair": pair,
                "index": pair,
                "cohort": "with" if place == 0 else "without",
                "position": (place + pair) % 2,
                "outcome": "pass" if draw.random() < (0.8 if place == 0 else 0.5) else "fail",
                "wall_ms": float(draw.randrange(5_000, 60_000)),
                "cost_usd": round(draw.uniform(0.05, 0.4), 4),
                "tokens": count,
            }
            trials.append(template.model_copy(update=values))
    return small.model_copy(update={"k": pairs, "trials": tuple(trials)})
