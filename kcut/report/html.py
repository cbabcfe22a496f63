"""The result as one page that asks for nothing from elsewhere: verdict, table, warnings, charts, trials. Pure.

The page carries plotly and its figures as JSON, and a policy by which a browser runs these two scripts and no other,
and loads nothing. Text from outside is escaped for HTML, for the JSON within it, and for plotly's own markup.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

from kcut.model.artifact import Artifact, Warn
from kcut.report.cells import Cell, overall
from kcut.report.charts import figures
from kcut.report.facts import fact_lines
from kcut.report.figure import Absent, Figure, Table
from kcut.report.html_parts import origin, table, trials
from kcut.report.table import cells, cohorts_of, columns, gain, passed, task_columns, task_rows
from kcut.report.text import UNKNOWN, count, limited, plain
from kcut.report.words import verdict_lines

_TONE = {"PASS": "good", "KEEP": "good", "FAIL": "bad", "CUT": "bad", "INVALID": "bad", "INCONCLUSIVE": "open"}


def render(all_cells: Sequence[Cell], *, library: str | None = None) -> str:
    """The page of one or several benchmarks, with a newline at the end.

    `library` is the text of plotly.js; by default that of the installed plotly.
    """
    if library is None:
        from plotly.offline import get_plotlyjs

        library = str(get_plotlyjs())
    several = len(all_cells) > 1
    body = [_contents(all_cells)] if several else []
    data: list[str] = []
    for number, cell in enumerate(all_cells, 1):
        body.append(_section(cell, f"b{number}", 2 if several else 1, data))
    title = f"{len(all_cells)} benchmarks" if several else plain(all_cells[0].artifact.component)
    scripts = ("\n" + library.strip() + "\n", "\n" + _text("page.js"))
    return "".join(
        [
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts)}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n',
            f'<title>kcut: {escape(title)}</title>\n<link rel="icon" href="data:,">\n',
            f"<style>\n{_text('page.css')}</style>\n</head>\n<body>\n<main>\n",
            *body,
            "</main>\n",
            "<noscript><p>The charts need JavaScript; their numbers stand in the tables.</p></noscript>\n",
            *data,
            *(f"<script>{script}</script>\n" for script in scripts),
            "</body>\n</html>\n",
        ]
    )


def _text(name: str) -> str:
    return files("kcut.report").joinpath(name).read_text(encoding="utf-8")


def _policy(scripts: Sequence[str]) -> str:
    """Nothing is loaded from anywhere, and these scripts alone run."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _contents(all_cells: Sequence[Cell]) -> str:
    """The decision on all of them, and a row with a link for each."""
    verdict = overall([cell.decision for cell in all_cells]).upper()
    lines = [
        f"<h1>{len(all_cells)} benchmarks</h1>\n",
        f'<p class="verdict {_TONE[verdict]}"><b>overall: {verdict}</b></p>\n',
    ]
    heads = (
        *(("component", "left"), ("evidence", "left"), ("with", "right"), ("without", "right")),
        *(("gain (95 %)", "left"), ("when", "left")),
    )
    rows = []
    for number, cell in enumerate(all_cells, 1):
        artifact, decision = cell.artifact, cell.artifact.decision
        word = cell.decision.upper()
        rows.append(
            [
                f'<a href="#b{number}">{escape(plain(artifact.component))}</a>',
                f'<b class="{_TONE[word]}">{word}</b>',
                passed(artifact.with_),
                passed(artifact.without),
                escape(gain(decision.difference, decision.interval) if decision else UNKNOWN),
                escape(_when(artifact)),
            ]
        )
    return "".join(lines) + table(heads, rows, "all benchmarks", wide=0)


def _when(artifact: Artifact) -> str:
    return plain(artifact.ts)[:16].replace("T", " ")


