"""`kcut history`: the runs of this checkout."""

import shutil
from typing import TYPE_CHECKING

import click

from kcut.cli.checkout import root
from kcut.cli.columns import aligned
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.report.text import plain, shorten, width

if TYPE_CHECKING:
    from kcut.store import RunRow

HEADER = ("run", "when (UTC)", "component", "k", "decision", "pass", "state")
#: Columns that a narrow terminal does without: the run's id begins with the time.
SPARE = {"when (UTC)"}
COLORS = {"keep": "green", "cut": "red", "invalid": "yellow"}
PASSED = {True: "yes", False: "no", None: "-"}

HELP = """List the runs of this checkout, the newest first.

State: running, finished, invalid (can carry no verdict), interrupted (stopped, or its process died; go on with
kcut benchmark --resume RUN). Decision a/a: a component against itself (kcut aa), no verdict on it.

\b
Examples:
  kcut history
  kcut history --json
  kcut show last
"""


@click.command("history", cls=ConfiguredCommand, help=HELP)
@json_option
@color_option
def command(as_json: bool, color: str) -> int:
    """Print the history; see HELP."""
    place = root()
    from kcut.store import Store

    with Store.open(place, create=False) as store:
        runs = store.history()
    if as_json:
        emit_json({"runs": [_document(run) for run in runs]})
    elif runs:
        click.echo(_table(runs, color=wants_color(color)), color=wants_color(color))
    else:
        click.echo("no run in this checkout yet; start one: kcut benchmark -h", err=True)
    return 0


def _document(run: "RunRow") -> dict[str, object]:
    return {
        "runId": run.run_id,
        "ts": run.ts,
        "component": run.component,
        "k": run.k,
        "decision": run.decision,
        "pass": run.pass_,
        "state": run.state,
        "aa": run.aa,
    }


def _table(runs: "tuple[RunRow, ...]", *, color: bool) -> str:
    """The runs as aligned lines; narrowed to the terminal's width where there is one."""
    rows: list[tuple[str, ...]] = [HEADER]
    for run in runs:
        when = plain(run.ts[:16].replace("T", " "))
        decision = "a/a" if run.aa else run.decision or "-"
        cells = (run.run_id, when, run.component, str(run.k), decision, PASSED[run.pass_], run.state)
        rows.append(tuple(plain(cell) for cell in cells))
    rows = _fitted(rows, shutil.get_terminal_size((10_000, 0)).columns)
    at = rows[0].index("decision")

    def style(column: int, cell: str, padded: str) -> str:
        return click.style(padded, fg=COLORS[cell]) if color and column == at and cell in COLORS else padded

    return aligned(rows, right={rows[0].index("k")}, style=style)


def _fitted(rows: list[tuple[str, ...]], columns: int) -> list[tuple[str, ...]]:
    """The rows in as many columns of text as a terminal has: a spare column goes, then names are shortened."""

    def total(rows: list[tuple[str, ...]]) -> int:
        return sum(max(map(width, column)) + 2 for column in zip(*rows, strict=True)) - 2

    if total(rows) <= columns:
        return rows
    kept = [index for index, name in enumerate(rows[0]) if name not in SPARE]
    rows = [tuple(row[index] for index in kept) for row in rows]
    at = rows[0].index("component")
    longest = max(width(row[at]) for row in rows)
    room = max(len("component"), longest - max(0, total(rows) - columns))
    return [(*row[:at], shorten(row[at], room), *row[at + 1 :]) for row in rows]
