"""The result as a terminal shows it: a table, two verdict lines, warnings with their advice. Pure."""

from collections.abc import Sequence
from textwrap import wrap

from kcut.model.artifact import Artifact, TaskResult, Warn
from kcut.report.facts import fact_lines
from kcut.report.table import cells, cohorts_of, columns, task_columns, task_rows
from kcut.report.text import pad, plain, shorten
from kcut.report.text import width as text_width
from kcut.report.words import Line, verdict_lines

COLORS = {
    "PASS": "\x1b[32m",
    "FAIL": "\x1b[31m",
    "KEEP": "\x1b[32m",
    "CUT": "\x1b[31m",
    "INCONCLUSIVE": "\x1b[33m",
    "INVALID": "\x1b[31m",
    "warning": "\x1b[33m",
}
RESET = "\x1b[0m"


def render(
    artifact: Artifact,
    color: bool = False,
    *,
    title: bool = False,
    width: int = 80,
    min_gain: str | None = None,
) -> str:
    """The table, the verdict lines and the warnings, with a newline at the end.

    Nothing but the verdict lines is wider than `width`. Text from outside is neutralised; `color` adds the only
    escape sequences. `title` puts a line in front that says what was measured and when, for a reader who did not see
    it run. `min_gain` is the run's, where the evidence set `pass`.
    """
    warnings = artifact.decision.warnings if artifact.decision else ()
    lines = [_title(artifact, width), ""] if title else []
    lines += [table(artifact, width=width), ""]
    if artifact.tasks:
        lines += [task_table(artifact.tasks, width=width), ""]
    lines += [_verdict(line, color) for line in verdict_lines(artifact, min_gain=min_gain)]
    if artifact.rule == "evidence":
        lines.append(f"by --rule evidence the evidence counts: {'passed' if artifact.pass_ else 'not passed'}")
    for line in fact_lines(artifact):
        lines += wrap(line, width, subsequent_indent="  ", break_on_hyphens=False)
    for warn in warnings:
        lines += _warning(warn, color, width)
    return "\n".join(lines) + "\n"


def _title(artifact: Artifact, width: int) -> str:
    when = plain(artifact.ts)[:16].replace("T", " ")
    room = width - len(when) - len("      task ")
    name = shorten(artifact.component, room // 2)
    return f"{name}   {when}   task {shorten(artifact.task, room - text_width(name))}"


def _paint(word: str, color: bool) -> str:
    return f"{COLORS[word]}{word}{RESET}" if color else word


def _verdict(line: Line, color: bool) -> str:
    return f"{line.label}: {_paint(line.word, color)} - {line.text}"


def _warning(warn: Warn, color: bool, width: int) -> list[str]:
    """`  warning  code: advice`, continued under the code."""
    lead = "  warning  "
    text = plain(f"{warn.code}: {warn.advice}")
    lines = wrap(text, max(20, width - len(lead)), break_on_hyphens=False)
    first, *rest = lines or [""]
    return [f"  {_paint('warning', color)}  {first}", *(" " * len(lead) + line for line in rest)]


def table(artifact: Artifact, *, width: int = 80) -> str:
    """One row per cohort. Where `width` is too little, headings are broken in two and intervals lose their spaces."""
    headings, alignment = zip(*columns(artifact), strict=True)
    rows = [cells(name, cohort) for name, cohort in cohorts_of(artifact)]
    splits = [
        {"cost/success": "cost/\nsuccess", "median time": "median\ntime"},
        {f"pass@{artifact.k}": f"pass\n@{artifact.k}", f"pass^{artifact.k}": f"pass\n^{artifact.k}"},
    ]
    text = _aligned(headings, rows, alignment)
    for split in splits:
        if max(map(len, text.splitlines())) <= width:
            break
        headings = tuple(split.get(heading, heading) for heading in headings)
        rows = [[cell.replace(" - ", "-") for cell in row] for row in rows]
        text = _aligned(headings, rows, alignment)
    return text


def task_table(tasks: Sequence[TaskResult], *, width: int = 80) -> str:
    """One row per task: what passed of what counts in each cohort, and the gain. Long names are cut to fit."""
    (first, _), *others = task_columns(tasks)
    headings, alignment = zip(*others, strict=True)
    numbers = _aligned(headings, task_rows(tasks), alignment).splitlines()
    room = max(12, width - max(map(len, numbers)) - 2)
    # names are padded here, by terminal columns: tabulate would count a wide character as one
    names = [first, *(shorten(task.name, room) for task in tasks)]
    widest = max(map(text_width, names))
    return "\n".join(f"{pad(name, widest)}  {line}" for name, line in zip(names, numbers, strict=True))


def _aligned(headings: Sequence[str], rows: Sequence[Sequence[str]], alignment: Sequence[str]) -> str:
    from tabulate import tabulate

    # headings are rows of the table: as headings tabulate would pad them by two more columns
    two = [heading.split("\n") for heading in headings]
    upper = [lines[0] if len(lines) > 1 else "" for lines in two]
    lower = [lines[-1] for lines in two]
    heads = [upper, lower] if any(upper) else [lower]
    text = tabulate([*heads, *rows], tablefmt="plain", colalign=alignment, disable_numparse=True)
    return "\n".join(line.rstrip() for line in text.splitlines())
