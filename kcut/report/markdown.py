"""The result as a comment on a pull request: never longer than a forge lets one be. Pure."""

import re
from collections.abc import Sequence

from kcut.model.artifact import Artifact, TaskResult
from kcut.report.cells import Cell, overall
from kcut.report.facts import fact_lines
from kcut.report.table import Column, cells, cohorts_of, columns, gain, passed, task_columns, task_rows
from kcut.report.text import count, limited, plain
from kcut.report.words import Line, verdict_lines

#: The longest comment that GitHub takes, in characters.
MOST = 65_536
#: The longest command or name shown, in columns: the comment is to be read, and has a limit.
LONGEST = 200
#: The longest sentence, in characters with its escapes.
LONGEST_PROSE = 1500
#: More warnings, and more tasks, than this are counted, not shown.
MOST_WARNINGS = 20
MOST_TASKS = 50
#: More benchmarks than this have no row of their own in the table of several.
MOST_CELLS = 100
_WHOLE = "the whole of it: kcut report -f html"

_SPECIAL = re.compile(r"[\\`*_{}\[\]|~^$!]")
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
#: An empty comment keeps a forge from seeing a mention, an issue or a link in text that is none of ours.
_BREAKS = (("@", "@<!-- -->"), ("#", "#<!-- -->"), ("://", ":<!-- -->//"), ("www.", "www<!-- -->."))


def escape(text: str) -> str:
    """`text` as one line of prose in which nothing is markup, HTML, a mention, an issue or a link."""
    text = "".join(_HTML.get(char, char) for char in plain(text))
    text = _SPECIAL.sub(lambda match: "\\" + match[0], text)
    for found, broken in _BREAKS:
        text = text.replace(found, broken)
    return text


def prose(text: str) -> str:
    """`escape(text)`, of at most LONGEST_PROSE characters: shortened as far as its escapes make it necessary."""
    columns_left = LONGEST_PROSE
    while len(escaped := escape(limited(text, columns_left))) > LONGEST_PROSE:
        columns_left //= 2
    return escaped


def code(text: str, longest: int = LONGEST) -> str:
    """`text` as a code span, shortened, whatever backticks it holds."""
    text = limited(text, longest)
    if not text.strip():
        return "(empty)"
    runs = re.findall(r"`+", text)
    fence = "`" * (max(map(len, runs), default=0) + 1)
    space = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{fence}{space}{text}{space}{fence}"


def code_cell(text: str, longest: int = LONGEST) -> str:
    """`text` as a code span in a table, where even there a bar would end the cell."""
    return code(text, longest).replace("|", "\\|")


def render(artifact: Artifact, *, min_gain: str | None = None) -> str:
    """Heading, tables, verdict lines, warnings and where it came from, with a newline at the end."""
    lines = verdict_lines(artifact, min_gain=min_gain)
    blocks = [_heading(artifact, lines), _table(artifact)]
    if artifact.tasks:
        blocks.append(_task_table(artifact.tasks))
    blocks += map(_verdict, lines)
    blocks += map(prose, fact_lines(artifact))
    warnings = artifact.decision.warnings if artifact.decision else ()
    if warnings:
        shown = [f"- warning {code(warn.code, 60)}: {prose(warn.advice)}" for warn in warnings[:MOST_WARNINGS]]
        more = len(warnings) - MOST_WARNINGS
        blocks.append("\n".join(shown + ([f"- and {more} more"] if more > 0 else [])))
    blocks.append(_source(artifact))
    return "\n\n".join(blocks) + "\n"


