"""`kcut show`: one run, trial by trial."""

from typing import TYPE_CHECKING, Any

import click

from kcut.cli.checkout import root
from kcut.cli.columns import aligned
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.suggest import runs
from kcut.report.text import count, duration, fold, money, plain, shorten

if TYPE_CHECKING:
    from kcut.model.artifact import TrialRow, Warn
    from kcut.model.plan import Plan
    from kcut.model.run import RunRecord
    from kcut.model.trial import TrialRecord
    from kcut.store import Event, RunRow

#: Of two lines, so that a row fits a terminal.
HEADER = (
    ("", "", "", "task", "score", "", "", "", "", ""),
    ("trial", "outcome", "reason", "exit", "exit", "time", "cost", "turns", "attempts", "failing"),
)
#: The columns of numbers: from the task's exit code to the attempts.
NUMBERS = range(3, 9)
#: The column of tasks, beside the trial's name where a run has several.
TASK = 1
#: Names of tasks are cut to so many columns: all of them stand above the table.
LONGEST = 30
COLORS = {"pass": "green", "fail": "red", "void": "yellow"}

HELP = """Show one run: what was planned, and how each trial ended, with the criteria that failed.

RUN is a run's id, a unique beginning of one, or last (the default).

\b
Examples:
  kcut show
  kcut show 20261130T151500Z
  kcut show last --json
"""


@click.command("show", cls=ConfiguredCommand, help=HELP)
@click.argument("run", default="last", shell_complete=runs)
@json_option
@color_option
def command(run: str, as_json: bool, color: str) -> int:
    """Print the run; see HELP."""
    place = root()
    from kcut.report.facts import fact_lines
    from kcut.store import Store
    from kcut.verdict import assemble

    with Store.open(place, create=False) as store:
        record = store.find(run)
        attempts = store.attempts(record.run_id)
        events = store.events(record.run_id)
        line = next(row for row in store.history() if row.run_id == record.run_id)
    artifact = assemble(record, attempts) if attempts else None
    trials = artifact.trials if artifact is not None else ()
    if as_json:
        failing = _failing(attempts)
        rows = [row.document() | {"failing": list(failing[row.pair, row.cohort])} for row in trials]
        emit_json({"run": _document(record, line), "trials": rows})
        return 0
    paint = wants_color(color)
    click.echo("\n".join(_facts(record, line)))
    if trials:
        click.echo("\n" + _table(trials, _failing(attempts), color=paint), color=paint)
        facts = fact_lines(artifact) if artifact is not None else []
        if facts:
            click.echo("\n" + "\n".join(fold(fact, 2) for fact in facts))
    else:
        click.echo("\nno trial has ended yet")
    warnings = artifact.decision.warnings if artifact is not None and artifact.decision else record.warnings
    remarks = _remarks(record, warnings, attempts, events)
    if remarks:
        click.echo("\n" + "\n".join(fold(remark, 9) for remark in remarks))
    return 0


def _failing(attempts: "tuple[TrialRecord, ...]") -> dict[tuple[int, str], tuple[str, ...]]:
    """The criteria that failed in the last attempt of each trial, by pair and cohort."""
    return {(attempt.key.pair, attempt.key.cohort.value): attempt.failing for attempt in attempts}


def _shown(text: str | None) -> str | None:
    """A command with the credentials in it replaced."""
    from kcut.redact import redact

    return None if text is None else redact(text)[0]


def _document(run: "RunRecord", line: "RunRow") -> dict[str, Any]:
    document = run.document()
    plan = document.pop("plan")
    plan |= {name: _shown(plan[name]) for name in ("task", "score", "tasksScore", "setup")}
    for work in (plan, *plan["tasks"]):  # the record holds specs whole
        if work["spec"]:
            work["spec"] = {"path": work["spec"]["path"]}
    facts = {"component": plan["component"], "k": plan["k"], "decision": line.decision, "pass": line.pass_}
    return document | facts | {"plan": plan}


