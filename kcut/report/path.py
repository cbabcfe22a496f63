"""The figure of how the evidence grew, pair by pair, against the boundaries that would have ended the run. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log10
from typing import Any

from kcut.model.artifact import Artifact, Decision, TrialRow
from kcut.report.figure import (
    COHORTS,
    CUT,
    KEEP,
    NEUTRAL,
    Absent,
    Figure,
    Table,
    Trace,
    layout,
    level,
    numbered,
    titled,
)
from kcut.report.table import gain, weighted
from kcut.report.text import count, signed
from kcut.stats.eprocess import e_value
from kcut.stats.sequential import design
from kcut.stats.tango import tango_score

NAME, TITLE = "path", "Evidence, pair by pair"
#: A table with more pairs than this shows every n-th.
MOST_ROWS = 200
#: The boundaries of a longer plan take many seconds to calibrate.
LONGEST_PLAN = 100
#: An e-value of more powers of ten than this is drawn as if it had so many.
MOST_POWER = 300
#: What a plan is made for where the artifact does not say.
ALPHA, DELTA, BETA = 0.05, 0.20, 0.10


@dataclass(frozen=True, slots=True)
class Step:
    """After `n` complete pairs: only WITH passed in `u` of them, only WITHOUT in `v`."""

    n: int
    pair: int
    on: bool
    off: bool
    u: int
    v: int


def path(artifact: Artifact) -> Figure | Absent:
    """The statistic of the run's design after each complete pair, in the order the pairs are looked at."""
    decision = artifact.decision
    stopping = artifact.max_k is not None or (decision is not None and decision.method == "eprocess")
    # what such a run started before it was clear may end later, or not at all
    found, skipped = steps([row for row in artifact.trials if not stopping or row.pair < artifact.k])
    if not found:
        why = "No pair of trials is complete" if artifact.trials else "The artifact holds no trials"
        return Absent(NAME, TITLE, f"{why}, so there is nothing to follow.")
    notes = [f"{count(skipped, 'pair')} left out, since a trial of theirs is void."] if skipped else []
    if decision is not None and decision.method == "sequential":
        counted = found[: decision.pairs or None]
        return _sequential(artifact, decision, counted, notes)
    if decision is not None and decision.method == "eprocess":
        return _eprocess(decision, found[: decision.pairs or None], notes)
    return _difference(artifact, found, notes)


def steps(trials: Sequence[TrialRow]) -> tuple[list[Step], int]:
    """The complete pairs in index order, and how many pairs were skipped because a trial of them is void."""
    pairs: dict[tuple[int, str | None], dict[str, TrialRow]] = {}
    for row in trials:
        if row.cohort != "placebo":
            pairs.setdefault((row.pair, row.task), {})[row.cohort] = row
    found: list[Step] = []
    u = v = skipped = 0
    for (number, _), pair in sorted(pairs.items(), key=lambda item: item[0][0]):
        if len(pair) < 2 or any(row.outcome == "void" for row in pair.values()):
            skipped += 1
            continue
        on, off = pair["with"].outcome == "pass", pair["without"].outcome == "pass"
        u, v = u + (on and not off), v + (off and not on)
        found.append(Step(len(found) + 1, number, on, off, u, v))
    return found, skipped


def _line(name: str, x: Sequence[float], y: Sequence[float], color: str, **more: Any) -> Trace:
    mode = "lines+markers" if len(x) <= 60 else "lines"
    line = {"color": color, "width": 2} | more.pop("line", {})
    return {
        "type": "scatter",
        "mode": mode,
        "name": name,
        "x": list(x),
        "y": [float(f"{value:.5g}") for value in y],
        "line": line,
        "marker": {"color": color, "size": 6},
        "hovertemplate": f"{name} after %{{x}} pairs: %{{y:.3g}}<extra></extra>",
    } | more


def _boundary(name: str, x: Sequence[float], y: Sequence[float], color: str) -> Trace:
    return _line(name, x, y, color, mode="lines", line={"dash": "dash", "width": 1.5}, hoverinfo="skip")


def _difference(artifact: Artifact, found: Sequence[Step], notes: list[str]) -> Figure:
    """A run of fixed length, or without a verdict: the difference of the rates so far, and the final one with its
    interval.
    """
    decision = artifact.decision
    values = [(step.u - step.v) / step.n for step in found]
    last = found[-1]
    data = [_line("gain so far", [step.n for step in found], values, COHORTS["with"]["color"])]
    said = f"The difference of the success rates after {count(last.n, 'pair')} is {signed(values[-1])}"
    if decision is not None and decision.difference is not None and decision.interval is not None:
        low, high = decision.interval
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": "all trials, 95 %",
                "x": [last.n],
                "y": [decision.difference],
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [high - decision.difference],
                    "arrayminus": [decision.difference - low],
                    "color": NEUTRAL,
                    "thickness": 2,
                    "width": 6,
                },
                "marker": {"color": NEUTRAL, "size": 9, "symbol": "diamond"},
                "hovertemplate": f"all trials: {gain(decision.difference, decision.interval)}<extra></extra>",
            }
        )
        said += f"; over all trials it is {gain(decision.difference, decision.interval)}"
        if weighted(artifact.tasks):
            said += ", where the tasks count by their weights: along the way each pair counts alike"
    if artifact.max_k is not None:
        notes.append(f"The run was to end as soon as it was clear, after at most {count(artifact.max_k, 'pair')}.")
    elif decision is None or decision.method is not None:
        notes.append("The number of trials was fixed beforehand: no look along the way could end the run.")
    figure = layout(
        300,
        x=numbered("complete pairs", last.n),
        y=titled("gain (with minus without)", range=[-1.08, 1.08], tickformat="+.1f"),
        shapes=[level(0, NEUTRAL, "solid")],
    )
    table = _table(("difference",), _rows(found, [[signed(value)] for value in values]))
    return Figure(NAME, TITLE, f"{said}.", tuple(data), figure, table, tuple(notes))


