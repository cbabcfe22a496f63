"""Records of known origin: the runs that the Maestro project published, and kcut's own artifacts. Pure."""

from collections.abc import Mapping
from typing import Any, TypeGuard

from kcut.model.errors import UsageFault
from kcut.model.outcome import Cohort
from kcut.rows.parse import Lines, Objects
from kcut.rows.table import CohortNames, Table, table

#: The columns of the published runs.
MAESTRO = {
    "task": "task",
    "cohort": "mode",
    "pass": "pass",
    "cost": "cost_usd",
    "wall": "wall_ms",
    "turns": "num_turns",
    "input_tokens": "in_tokens",
    "output_tokens": "out_tokens",
    "cli": "cli",
    "model": "model",
}
#: Their cohorts: a rules file present, or absent. A third, `core`, is a shorter file.
MAESTRO_COHORTS = CohortNames("on", "off")
#: What older files lack, as if they said that it is unknown.
_OPTIONAL = ("cost_usd", "wall_ms", "num_turns", "in_tokens", "out_tokens", "cli", "model")
#: Runs before this moment had the checker in the agent's sight.
CHECKER_HIDDEN = "2026-06-10T13:00"
#: What else was varied between the published runs.
_VARIED = ("hooks", "hook_set", "think_cap")

#: The columns of the rows in an artifact.
ARTIFACT = {
    "task": "task",
    "cohort": "cohort",
    "pass": "outcome",
    "cost": "costUsd",
    "wall": "wallMs",
    "turns": "turns",
    "cli": "cli",
    "model": "model",
    "input_tokens": "input",
    "output_tokens": "output",
    "pair": "pair",
}


def maestro(found: Lines | Objects, cohorts: CohortNames) -> Table:
    """The rows of a published file, with the rule for voids that was published with them."""
    names = [*found.names, *(name for name in _OPTIONAL if name not in found.names)]
    if isinstance(found, Lines):
        raise UsageFault(f"{found.source}: the published runs are JSON, and this is not")
    rows = Objects(found.source, names, found.rows, found.lines)
    read = table(rows, MAESTRO, cohorts)
    read.void = [published_void(row) for row in found.rows]
    read.setting = [_setting(row) for row in found.rows]
    return read


def published_void(row: Mapping[str, Any]) -> str | None:
    """The published rule: an error, no second turn, or no cost."""
    turns, cost = row.get("num_turns"), row.get("cost_usd")
    if row.get("is_error"):
        return "error"
    if isinstance(turns, int | float) and turns <= 1:
        return "no-turns"
    return None if cost else "no-cost"


def _setting(row: Mapping[str, Any]) -> str:
    """What was varied besides the rules file, and whether the agent could see the checker."""
    parts = [f"{name} {row[name]}" for name in _VARIED if row.get(name) is not None and row[name] is not False]
    stamp = row.get("timestamp")
    if isinstance(stamp, str) and stamp < CHECKER_HIDDEN:
        parts.append("checker visible")
    return ", ".join(parts) or "plain"


def is_artifact(found: Lines | Objects) -> TypeGuard[Objects]:
    """True for the verdict on a component, with its trials."""
    document = found.document if isinstance(found, Objects) else None
    return document is not None and isinstance(document.get("component"), str) and "trials" in document


def artifact(found: Objects, cohorts: CohortNames) -> Table:
    """The trials of an artifact but those of a placebo; its task, agent and model are those of rows that name none.

    UsageFault for a run that is decided in another way than single cells are: one that stopped as soon as it was
    clear, one that compared costs, one of several tasks.
    """
    document = found.document or {}
    own = _own_way(document)
    if own is not None:
        raise UsageFault(f"{found.source}: {own}", remedy=f"its decision: kcut report {found.source}")
    environment = document.get("environment")
    known = environment if isinstance(environment, dict) else {}
    common = {"task": document.get("task"), "cli": known.get("agent"), "model": known.get("model")}
    trials = [row for row in found.rows if row.get("cohort") != Cohort.PLACEBO]
    rows = [common | dict(row) | _tokens(row) for row in trials]
    names = [*ARTIFACT.values()]
    read = table(Objects(found.source, names, rows), ARTIFACT, cohorts)
    for row, trial in enumerate(trials):
        if read.void[row] is not None and isinstance(trial.get("reason"), str):
            read.void[row] = trial["reason"]
    read.retried = [isinstance(row.get("attempts"), int) and row["attempts"] > 1 for row in trials]
    return read


def _own_way(document: Mapping[str, Any]) -> str | None:
    """Why the trials of a run are decided as the run was, and not as cells; None if they are decided alike."""
    decision, tasks = document.get("decision"), document.get("tasks")
    known = decision if isinstance(decision, dict) else {}
    if document.get("maxK") is not None or known.get("method") == "eprocess":
        return "that run stopped as soon as it was clear, and only its own test holds for it"
    if known.get("objective") == "cost":
        return "that run was to show lower costs (--objective cost), and has its own decision on them"
    if isinstance(tasks, list) and len(tasks) > 1:
        return f"that run had {len(tasks)} tasks, and one decision on all of them"
    return None


def _tokens(row: Mapping[str, Any]) -> dict[str, Any]:
    """The tokens of a row, which an artifact nests."""
    tokens = row.get("tokens")
    known = tokens if isinstance(tokens, dict) else {}
    return {"input": known.get("input"), "output": known.get("output")}