def _facts(run: "RunRecord", line: "RunRow") -> list[str]:
    """What was planned and what became of it, a line per fact."""
    plan, place = run.plan, run.plan.checkout
    head = [f"run {plain(run.run_id)}", plain(plan.component), _size(plan), run.state]
    if line.decision not in {None, run.state}:
        head.append(f"decision {line.decision}")
    if line.pass_ is not None:
        head.append("PASS" if line.pass_ else "FAIL")
    base = place.base[:12] + (f", in {plain(place.subdir)}" if place.subdir else "")
    if place.dirty:
        base += f", the uncommitted changes {'included' if place.dirty_mode == 'include' else 'left out'}"
    facts = {
        "began": plain(run.ts) + (f", ended {plain(run.ended)}" if run.ended else ""),
        "base": base,
        "order": f"seed {plan.seed}, {count(plan.jobs, 'job')}, {place.isolation} worktrees",
        **_works(plan),
        "setup": _shown(plan.setup),
        "rule": plan.rule + (f", a gain of at least {plain(plan.min_gain)}" if plan.min_gain else ""),
    }
    return ["   ".join(head), *(f"  {name:6} {plain(text)}" for name, text in facts.items() if text)]


def _size(plan: "Plan") -> str:
    """`5 pairs`, `at most 20 pairs`, `40 A/A benchmarks of 5 pairs`."""
    if plan.aa:
        return f"{count(plan.aa, 'A/A benchmark')} of {count(plan.k, 'pair')}"
    if not plan.capped:
        return "pairs until decided"
    third = " with a placebo" if plan.control == "placebo" else ""
    return f"{'at most ' * plan.until_decided}{count(plan.pairs, 'pair')}{third}"


def _works(plan: "Plan") -> dict[str, str | None]:
    """What ran and how it was scored; a list of tasks by name."""
    if plan.tasks:
        return {"tasks": ", ".join(work.name for work in plan.tasks)}
    return {"task": _shown(plan.task), "score": _shown(plan.score_line) or "the task's exit code"}


def _table(trials: "tuple[TrialRow, ...]", failing: dict[tuple[int, str], tuple[str, ...]], *, color: bool) -> str:
    rows: list[tuple[str, ...]] = [*HEADER]
    rows += [
        (
            f"{row.cohort} #{row.pair}",
            row.outcome,
            (row.reason or "-") + (" (late)" if row.late else ""),
            "limit" if row.timed_out else _number(row.task_exit),
            _number(row.score_exit),
            duration(row.wall_ms),
            money(row.cost_usd),
            _number(row.turns),
            str(row.attempts),
            " ".join(map(plain, failing.get((row.pair, row.cohort), ()))) or "-",
        )
        for row in trials
    ]

    several = any(row.task is not None for row in trials)
    if several:
        names = ["", "task", *(shorten(row.task or "-", LONGEST) for row in trials)]
        rows = [(*row[:TASK], name, *row[TASK:]) for row, name in zip(rows, names, strict=True)]

    def style(column: int, cell: str, padded: str) -> str:
        return click.style(padded, fg=COLORS[cell]) if color and column == 1 + several and cell in COLORS else padded

    return aligned(rows, right={column + several for column in NUMBERS}, style=style)


def _name(attempt: "TrialRecord") -> str:
    return f"{attempt.key}, attempt {attempt.attempt}" if attempt.attempt > 1 else str(attempt.key)


def _notes(attempts: "tuple[TrialRecord, ...]") -> list[str]:
    """What was noted of attempts: what is noted of many is said once, with the first of them and how many more."""
    owners: dict[str, list[str]] = {}
    for attempt in attempts:
        for note in attempt.notes:
            owners.setdefault(plain(note), []).append(_name(attempt))
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {note}"
        for note, names in owners.items()
    ]


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)


def _remarks(
    run: "RunRecord",
    warnings: "tuple[Warn, ...]",
    attempts: "tuple[TrialRecord, ...]",
    events: "tuple[Event, ...]",
) -> list[str]:
    """What else a person should hear: why there is no verdict, warnings, what trials left."""
    lines = [f"invalid: {plain(run.note)}"] if run.note else []
    lines += [f"warning  {plain(warn.code)}: {plain(warn.advice)}" for warn in warnings]
    if run.plan.logs:
        lines.append(f"logs in .claude/eval/runs/{run.run_id}")
    lines += _notes(attempts)
    for attempt in attempts:
        name = _name(attempt)
        if attempt.touched:
            lines.append(f"{name}: changed protected files: {', '.join(map(plain, attempt.touched))}")
        if attempt.kept:
            lines.append(f"{name}: kept in {plain(attempt.kept)}")
    if any(attempt.kept for attempt in attempts):
        lines.append("remove what is kept: kcut clean --kept")
    lines += [f"{plain(event.ts)}  {plain(event.kind)}" for event in events]
    if run.state == "interrupted":
        lines.append(f"go on with: kcut {'aa' if run.plan.aa else 'benchmark'} --resume {plain(run.run_id)}")
    return lines
