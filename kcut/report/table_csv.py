"""Every trial as a row of CSV (RFC 4180), for spreadsheets and data frames. Pure."""

import csv
import io
from collections.abc import Sequence

from kcut.model.artifact import TrialRow
from kcut.model.trial import PHASES
from kcut.report.cells import Cell
from kcut.report.spread import in_order
from kcut.report.text import limited

#: The header. Names and order are stable; what is new joins at the end.
COLUMNS = (
    *("component", "run_id", "ts", "decision", "task", "pair", "cohort", "index", "position", "attempts"),
    *("outcome", "reason", "late", "timed_out", "task_exit", "score_exit", "wall_ms"),
    *(f"{phase}_ms" for phase in PHASES),
    *("cost_usd", "turns", "input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens"),
)
#: A command stands in every row of its run: of a longer one beginning and end are shown.
LONGEST = 500
#: Text that begins so is a formula to some spreadsheet; the wide forms are to Excel in East Asian editions.
_FORMULA = frozenset("=+-@＝＋－＠")


def render(all_cells: Sequence[Cell]) -> str:
    """The header and a row per trial, lines ended by CR LF; unknown values are empty.

    `task` is the task's name where a benchmark has several, else its command; `true` and `false` are booleans. Text
    from outside that a spreadsheet would take for a formula begins with an apostrophe, and is cut with `...` if it is
    longer than LONGEST columns.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for cell in all_cells:
        head = [text(cell.artifact.component), text(cell.artifact.run_id), text(cell.artifact.ts), cell.decision]
        command = text(cell.artifact.task)
        for row in in_order(cell.artifact.trials):
            writer.writerow([*head, command if row.task is None else text(row.task), *_values(row)])
    return out.getvalue()


def text(raw: str | None) -> str:
    """Text from outside as a cell: one line in which nothing hides or acts, and no formula."""
    shown = limited(raw or "", LONGEST)
    return f"'{shown}" if shown.lstrip()[:1] in _FORMULA else shown


def _values(row: TrialRow) -> list[object]:
    tokens, phases = row.tokens, row.phases_ms
    values: list[object] = [
        *(row.pair, row.cohort, row.index, row.position, row.attempts, row.outcome, text(row.reason)),
        *(row.late, row.timed_out, row.task_exit, row.score_exit, row.wall_ms),
        *(getattr(phases, phase) for phase in PHASES),
        *(row.cost_usd, row.turns),
        *((tokens.input, tokens.output, tokens.cache_read, tokens.cache_creation) if tokens else (None,) * 4),
    ]
    return [str(value).lower() if isinstance(value, bool) else value for value in values]