def _section(cell: Cell, key: str, level: int, data: list[str]) -> str:
    """One benchmark under a heading of that level; the JSON of its figures joins `data`."""
    artifact, heading, part = cell.artifact, f"h{level}", f"h{level + 1}"
    lines = [
        f'<section id="{key}" aria-labelledby="{key}-name">\n',
        f'<{heading} id="{key}-name" class="benchmark">{escape(plain(artifact.component))}</{heading}>\n',
        f'<p class="sub">{escape(_subtitle(artifact))}</p>\n',
    ]
    for line in verdict_lines(artifact, min_gain=cell.min_gain):
        text = f"<b>{escape(line.label)}: {escape(line.word)}</b> - {escape(line.text)}"
        lines.append(f'<p class="verdict {_TONE[line.word]}">{text}</p>\n')
    lines += [f'<p class="sub">{escape(line)}</p>\n' for line in fact_lines(artifact)]
    cohorts = cohorts_of(artifact)
    rows = [[escape(text) for text in cells(name, cohort)] for name, cohort in cohorts]
    lines.append(table(columns(artifact), rows, "both cohorts" if len(cohorts) == 2 else "all cohorts"))
    if artifact.tasks:
        lines.append(f"<{part}>Tasks</{part}>\n")
        names = [limited(task.name, 200) for task in artifact.tasks]
        each = [
            [escape(text) for text in (name, *row)]
            for name, row in zip(names, task_rows(artifact.tasks), strict=True)
        ]
        lines.append(table(task_columns(artifact.tasks), each, "tasks", wide=0))
    lines += [
        _warnings(artifact.decision.warnings if artifact.decision else (), part),
        *(_figure(figure, f"{key}-{figure.name}", part, data) for figure in figures(artifact)),
        trials(artifact, part),
        origin(artifact, part),
        "</section>\n",
    ]
    return "".join(lines)


def _subtitle(artifact: Artifact) -> str:
    parts = [_when(artifact), f"{count(artifact.k, 'pair')} planned"]
    if artifact.max_k is not None:
        invalid = artifact.decision is not None and artifact.decision.verdict == "invalid"
        pairs = len({row.pair for row in artifact.trials}) if invalid else artifact.k
        parts[1] = f"{count(pairs, 'pair')} of at most {artifact.max_k}"
    if artifact.run_id is not None:
        parts.append(f"run {plain(artifact.run_id)}")
    return " · ".join(parts)


def _warnings(warnings: Sequence[Warn], heading: str) -> str:
    if not warnings:
        return ""
    items = "".join(
        f"<li><b>{escape(plain(warn.code))}</b>: {escape(plain(warn.advice))}</li>\n" for warn in warnings
    )
    word = "Warnings" if len(warnings) > 1 else "Warning"
    return f'<{heading}>{word}</{heading}>\n<ul class="warnings">\n{items}</ul>\n'


def _figure(figure: Figure | Absent, key: str, heading: str, data: list[str]) -> str:
    if isinstance(figure, Absent):
        return f"<{heading}>{escape(figure.title)}</{heading}>\n<p>{escape(figure.why)}</p>\n"
    text = json.dumps({"data": figure.data, "layout": figure.layout}, allow_nan=False, separators=(",", ":"))
    # within a script element nothing but these could end it or begin another
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    data.append(f'<script type="application/json" id="{key}-data">{text}</script>\n')
    notes = "".join(f'<p class="note">{escape(note)}</p>\n' for note in figure.notes)
    return (
        f"<figure>\n<figcaption>{escape(figure.title)}</figcaption>\n"
        f'<div class="chart" id="{key}" data-figure="{key}-data" role="img" aria-label="{escape(figure.says)}" '
        f'style="height:{figure.height}px"></div>\n{notes}'
        f"<details><summary>the numbers of this chart</summary>\n{_numbers(figure.table, figure.title)}</details>\n"
        "</figure>\n"
    )


def _numbers(numbers: Table, name: str) -> str:
    note = f'<p class="note">{escape(numbers.note)}</p>\n' if numbers.note else ""
    rows = [[escape(limited(cell, 200)) for cell in row] for row in numbers.rows]
    return (
        table(numbers.columns, rows, f"numbers of {name}", wide=0 if numbers.columns[0][0] == "task" else None) + note
    )
