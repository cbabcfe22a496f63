"""The figures of one benchmark: rates, tasks, voids, and those of the modules beside this one. Pure."""

from collections.abc import Iterator, Sequence

from kcut.model.artifact import Artifact, CohortSummary, TaskResult
from kcut.rates import trials_of
from kcut.report.figure import COHORTS, NEUTRAL, Absent, Figure, Table, label, layout, titled, upright, whole
from kcut.report.path import path
from kcut.report.spread import costs, times
from kcut.report.table import cohorts_of, gain, task_columns, task_rows, with_interval
from kcut.report.text import count, plain, rate, signed

#: So many tasks a figure: more would not fit on a printed page.
TASKS_A_FIGURE = 24
#: How the bars of a cohort are hatched.
_SHAPES = {"with": "", "without": "/", "placebo": "."}


def figures(artifact: Artifact) -> Iterator[Figure | Absent]:
    """All figures in their order, each or the sentence that stands in its place."""
    yield rates(artifact)
    yield from tasks(artifact)
    yield path(artifact)
    yield costs(artifact)
    yield times(artifact)
    yield voids(artifact)


def rates(artifact: Artifact) -> Figure | Absent:
    """The cohorts' success rates with their 95 % intervals."""
    title = "Success rates"
    cohorts = cohorts_of(artifact)
    known = [(name, cohort) for name, cohort in cohorts if cohort.success_rate is not None]
    if not known:
        return Absent("rates", title, "No trial counts, so there is no success rate.")
    data = []
    for name, cohort in known:
        center = cohort.success_rate or 0.0
        low, high = cohort.rate_interval or (center, center)
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [round(center, 6)],
                "y": [name],
                "marker": COHORTS[name] | {"size": 13},
                "error_x": {
                    "type": "data",
                    "symmetric": False,
                    "array": [round(high - center, 6)],
                    "arrayminus": [round(center - low, 6)],
                    "color": COHORTS[name]["color"],
                    "thickness": 2.5,
                    "width": 7,
                },
                "hovertemplate": f"{name}: {_rate_words(cohort)}<extra></extra>",
                "showlegend": False,
            }
        )
    said = "; ".join(f"{name} {_rate_words(cohort)}" for name, cohort in known)
    return Figure(
        "rates",
        title,
        f"Success rates with 95 % intervals: {said}.",
        tuple(data),
        layout(
            150 + 40 * (len(cohorts) - 2),
            x=titled("share of trials that passed", range=[-0.02, 1.02], tickformat=".1f"),
            y={
                "type": "category",
                "categoryorder": "array",
                "categoryarray": [name for name, _ in reversed(cohorts)],
                "range": [-0.6, len(cohorts) - 0.4],
            },
            margin={"l": 8, "r": 16, "t": 8, "b": 8},
        ),
        Table(
            (("cohort", "left"), ("passed", "right"), ("trials", "right"), ("rate (95 %)", "left")),
            [
                (
                    name,
                    str(cohort.successes),
                    str(trials_of(cohort)),
                    with_interval(rate(cohort.success_rate), cohort.rate_interval),
                )
                for name, cohort in cohorts
            ],
        ),
    )


def _rate_words(cohort: CohortSummary) -> str:
    passed = f"{cohort.successes} of {trials_of(cohort)} passed"
    return f"{passed}, {with_interval(rate(cohort.success_rate), cohort.rate_interval)}"


def tasks(artifact: Artifact) -> Iterator[Figure]:
    """The gain on each task with its 95 % interval, and on all of them; nothing where there is one task."""
    total = len(artifact.tasks)
    for start in range(0, total, TASKS_A_FIGURE):
        shown = artifact.tasks[start : start + TASKS_A_FIGURE]
        part = f" ({start + 1} to {start + len(shown)} of {total})" if total > TASKS_A_FIGURE else ""
        yield _task_figure(artifact, shown, f"tasks-{start // TASKS_A_FIGURE}", f"Gain by task{part}")


