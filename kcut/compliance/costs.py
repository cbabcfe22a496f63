"""What passing runs cost, and those whose pass may be believed: rows of results joined with the streams. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from kcut.compliance.behaviors import Behaviors
from kcut.model.errors import UsageFault
from kcut.rows import values
from kcut.rows.columns import shown
from kcut.rows.parse import Lines, Objects
from kcut.rows.sources import published_void

_Key = tuple[str | None, str | None, str | None, str | None]

REMEDY = "a row names its stream_file, its pass and its cost_usd"


@dataclass(frozen=True, slots=True)
class Result:
    """The row of a run: the end of its stream's path, its cost in US dollars, why it is void (None: it is not)."""

    stream: tuple[str, ...]
    cli: str | None
    model: str | None
    task: str | None
    mode: str | None
    passed: bool | None
    cost: float | None
    void: str | None


@dataclass(frozen=True, slots=True)
class Cell:
    """The runs of one CLI, model, task (None: all tasks) and mode; medians in US dollars, None without such a run.

    `verified` is over the runs that passed, `trusted` over those of them that may be believed. A void run is in
    neither, nor in `passed`.
    """

    cli: str | None
    model: str | None
    task: str | None
    mode: str | None
    runs: int
    void: int
    passed: int
    trusted: int
    verified_cost: float | None
    trusted_cost: float | None


def results(found: Lines | Objects) -> list[Result]:
    """The rows of a file that name a stream. UsageFault if a value is of a kind that it cannot be."""
    if isinstance(found, Lines):
        raise UsageFault(f"{found.source}: it holds no JSON rows", remedy=REMEDY)
    return [_result(found, number, row) for number, row in enumerate(found.rows) if row.get("stream_file")]


def _result(found: Objects, number: int, row: Mapping[str, Any]) -> Result:
    def value(column: str, meaning: Any) -> Any:
        return values.read([row.get(column)], meaning, column, lambda _: found.place(number))[0]

    passed = value("pass", values.passed)
    return Result(
        path_of(value("stream_file", values.name))[-2:],
        cli=value("cli", values.optional),
        model=value("model", values.optional),
        task=value("task", values.optional),
        mode=value("mode", values.optional),
        passed=passed if isinstance(passed, bool) else None,
        cost=value("cost_usd", values.number),
        void=published_void(row),
    )


def path_of(path: str) -> tuple[str, ...]:
    """The parts of a path of any system."""
    return tuple(part for part in path.replace("\\", "/").split("/") if part not in {"", "."})


def joined(streams: Sequence[tuple[str, ...]], rows: Iterable[Result]) -> list[Result | None]:
    """The row of each stream, by the last two parts of its path (or the one that the row has), None if there is none.

    UsageFault if two rows that differ name one stream.
    """
    ends: dict[tuple[str, ...], list[int]] = {}
    for number, parts in enumerate(streams):
        for size in (1, 2):
            ends.setdefault(parts[-size:], []).append(number)
    found: list[Result | None] = [None] * len(streams)
    for row in rows:
        for number in ends.get(row.stream, ()):
            if found[number] not in {None, row}:
                raise UsageFault(
                    f"two rows that differ name the stream {shown('/'.join(row.stream))}",
                    remedy="give the rows of one batch, or each file of rows once",
                )
            found[number] = row
    return found


def cells(runs: Iterable[tuple[Behaviors, Result]], *, by_task: bool) -> list[Cell]:
    """The medians of each CLI, model and mode, in the order in which they occur; `by_task`: of each task, too."""
    groups: dict[_Key, list[tuple[Behaviors, Result]]] = {}
    for found, row in runs:
        key = (row.cli, row.model, row.task if by_task else None, row.mode)
        groups.setdefault(key, []).append((found, row))
    return [_cell(key, group) for key, group in groups.items()]


def _cell(key: _Key, group: Sequence[tuple[Behaviors, Result]]) -> Cell:
    passing = [(found, row) for found, row in group if row.void is None and row.passed]
    trusted = [row for found, row in passing if found.trusted]
    return Cell(
        *key,
        runs=len(group),
        void=sum(row.void is not None for _, row in group),
        passed=len(passing),
        trusted=len(trusted),
        verified_cost=_median(row for _, row in passing),
        trusted_cost=_median(trusted),
    )


def _median(rows: Iterable[Result]) -> float | None:
    costs = [row.cost for row in rows if row.cost is not None]
    return median(costs) if costs else None