def render_all(all_cells: Sequence[Cell]) -> str:
    """Each benchmark, then the decision on all of them, if there are several.

    At most MOST characters: where that is too little, a table with a row for each comes first, then as many of them
    as fit, and a sentence that says how many do not.
    """
    if len(all_cells) == 1:
        return render(all_cells[0].artifact, min_gain=all_cells[0].min_gain)
    verdict = overall([cell.decision for cell in all_cells]).upper()
    last = f"**Overall: {verdict}** ({len(all_cells)} benchmarks)\n"
    parts = _parts(all_cells, MOST - len(last))
    if len(parts) == len(all_cells):
        return "\n".join([*parts, last])
    table = _cell_table(all_cells)
    parts = _parts(all_cells, MOST - len(last) - len(table) - 200)
    left = f"The details of {len(all_cells) - len(parts)} benchmarks do not fit in a comment; {_WHOLE}\n"
    return "\n".join([last, table, *parts, left])


def _parts(all_cells: Sequence[Cell], room: int) -> list[str]:
    """The first benchmarks that fit into so many characters."""
    parts: list[str] = []
    for cell in all_cells:
        part = render(cell.artifact, min_gain=cell.min_gain)
        room -= len(part) + 1
        if room < 0:
            break
        parts.append(part)
    return parts


def _heading(artifact: Artifact, lines: Sequence[Line]) -> str:
    # the point rule's own line stands below; the heading says what set `pass`
    words = ["PASS" if artifact.pass_ else "FAIL"] + [f"evidence {line.word}" for line in lines[1:]]
    return f"### kcut: {code(artifact.component, 100)} - {', '.join(words)}"


def _verdict(line: Line) -> str:
    return f"**{line.label}: {line.word}** - {prose(line.text)}"


def _table(artifact: Artifact) -> str:
    return _rows(columns(artifact), [cells(name, cohort) for name, cohort in cohorts_of(artifact)])


def _task_table(tasks: Sequence[TaskResult]) -> str:
    shown = list(zip(tasks, task_rows(tasks), strict=True))[:MOST_TASKS]
    table = _rows(task_columns(tasks), [[code_cell(task.name, 60), *row] for task, row in shown])
    more = len(tasks) - MOST_TASKS
    return f"{table}\n\nand {count(more, 'more task')}; {_WHOLE}" if more > 0 else table


def _cell_table(all_cells: Sequence[Cell]) -> str:
    heads = (("component", "left"), ("evidence", "left"), ("with", "right"), ("without", "right"), ("gain", "left"))
    rows = []
    for cell in all_cells[:MOST_CELLS]:
        artifact, decision = cell.artifact, cell.artifact.decision
        shown = gain(decision.difference, decision.interval) if decision else gain(None, None)
        rows.append(
            [
                code_cell(artifact.component, 60),
                cell.decision.upper(),
                passed(artifact.with_),
                passed(artifact.without),
                shown,
            ]
        )
    more = len(all_cells) - MOST_CELLS
    return _rows(heads, rows) + (f"\n\nand {more} more benchmarks; {_WHOLE}" if more > 0 else "") + "\n"


def _rows(heads: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    lines = [[heading for heading, _ in heads], [":--" if side == "left" else "--:" for _, side in heads], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _source(artifact: Artifact) -> str:
    """Task, score, base, run and versions, as far as they are known."""
    parts = [f"task {code(artifact.task)}"]
    if artifact.score is not None:
        parts.append(f"score {code(artifact.score)}")
    if artifact.base is not None:
        parts.append(
            f"base {code(artifact.base.commit[:12])}{' (the checkout had uncommitted changes)' * artifact.base.dirty}"
        )
    if artifact.isolation is not None:
        parts.append(f"{artifact.isolation} worktrees")
    if artifact.order is not None:
        parts.append(f"seed {artifact.order.seed}")
    if artifact.environment is not None:
        known = (artifact.environment.agent, artifact.environment.agent_version, artifact.environment.model)
        parts += [code(text) for text in known if text]
        parts.append(f"kcut {code(artifact.environment.kcut)}")
    parts.append(code(artifact.ts) if artifact.run_id is None else f"run {code(artifact.run_id)}")
    return f"<sub>{' · '.join(parts)}</sub>"
