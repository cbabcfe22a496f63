"""Parts of the page: tables that scroll by themselves, the trials, and where a benchmark comes from. Pure."""

from collections.abc import Iterator, Sequence
from html import escape

from kcut.model.artifact import Artifact, TrialRow
from kcut.report.spread import in_order
from kcut.report.table import Column
from kcut.report.text import UNKNOWN, duration, limited, money, plain

#: More trials than this are folded away until the reader asks for them.
MOST_OPEN = 500
#: How the columns of trials are aligned; those that say nothing in any trial are left out.
_TRIALS: tuple[Column, ...] = (
    ("pair", "right"),
    ("cohort", "left"),
    ("task", "left"),
    ("ran", "left"),
    ("outcome", "left"),
    ("reason", "left"),
    ("task exit", "right"),
    ("score exit", "right"),
    ("time", "right"),
    ("cost", "right"),
    ("turns", "right"),
    ("tokens in", "right"),
    ("tokens out", "right"),
    ("attempts", "right"),
)
#: What says nothing in a column: a value that is unknown, a first attempt.
_DULL = {len(_TRIALS) - 1: {"1"}}


def table(heads: Sequence[Column], rows: Sequence[Sequence[str]], name: str, *, wide: int | None = None) -> str:
    """Cells are HTML; `wide` is the column that may be broken into lines. Too wide, it scrolls."""
    sides = [' class="r"' if side == "right" else "" for _, side in heads]
    if wide is not None:
        sides[wide] = ' class="name"'
    top = "".join(f'<th scope="col"{side}>{escape(head)}</th>' for (head, _), side in zip(heads, sides, strict=True))
    body = "".join(
        "<tr>" + "".join(f"<td{side}>{cell}</td>" for cell, side in zip(row, sides, strict=True)) + "</tr>\n"
        for row in rows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(name)}">'
        f"<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody></table></div>\n"
    )


def trials(artifact: Artifact, heading: str) -> str:
    """A row per trial. Cells are not closed, as HTML allows: ten thousand rows are to stay light."""
    if not artifact.trials:
        return f"<{heading}>Trials</{heading}>\n<p>The artifact holds no trials.</p>\n"
    rows = [list(_trial(row)) for row in in_order(artifact.trials)]
    shown = [
        place
        for place in range(len(_TRIALS))
        if any(row[place] not in _DULL.get(place, {UNKNOWN, ""}) for row in rows)
    ]
    top = "".join(f'<th scope="col"{_side(place)}>{_TRIALS[place][0]}' for place in shown)
    lines = "".join(
        "<tr>" + "".join(f"<td{_side(place, row[place])}>{escape(row[place])}" for place in shown) + "\n"
        for row in rows
    )
    found = (
        '<div class="scroll trials" tabindex="0" role="region" aria-label="trials">'
        f"<table>\n<thead><tr>{top}</thead>\n<tbody>\n{lines}</tbody></table></div>\n"
    )
    if len(rows) <= MOST_OPEN:
        return f"<{heading}>Trials</{heading}>\n{found}"
    return (
        f"<{heading}>Trials</{heading}>\n"
        f"<details data-long><summary>all {len(rows)} trials</summary>\n{found}</details>\n"
        f'<p class="print note">The {len(rows)} trials are printed only where their table was opened before.</p>\n'
    )


def _side(place: int, cell: str = "") -> str:
    if cell in {"fail", "void"}:
        return f" class={cell}"
    return " class=r" if _TRIALS[place][1] == "right" else ""


def _trial(row: TrialRow) -> Iterator[str]:
    yield str(row.pair)
    yield row.cohort
    yield limited(row.task or "", 40)
    yield ("first", "second", "third")[min(row.position, 2)]
    yield row.outcome
    yield (
        (plain(row.reason or UNKNOWN)) + (" (late)" if row.late else "") + (" (time limit)" if row.timed_out else "")
    )
    yield _number(row.task_exit)
    yield _number(row.score_exit)
    yield duration(row.wall_ms)
    yield money(row.cost_usd)
    yield _number(row.turns)
    yield _number(row.tokens.input if row.tokens else None)
    yield _number(row.tokens.output if row.tokens else None)
    yield str(row.attempts)


def _number(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


def origin(artifact: Artifact, heading: str) -> str:
    """What was run, from where, and with what."""
    environment = artifact.environment
    agent = (environment.agent, environment.agent_version, environment.model) if environment else ()
    base = artifact.base
    facts = {
        "task": _command(artifact.task),
        "score": _command(artifact.score) if artifact.score is not None else "the task's exit code",
        "base": f"<code>{escape(plain(base.commit))}</code>{_dirty(base.dirty)}" if base else None,
        "component": _command(artifact.component_digest),
        "isolation": artifact.isolation and f"{artifact.isolation} worktrees",
        "seed": str(artifact.order.seed) if artifact.order else None,
        "rule": artifact.rule,
        "agent": escape(plain(", ".join(word for word in agent if word))) or None,
        "environment": escape(
            plain(
                f"kcut {environment.kcut}, git {environment.git}, Python {environment.python}, {environment.platform}"
            )
        )
        if environment
        else None,
        "run": _command(artifact.run_id),
        "written": escape(plain(artifact.ts)),
    }
    items = "".join(f"<dt>{name}</dt><dd>{text}</dd>\n" for name, text in facts.items() if text)
    return f"<{heading}>Where this comes from</{heading}>\n<dl>\n{items}</dl>\n"


def _command(text: str | None) -> str | None:
    return None if text is None else f"<code>{escape(plain(text))}</code>"


def _dirty(dirty: bool) -> str:
    return " (the checkout had uncommitted changes)" if dirty else ""
