"""The tables that every report shows, as headings and cells of plain text: a row per cohort, a row per task. Pure."""

from collections.abc import Sequence

from kcut.model.artifact import Artifact, CohortSummary, TaskResult
from kcut.rates import trials_of
from kcut.report.text import UNKNOWN, duration, money, rate, signed

#: Heading and alignment of a column.
Column = tuple[str, str]

TASK_COLUMNS: tuple[Column, ...] = (
    ("task", "left"),
    ("with", "right"),
    ("without", "right"),
    ("gain (95 %)", "left"),
    ("void", "right"),
)


def columns(artifact: Artifact) -> list[Column]:
    """Heading and alignment of each column of the cohorts; a heading may be broken where there is little room."""
    return [
        ("cohort", "left"),
        ("trials", "right"),
        ("passed", "right"),
        ("rate (95 %)", "left"),
        (f"pass@{artifact.k}", "right"),
        (f"pass^{artifact.k}", "right"),
        ("cost/success", "right"),
        ("median time", "right"),
        ("void", "right"),
    ]


def cohorts_of(artifact: Artifact) -> list[tuple[str, CohortSummary]]:
    """The cohorts by name, in their order; a placebo where there is one."""
    placebo = [] if artifact.placebo is None else [("placebo", artifact.placebo)]
    return [("with", artifact.with_), ("without", artifact.without), *placebo]


def cells(name: str, cohort: CohortSummary) -> list[str]:
    """One cohort's row."""
    trials = trials_of(cohort)
    return [
        name,
        str(trials) if trials == cohort.k else f"{trials} of {cohort.k}",
        str(cohort.successes),
        with_interval(rate(cohort.success_rate), cohort.rate_interval),
        rate(cohort.pass_at_k),
        rate(cohort.pass_hat_k),
        money(cohort.cost_per_success),
        duration(cohort.median_wall_ms),
        _voids(cohort),
    ]


def weighted(tasks: Sequence[TaskResult]) -> bool:
    """True if some tasks count for more than others."""
    return len({task.weight for task in tasks}) > 1


def task_columns(tasks: Sequence[TaskResult]) -> tuple[Column, ...]:
    """Heading and alignment of each column of the tasks; their weights where these differ."""
    return (*TASK_COLUMNS, ("weight", "right")) if weighted(tasks) else TASK_COLUMNS


def task_rows(tasks: Sequence[TaskResult]) -> list[list[str]]:
    """A row for each task, in the columns of `task_columns` but for its name."""
    weights = weighted(tasks)
    return [[*task_cells(task), *([f"{task.weight:g}"] if weights else [])] for task in tasks]


def task_cells(task: TaskResult) -> list[str]:
    """One task's row, without its name, which each report shortens and escapes in its own way."""
    void = [_voids(cohort) for cohort in (task.with_, task.without)]
    return [
        passed(task.with_),
        passed(task.without),
        gain(task.difference, task.interval),
        UNKNOWN if UNKNOWN in void else str(sum(map(int, void))),
    ]


def passed(cohort: CohortSummary) -> str:
    """`3/5`: how many of the trials that count passed."""
    return f"{cohort.successes}/{trials_of(cohort)}"


def gain(difference: float | None, interval: tuple[float, float] | None) -> str:
    """`+0.40 (-0.10 - +0.72)`."""
    text = signed(difference)
    return text if interval is None else f"{text} ({signed(interval[0])} - {signed(interval[1])})"


def with_interval(text: str, interval: tuple[float, float] | None) -> str:
    """A rate and its interval: `0.40 (0.12 - 0.77)`."""
    return text if interval is None else f"{text} ({rate(interval[0])} - {rate(interval[1])})"


def _voids(cohort: CohortSummary) -> str:
    return str(sum(cohort.voids.values())) if cohort.valid is not None else UNKNOWN
