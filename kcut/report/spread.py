"""Figures of what each trial took, in the order the trials were planned in. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kcut.model.artifact import Artifact, TrialRow
from kcut.report.figure import COHORTS, Absent, Figure, Table, Trace, layout, numbered, titled
from kcut.report.table import cohorts_of
from kcut.report.text import count, duration, money

#: With more points than this in a cohort, quantiles are drawn in their stead.
MOST_POINTS = 2000
#: Into so many parts, of consecutive trials, a cohort is then cut.
PARTS = 50
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_VOIDS = {"with": "x-thin-open", "without": "cross-thin-open", "placebo": "asterisk-open"}
_DASHES = {"with": "solid", "without": "dot", "placebo": "dash"}
COLUMNS = (
    ("cohort", "left"),
    ("trials", "right"),
    ("5 %", "right"),
    ("25 %", "right"),
    ("median", "right"),
    ("75 %", "right"),
    ("95 %", "right"),
)


@dataclass(frozen=True, slots=True)
class Point:
    """One trial: its place in the plan, from 1, and its value."""

    place: int
    value: float
    row: TrialRow


@dataclass(frozen=True, slots=True)
class Measure:
    """What is drawn of each trial: its words, how its values are written, and its axis."""

    name: str
    title: str
    axis: str
    words: Callable[[float | None], str]
    scale: float = 1.0
    prefix: str = ""


def costs(artifact: Artifact) -> Figure | Absent:
    """What each trial cost."""
    measure = Measure("costs", "Cost per trial", "US dollars", money, prefix="$")
    return _figure(artifact, measure, lambda row: row.cost_usd, "No trial reported what it cost.")


def times(artifact: Artifact) -> Figure | Absent:
    """How long each trial took, from opening its worktree to closing it."""
    longest = max((row.wall_ms for row in artifact.trials), default=0.0)
    axis, scale = ("milliseconds", 1.0) if longest < 2000 else ("seconds", 1e-3)
    if longest >= 600_000:
        axis, scale = "minutes", 1 / 60_000
    measure = Measure("times", "Time per trial", axis, duration, scale)
    return _figure(artifact, measure, lambda row: row.wall_ms, "The artifact holds no trials, so no times.")


def in_order(trials: Sequence[TrialRow]) -> list[TrialRow]:
    """The trials in the order they were planned in: pair by pair, in each pair the one that started first."""
    return sorted(trials, key=lambda row: (row.pair, row.position, row.cohort))


def quantiles(values: Sequence[float]) -> list[float]:
    """The QUANTILES of at least one value, interpolated linearly."""
    ordered = sorted(values)
    found = []
    for share in QUANTILES:
        place = share * (len(ordered) - 1)
        below = int(place)
        above = min(below + 1, len(ordered) - 1)
        found.append(ordered[below] + (ordered[above] - ordered[below]) * (place - below))
    return found


def _figure(
    artifact: Artifact, measure: Measure, value: Callable[[TrialRow], float | None], absent: str
) -> Figure | Absent:
    names = [name for name, _ in cohorts_of(artifact)]
    points: dict[str, list[Point]] = {name: [] for name in names}
    voids: dict[str, list[Point]] = {name: [] for name in names}
    unknown = 0
    for place, row in enumerate(in_order(artifact.trials), 1):
        found = value(row)
        if found is None:
            unknown += 1
            continue
        kind = voids if row.outcome == "void" else points
        kind.setdefault(row.cohort, []).append(Point(place, found, row))
    if not any((*points.values(), *voids.values())):
        return Absent(measure.name, measure.title, absent)
    thinned = any(len(group) > MOST_POINTS for group in (*points.values(), *voids.values()))
    data: list[Trace] = []
    rows: list[list[str]] = []
    for name, group in points.items():
        if group:
            rows.append([name, *_summary(group, measure)])
            data += _bands(name, _parts(group), measure) if thinned else [_dots(name, group, measure)]
    if thinned:
        data.sort(key=lambda trace: "name" in trace)  # no band lies over a median
    few = sum(map(len, voids.values())) <= MOST_POINTS
    for name, group in voids.items():
        if group:
            if few:
                data.append(_crosses(name, group, measure))
            rows.append([f"{name}, void", *_summary(group, measure)])
    said = "; ".join(f"{row[0]} median {row[4]} of {count(int(row[1]), 'trial')}" for row in rows)
    if thinned:
        rows += [
            [f"{name}, pairs {part[0].row.pair} to {part[-1].row.pair}", *_summary(part, measure)]
            for name, group in points.items()
            for part in _parts(group)
        ]
    return Figure(
        measure.name,
        measure.title,
        f"{measure.title} in the order the trials were planned in: {said}.",
        tuple(data),
        layout(
            300,
            x=numbered("trial, in planned order", len(artifact.trials)),
            y=titled(measure.axis, rangemode="tozero", tickprefix=measure.prefix),
        ),
        Table(COLUMNS, rows, "The numbers of each trial stand under Trials."),
        tuple(_notes(thinned, unknown, measure, sum(map(len, voids.values())) if not few else 0)),
    )


def _notes(thinned: bool, unknown: int, measure: Measure, voids: int) -> list[str]:
    notes = []
    if thinned:
        notes.append(
            f"A cohort has more than {MOST_POINTS} trials: instead of a point for each, the line is the median, the "
            f"dark band the middle half and the light band the middle 90 % of each of {PARTS} parts of the run."
        )
    if voids:
        notes.append(f"The {voids} void trials are not drawn.")
    if unknown:
        notes.append(f"{count(unknown, 'trial')} reported no {measure.name.rstrip('s')}.")
    return notes


def _summary(group: Sequence[Point], measure: Measure) -> list[str]:
    return [str(len(group)), *(measure.words(value) for value in quantiles([point.value for point in group]))]


def _short(value: float, measure: Measure) -> float:
    """In the axis' unit, with the digits that can be seen."""
    return float(f"{value * measure.scale:.5g}")


