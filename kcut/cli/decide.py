"""`kcut decide`: the decision on trials that kcut did not run."""

import gc
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import Choice, option

from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import SHARE
from kcut.cli.report import EXIT
from kcut.cli.trial_options import LEVELS, with_options
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, UsageFault
from kcut.report.cells import overall

if TYPE_CHECKING:
    from kcut.rows.ruling import Levels, Ruling, Rulings
    from kcut.rows.table import CohortNames, Table

#: The largest file that is read.
LARGEST = 1 << 29

HELP = """Decide from trials that kcut did not run: rows of CSV, JSON Lines or JSON, from files or - (stdin).

A row is a trial. It has a task, a cohort and pass; optional are cost (US dollars), tokens or input_tokens and
output_tokens, wall (milliseconds), turns, void (true, or a reason), cli, model and pair. Common other names are
known (mode, arm, passed, resolved, cost_usd, duration_ms, num_turns, ...); --map names the rest. kcut's own
artifacts are read, too, if they are of one task and a fixed number of trials, and not about costs.

Each cell, that is each cli, model and task, gets its own decision; several tasks of one cli and model also get one
together, task by task, in a line of their own. Trials of different models or CLIs are never mixed.

The overall decision is made of the cells: invalid if one is, else cut if one is, else keep if all are, else
inconclusive. The joint line of several tasks stands beside it and changes neither it nor the exit code.

Exit codes, by the overall decision: 0 keep, 1 cut, 2 invalid (and wrong input), 3 inconclusive. With --rule point:
0 if the rate rose in every cell, 1 if not, 2 if a cell is invalid.

\b
Examples:
  kcut decide trials.csv
  kcut decide results/*.json --map cohort=config --with skill --without plain
  jq -c '.runs[]' log.json | kcut decide - --json
  kcut decide --from maestro rows/*.json
"""


@click.command("decide", cls=ConfiguredCommand, help=HELP)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=str, allow_dash=True))
@option("--from", "origin", type=Choice(["rows", "maestro"]), default="rows", show_default=True, help="Whose rows.")
@option("--format", "kind", type=Choice(["csv", "jsonl", "json"]), help="[default: by name, else by content]")
@option("--map", "pairs", metavar="FIELD=COLUMN", multiple=True, help="The column that holds a field.")
@option("--with", "with_", metavar="VALUE", help="The cohort with the component. [default: with, on, 1, true, ...]")
@option("--without", metavar="VALUE", help="The one without it. With both named, other rows are left out.")
@with_options(LEVELS)
@option("--beta", type=SHARE, default=0.1, show_default=True, help="Chance of a CUT that loses such a gain.")
@option(
    "--objective",
    type=Choice(["success", "cost"]),
    default="success",
    show_default=True,
    help="A KEEP is more success, or no less of it at a lower cost.",
)
@option("--margin", type=SHARE, default=0.1, show_default=True, help="Less success than that is not 'no less'.")
@option(
    "--rule",
    type=Choice(["point", "evidence"]),
    default="evidence",
    show_default=True,
    help="What sets `pass` and the exit code.",
)
@json_option
@color_option
@option("-v", "--verbose", is_flag=True, help="Show rates, voids and medians of each cohort.")
def command(files: tuple[str, ...], **options: Any) -> int:
    """Read, decide, print; see HELP."""
    from kcut.rows.cells import cells_of
    from kcut.rows.ruling import Levels, passes, rule

    gc.disable()  # rows by the hundred thousand, all of them kept: looking for cycles among them takes half the time
    tables, cohorts = _tables(files, options)
    levels = Levels(
        **{name: options[name] for name in ("alpha", "delta", "beta", "objective", "margin", "rule")},
    )
    cells = cells_of(tables, cohorts)
    ignored = _ignored(tables)
    found = rule(cells, levels)
    decision = overall([ruling.verdict for ruling in found.cells])
    by_rate = levels.rule == "point" and decision != "invalid"
    if by_rate:
        passed = passes(found)
        code = EXIT_PASS if passed else EXIT_FAIL
    else:
        passed, code = decision == "keep", EXIT[decision]
    if options["as_json"]:
        emit_json(_document(found, levels, decision, passed=passed, ignored=ignored))
    else:
        from kcut.report.rulings import render

        painted = wants_color(options["color"])
        width = min(shutil.get_terminal_size((80, 0)).columns, 120)
        rose = passed if by_rate else None
        text = render(found, decision, rose=rose, color=painted, width=width, verbose=options["verbose"])
        click.echo(text, nl=False, color=painted)
    return code