def _sequential(artifact: Artifact, decision: Decision, found: Sequence[Step], notes: list[str]) -> Figure:
    """A run that stopped as soon as it was clear: Tango's statistics against their boundaries."""
    delta = decision.delta or DELTA
    most = max(artifact.max_k or artifact.k, found[-1].n)
    x = [step.n for step in found]
    keep = [tango_score(step.u, step.v, step.n, 0.0) for step in found]
    cut = [tango_score(step.u, step.v, step.n, delta) for step in found]
    data = [
        _line("T(0), any gain", x, keep, KEEP),
        _line(
            f"T({delta:g}), the gain asked for", x, cut, CUT, marker={"color": CUT, "size": 7, "symbol": "diamond"}
        ),
    ]
    heads: tuple[str, ...] = ("T(0)", f"T({delta:g})")
    cells = [[f"{a:.2f}", f"{b:.2f}"] for a, b in zip(keep, cut, strict=True)]
    if most <= LONGEST_PLAN:
        table = design(most, decision.alpha or ALPHA, delta, decision.beta or BETA)
        curve = list(range(1, most + 1))
        high = [table.keep.constant * (most / n) ** 0.25 for n in curve]
        low = [-table.cut.constant * (most / n) ** 0.25 for n in curve]
        data += [_boundary("keep at or above", curve, high, KEEP), _boundary("cut at or below", curve, low, CUT)]
        heads = ("T(0)", "keep at", f"T({delta:g})", "cut at")
        cells = [
            [ours[0], f"{high[step.n - 1]:.2f}", ours[1], f"{low[step.n - 1]:.2f}"]
            for step, ours in zip(found, cells, strict=True)
        ]
        notes.append(
            f"KEEP when the statistic of no gain, T(0), reaches the upper boundary; CUT when that of a gain of "
            f"{delta:g}, T({delta:g}), reaches the lower one; at most {most} pairs."
        )
    else:
        notes.append(f"The boundaries of a plan of more than {LONGEST_PLAN} pairs are not drawn.")
    notes += _after(decision)
    end = found[-1]
    said = (
        f"After {count(end.n, 'pair')}: T(0) = {keep[-1]:.2f}, T({delta:g}) = {cut[-1]:.2f}; "
        f"the run ended {decision.verdict.upper()}."
    )
    figure = layout(
        340, x=numbered("complete pairs", most), y=titled("score statistic"), shapes=[level(0, NEUTRAL, "solid")]
    )
    return Figure(NAME, TITLE, said, tuple(data), figure, _table(heads, _rows(found, cells)), tuple(notes))


def _after(decision: Decision) -> list[str]:
    """That trials which had begun ran on when the run was decided."""
    if not decision.after:
        return []
    verb = "does" if decision.after == 1 else "do"
    return [f"{count(decision.after, 'trial')} ended after the decision and {verb} not count."]


def _eprocess(decision: Decision, found: Sequence[Step], notes: list[str]) -> Figure:
    """A run without a maximum: the e-value, which ends in KEEP at 1 / alpha, on a logarithmic axis."""
    every = -(-len(found) // MOST_ROWS)
    shown = [step for step in found if step.n % every == 0 or step.n == len(found)]
    powers = [_power_of_ten(e_value(step.u, step.v)) for step in shown]
    values = [10 ** min(power, MOST_POWER) for power in powers]
    goal = 1 / (decision.alpha or ALPHA)
    low, high = min(*powers, 0.0), max(*powers, log10(goal))
    figure = layout(
        300,
        x=numbered("complete pairs", found[-1].n),
        y=titled("e-value", type="log", range=[low - 0.2, min(high, MOST_POWER) + 0.2]),
        shapes=[level(goal, KEEP), level(1, NEUTRAL, "solid")],
    )
    said = (
        f"The e-value after {count(len(found), 'pair')} is {values[-1]:.3g}; KEEP from {goal:g} on; the run ended "
        f"{decision.verdict.upper()}."
    )
    notes.append(f"The dashed line is {goal:g}, where the run ends in KEEP.")
    if every > 1:
        notes.append(f"Drawn at every {every}th of {len(found)} pairs, and at the last.")
    notes += _after(decision)
    data = (_line("e-value", [step.n for step in shown], values, KEEP),)
    table = _table(("e-value",), _rows(shown, [[f"{value:.3g}"] for value in values]))
    return Figure(NAME, TITLE, said, data, figure, table, tuple(notes))


def _power_of_ten(value: Fraction) -> float:
    """The logarithm of a number that may be beyond floats."""
    return log10(value.numerator) - log10(value.denominator)


def _rows(found: Sequence[Step], cells: Sequence[Sequence[str]]) -> tuple[list[list[str]], str]:
    """A row per pair; of many, every n-th and the last, and a sentence that says so."""
    every = -(-len(found) // MOST_ROWS)
    rows = [
        [str(step.n), str(step.pair), _word(step.on), _word(step.off), *own]
        for step, own in zip(found, cells, strict=True)
        if step.n % every == 0 or step.n == len(found) or every == 1
    ]
    note = f"Every {every}th of {len(found)} pairs and the last; each trial stands under Trials." if every > 1 else ""
    return rows, note


def _word(passed: bool) -> str:
    return "pass" if passed else "fail"


def _table(heads: Sequence[str], rows: tuple[list[list[str]], str]) -> Table:
    columns = (("pairs", "right"), ("pair", "right"), ("with", "left"), ("without", "left"))
    return Table((*columns, *((head, "right") for head in heads)), *rows)