def _dots(name: str, group: Sequence[Point], measure: Measure) -> Trace:
    return {
        "type": "scatter",
        "mode": "markers",
        "cliponaxis": False,
        "name": name,
        "x": [point.place for point in group],
        "y": [_short(point.value, measure) for point in group],
        "customdata": [[point.row.pair, point.row.outcome, measure.words(point.value)] for point in group],
        "hovertemplate": f"{name} #%{{customdata[0]}} %{{customdata[1]}}: %{{customdata[2]}}<extra></extra>",
        "marker": COHORTS[name] | {"size": 7 if len(group) <= 200 else 4, "opacity": 0.85},
    }


def _crosses(name: str, group: Sequence[Point], measure: Measure) -> Trace:
    symbol = {"symbol": _VOIDS[name], "size": 9, "line": {"width": 2}}
    return _dots(name, group, measure) | {
        "name": f"{name}, void",
        "marker": {"color": COHORTS[name]["color"]} | symbol,
    }


def _parts(group: Sequence[Point]) -> list[Sequence[Point]]:
    """A cohort in PARTS of consecutive trials, or fewer."""
    size = max(1, -(-len(group) // PARTS))
    return [group[start : start + size] for start in range(0, len(group), size)]


def _bands(name: str, parts: Sequence[Sequence[Point]], measure: Measure) -> list[Trace]:
    """The median and two bands of each part of a cohort; one entry in the legend stands for all three."""
    x = [part[len(part) // 2].place for part in parts]
    levels = list(zip(*(quantiles([point.value for point in part]) for part in parts), strict=True))
    lines = [[_short(value, measure) for value in line] for line in levels]
    color = str(COHORTS[name]["color"])
    shared: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": x, "legendgroup": name}
    silent: dict[str, Any] = shared | {"showlegend": False, "hoverinfo": "skip", "line": {"width": 0, "color": color}}
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))

    def band(low: int, high: int, opacity: float) -> list[Trace]:
        fill = {"fill": "tonexty", "fillcolor": f"rgba({red},{green},{blue},{opacity})"}
        return [silent | {"y": lines[low]}, silent | {"y": lines[high]} | fill]

    median = shared | {
        "name": name,
        "y": lines[2],
        "text": [measure.words(value) for value in levels[2]],
        "hovertemplate": f"{name}, median %{{text}}<extra></extra>",
        "line": {"color": color, "width": 2, "dash": _DASHES[name]},
    }
    return [*band(0, 4, 0.12), *band(1, 3, 0.25), median]
