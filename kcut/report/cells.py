"""What a report shows: one or several benchmarks, and the one decision for all of them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcut.model.artifact import Artifact


@dataclass(frozen=True, slots=True)
class Cell:
    """One benchmark of a report; `min_gain` is its run's, unknown where only the artifact is."""

    artifact: "Artifact"
    min_gain: str | None = None

    @property
    def decision(self) -> str:
        """What the evidence supports. An artifact without a decision says too little to keep or cut."""
        return self.artifact.decision.verdict if self.artifact.decision else "inconclusive"


def overall(decisions: Sequence[str]) -> str:
    """One decision for several: the worst that can be said of all of them."""
    for verdict in ("invalid", "cut"):
        if verdict in decisions:
            return verdict
    return "keep" if decisions and set(decisions) == {"keep"} else "inconclusive"


def cell_document(cell: Cell) -> dict[str, Any]:
    """A benchmark as one entry of a JSON document's `cells`."""
    artifact = cell.artifact
    environment = artifact.environment
    return {
        "task": artifact.task,
        "cli": environment.agent if environment else None,
        "model": environment.model if environment else None,
        "with": artifact.with_.document(),
        "without": artifact.without.document(),
        **({} if artifact.placebo is None else {"placebo": artifact.placebo.document()}),
        "decision": cell.decision,
        "component": artifact.component,
        "runId": artifact.run_id,
        "rule": artifact.rule,
        "pass": artifact.pass_,
        "evidence": artifact.decision.document() if artifact.decision else None,
        "tasks": [task.document() for task in artifact.tasks],
    }
