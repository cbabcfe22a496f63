"""Runs and attempts as the tests record them."""

from typing import Any

from kcut.model.artifact import Environment
from kcut.model.outcome import Cohort, Outcome, Void
from kcut.model.plan import CheckoutPlan, Plan
from kcut.model.run import RunRecord
from kcut.model.trial import Tokens, TrialKey, TrialRecord, Usage

PHASES = {"open": 12.5, "task": 800.25, "score": 40.0}


def a_run(run_id: str = "20261130T151500Z-3f9c2a1b", *, component: str = "tidy-imports", **changes: Any) -> RunRecord:
    """A run of two pairs that has just begun; `changes` are fields of the record or of its plan."""
    plan: dict[str, Any] = {
        "component": component,
        "task": "./run.sh",
        "score": "./check.sh",
        "k": 2,
        "seed": 7,
        "checkout": CheckoutPlan(base="3f9c2a1b" * 5),
    }
    plan |= {name: changes.pop(name) for name in list(changes) if name in Plan.model_fields}
    return RunRecord(
        run_id=run_id,
        ts=changes.pop("ts", "2026-11-30T15:15:00.000Z"),
        plan=Plan(**plan),
        environment=Environment(kcut="0.1.0", git="2.39.5", python="3.11.7", platform="linux"),
        **changes,
    )


def an_attempt(
    pair: int = 0, cohort: str = "with", outcome: str = "pass", *, attempt: int = 1, **changes: Any
) -> TrialRecord:
    """An attempt that took a second and cost ten cents."""
    reason = changes.pop("reason", None)
    values: dict[str, Any] = {
        "position": 0 if cohort == "with" else 1,
        "seed": 100 + pair,
        "task_exit": 0,
        "score_exit": 0 if outcome == "pass" else 1,
        "wall_ms": 1000.0,
        "phases_ms": PHASES,
        "usage": Usage(cost_usd=0.1, tokens=Tokens(1000, 50, 10, 5), turns=3),
        "tree": "a" * 40,
        "started_at": "2026-11-30T15:15:01.000Z",
    }
    return TrialRecord(
        key=TrialKey(pair, Cohort(cohort)),
        attempt=attempt,
        outcome=Outcome(outcome),
        reason=Void(reason) if reason else None,
        **(values | changes),
    )