def _task_figure(artifact: Artifact, shown: Sequence[TaskResult], name: str, title: str) -> Figure:
    decision = artifact.decision
    rows = [(task.name, task.difference, task.interval, NEUTRAL) for task in shown]
    if decision is not None and decision.difference is not None:
        rows.append(("all tasks", decision.difference, decision.interval, COHORTS["with"]["color"]))
    known = [(place, row) for place, row in enumerate(rows) if row[1] is not None]
    ends = [(difference or 0.0, *(interval or (difference or 0.0,) * 2)) for _, (_, difference, interval, _) in known]
    colors = [color for _, (_, _, _, color) in known]
    data = tuple(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [round(center, 6)],
            "y": [place],
            "marker": {"color": color, "size": 10, "symbol": "square" if text == "all tasks" else "circle"},
            "error_x": {
                "type": "data",
                "symmetric": False,
                "array": [round(high - center, 6)],
                "arrayminus": [round(center - low, 6)],
                "color": color,
                "thickness": 2,
                "width": 5,
            },
            "hovertemplate": f"{label(text)}: {gain(center, (low, high))}<extra></extra>",
            "showlegend": False,
        }
        for (place, (text, *_)), (center, low, high), color in zip(known, ends, colors, strict=True)
    )
    best = max(known, key=lambda item: item[1][1] or 0.0)[1] if known else None
    said = f"; the largest is {signed(best[1])} on {plain(best[0])}" if best else ""
    delta = decision.delta if decision else None
    cells = dict(zip((task.name for task in artifact.tasks), task_rows(artifact.tasks), strict=True))
    return Figure(
        name,
        title,
        f"Gain in the success rate on {count(len(shown), 'task')}, each with its 95 % interval{said}.",
        data,
        layout(
            90 + 26 * len(rows),
            x=titled("gain (with minus without)", range=[-1.05, 1.05], tickformat="+.1f"),
            y={
                "tickmode": "array",
                "tickvals": list(range(len(rows))),
                "ticktext": [label(text, 22) for text, *_ in rows],
                "range": [len(rows) - 0.4, -0.6],
            },
            margin={"l": 8, "r": 16, "t": 8, "b": 8},
            shapes=[upright(0, NEUTRAL, "solid"), *([upright(delta, NEUTRAL, "dot")] if delta else [])],
        ),
        Table(task_columns(artifact.tasks), [[task.name, *cells[task.name]] for task in shown]),
        (f"The dotted line is the gain asked for, {signed(delta)}.",) if delta else (),
    )


def voids(artifact: Artifact) -> Figure | Absent:
    """How many trials stayed void, by reason and cohort."""
    title = "Voids"
    cohorts = dict(cohorts_of(artifact))
    reasons = sorted({reason for cohort in cohorts.values() for reason, number in cohort.voids.items() if number})
    again = sum(cohort.void_attempts for cohort in cohorts.values())
    if not reasons and all(cohort.valid is None for cohort in cohorts.values()):
        return Absent("voids", title, "The artifact does not say whether trials stayed void.")
    if not reasons:
        more = f" ({count(again, 'void attempt')} went well when run again)" if again else ""
        return Absent("voids", title, f"No trial stayed void{more}.")
    data = tuple(
        {
            "type": "bar",
            "orientation": "h",
            "name": name,
            "y": list(range(len(reasons))),
            "x": [cohort.voids.get(reason, 0) for reason in reasons],
            "marker": {"color": COHORTS[name]["color"], "pattern": {"shape": _SHAPES[name]}},
            "hovertemplate": f"{name}: %{{x}}<extra></extra>",
        }
        for name, cohort in cohorts.items()
    )
    most = max(max(cohort.voids.values(), default=0) for cohort in cohorts.values())
    totals = "; ".join(f"{name} {sum(cohort.voids.values())} of {cohort.k}" for name, cohort in cohorts.items())
    return Figure(
        "voids",
        title,
        f"Trials that stayed void, by reason: {totals}.",
        data,
        layout(
            110 + 44 * len(reasons),
            x=titled("trials", rangemode="tozero", **whole(most)),
            y={
                "tickmode": "array",
                "tickvals": list(range(len(reasons))),
                "ticktext": [label(reason, 22) for reason in reasons],
                "autorange": "reversed",
            },
            barmode="group",
            bargap=0.35,
        ),
        Table(
            (("reason", "left"), *((name, "right") for name in cohorts)),
            [
                *([reason, *(str(cohort.voids.get(reason, 0)) for cohort in cohorts.values())] for reason in reasons),
                ["void attempts, those run again too", *(str(cohort.void_attempts) for cohort in cohorts.values())],
            ],
        ),
    )