def _tables(files: tuple[str, ...], options: dict[str, Any]) -> "tuple[list[Table], CohortNames]":
    """What the files hold, and what their cohorts are called."""
    from kcut.rows import sources
    from kcut.rows.parse import SUFFIXES, records
    from kcut.rows.table import CohortNames, mapped, table

    mapping = mapped(options["pairs"])
    cohorts = CohortNames(options["with_"], options["without"])
    if options["origin"] == "maestro":
        if mapping:
            raise UsageFault("--map is for rows whose columns are not known; --from maestro knows them")
        default = sources.MAESTRO_COHORTS
        cohorts = CohortNames(cohorts.with_ or default.with_, cohorts.without or default.without)
    cohorts.known()
    read = []
    runs: dict[object, str] = {}
    for name, data in _contents(files):
        kind = options["kind"] or SUFFIXES.get(Path(name).suffix.lower())
        found = records(data, _shown(name), kind)
        if options["origin"] == "maestro":
            read.append(sources.maestro(found, cohorts))
        elif not mapping and sources.is_artifact(found):
            run = (found.document or {}).get("runId")
            if run is not None and run in runs:
                both = f"{_shown(name)} and {_shown(runs[run])}"
                raise UsageFault(f"{both} are of one run: its trials would count twice")
            runs[run] = name
            read.append(sources.artifact(found, cohorts))
        else:
            read.append(table(found, mapping, cohorts))
    return read, cohorts


def _contents(files: tuple[str, ...]) -> "list[tuple[str, bytes]]":
    """Each file's name and bytes. UsageFault if one cannot be read, or is named twice: it would count twice."""
    from kcut.system.files import read_regular

    read: list[tuple[str, bytes]] = []
    seen: dict[tuple[int, int] | str, str] = {}
    for name in files:
        identity: tuple[int, int] | str = name
        try:
            if name == "-":
                data = sys.stdin.buffer.read(LARGEST + 1)
                if len(data) > LARGEST:
                    raise UsageFault(f"standard input holds more than {LARGEST >> 20} MiB")
            else:
                data = read_regular(Path(name), limit=LARGEST)
                info = Path(name).stat()
                identity = (info.st_dev, info.st_ino)
        except OSError as error:
            why = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
            remedy = "pipe it: ... | kcut decide -" if "regular" in why and not os.path.isdir(name) else None  # noqa: PTH112
            raise UsageFault(f"{_shown(name)}: {why[:1].lower()}{why[1:]}", remedy=remedy) from error
        digest = hashlib.sha256(data).hexdigest()
        for mark in (identity, digest):
            if mark in seen:
                twice = "is named twice" if seen[mark] == name else f"holds what {_shown(seen[mark])} holds"
                raise UsageFault(f"{_shown(name)} {twice}: its trials would count twice")
            seen[mark] = name
        read.append((name, data))
    return read


def _shown(name: str) -> str:
    from kcut.report.text import plain

    return "standard input" if name == "-" else plain(name)


def _ignored(tables: "list[Table]") -> dict[str, int]:
    """How many rows of which other cohorts are left out; said on stderr."""
    from kcut.report.text import count, shorten

    total: dict[str, int] = {}
    for table in tables:
        for value, number in table.ignored.items():
            total[value] = total.get(value, 0) + number
    if total:
        listed = ", ".join(f"{shorten(value, 40)} {number}" for value, number in sorted(total.items())[:8])
        more = f", and {len(total) - 8} more" if len(total) > 8 else ""
        click.echo(f"kcut: left out {count(sum(total.values()), 'row')} of other cohorts: {listed}{more}", err=True)
    return total


def _document(
    found: "Rulings", levels: "Levels", decision: str, *, passed: bool, ignored: dict[str, int]
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "cells": [{"task": ruling.key[2], **_cell(ruling)} for ruling in found.cells],
        "decision": decision,
        "rule": levels.rule,
        "pass": passed,
        "strata": [{"tasks": list(ruling.tasks), **_cell(ruling)} for ruling in found.strata],
    }
    return document | ({"ignored": ignored} if ignored else {})


def _cell(ruling: "Ruling") -> dict[str, Any]:
    cli, model, _ = ruling.key
    return {
        "cli": cli,
        "model": model,
        "with": ruling.with_.document(),
        "without": ruling.without.document(),
        "decision": ruling.verdict,
        "pass": ruling.passed,
        "reason": ruling.reason,
        "cost": None if ruling.cost is None else ruling.cost.document(),
        "evidence": ruling.decision.document(),
    }
