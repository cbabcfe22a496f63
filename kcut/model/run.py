"""A run as it is recorded: what was planned, on what, and how it ended."""

from typing import Literal

from kcut.model.artifact import Environment, Record, Warn
from kcut.model.plan import Plan

#: running: going on, or its process died; finished: has a verdict; invalid: can have none; interrupted: by a signal.
RunState = Literal["running", "finished", "invalid", "interrupted"]


class RunRecord(Record):
    """One invocation of the benchmark. `warnings` are those that the trials alone do not show.

    `note` says, for an invalid run, why it can carry no verdict. `ts` is when it began; `ended` when it ended last.
    """

    run_id: str
    ts: str
    plan: Plan
    environment: Environment
    state: RunState = "running"
    warnings: tuple[Warn, ...] = ()
    note: str | None = None
    ended: str | None = None
