"""`kcut report`: runs and artifacts rendered as text, JSON, Markdown, HTML, JUnit XML or CSV."""

import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import click

from kcut.cli.checkout import root
from kcut.cli.common import color_option, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.suggest import benchmarks
from kcut.model.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_USAGE, NotReady, UsageFault
from kcut.report.cells import Cell, cell_document, overall
from kcut.report.text import plain

EXIT = {"keep": EXIT_PASS, "cut": EXIT_FAIL, "invalid": EXIT_USAGE, "inconclusive": EXIT_INCONCLUSIVE}
#: The format that a file's name asks for, where no other is named.
SUFFIXES = {
    ".html": "html",
    ".htm": "html",
    ".xml": "junit",
    ".csv": "csv",
    ".md": "markdown",
    ".json": "json",
    ".txt": "terminal",
}

HELP = """Render runs and artifacts: a table, JSON, Markdown, a page (html), JUnit XML or CSV.

Each of RUN|NAME|ARTIFACT is a run (its id, a unique beginning of one, or last, the default), a component whose
artifact lies in .claude/eval/benchmarks, or the path of an artifact. If several fit, it is the file whose name ends
in .json, else the run, else the component, else any other file.

Several together have one overall decision: invalid if one is, else cut if one is, else keep if all are, else
inconclusive.

markdown fits a comment on a pull request. html is one file with charts that loads nothing from elsewhere. junit is
for the test view of a pipeline: the verdict and each trial are test cases. csv has a row per trial.

Exit codes, by the overall decision: 0 keep, 1 cut, 2 invalid, 3 inconclusive.

\b
Examples:
  kcut report
  kcut report last -f markdown >> $GITHUB_STEP_SUMMARY
  kcut report tidy-imports
  kcut report last -o report.html
  kcut report .claude/eval/benchmarks/*.json -f junit -o kcut.xml
  kcut report .claude/eval/benchmarks/*.json --json
"""


@click.command("report", cls=ConfiguredCommand, help=HELP)
@click.argument("sources", metavar="[RUN|NAME|ARTIFACT]...", nargs=-1, shell_complete=benchmarks)
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice(["terminal", "json", "markdown", "html", "junit", "csv"]),
    help="What to write. [default: what the name of the output file ends in, else terminal]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, allow_dash=True, path_type=Path),
    help="Write to this file, whole or not at all, instead of stdout (-).",
)
@json_option
@color_option
def command(sources: tuple[str, ...], kind: str | None, output: Path | None, as_json: bool, color: str) -> int:
    """Write the report; see HELP."""
    if as_json and kind not in {None, "json"}:
        raise UsageFault(f"--json and --format {kind} exclude each other", remedy="leave one of them out")
    if output == Path("-"):
        output = None
    if output is not None:
        _must_have_a_folder(output)
    kind = "json" if as_json else kind or _kind(output)
    if kind == "html" and output is None and sys.stdout.isatty():
        raise UsageFault("a page is for a browser, not for a terminal", remedy="name a file: -o report.html")
    cells = [_cell(source) for source in sources or ("last",)]
    paint = wants_color(color) if output is None else color == "always"
    _emit(RENDERERS[kind](cells, paint), output, color=paint)
    return EXIT[overall([cell.decision for cell in cells])]


def _kind(output: Path | None) -> str:
    """The format that the file's name asks for; UsageFault for an ending that means none. A table without any."""
    if output is None or not output.suffix:
        return "terminal"
    kind = SUFFIXES.get(output.suffix.lower())
    if kind is None:
        raise UsageFault(
            f"no format is known by the ending of {str(output)!r}",
            remedy=f"name one with -f, or end the name in {', '.join(SUFFIXES)}",
        )
    return kind


def _must_have_a_folder(output: Path) -> None:
    """Raise UsageFault if there is no folder for the file: known before a long report is made."""
    if not output.parent.is_dir():
        raise UsageFault(f"there is no folder {str(output.parent)!r}", remedy="make it first, or name another file")


def _emit(text: str, output: Path | None, *, color: bool) -> None:
    """Put the report in the file, else on stdout, where a terminal that is to have no colour gets none."""
    if output is None:
        click.echo(text, nl=False, color=color)
        return
    from kcut.system.files import write_atomic

    try:
        if output.exists() and not output.is_file():  # a pipe or a device has no whole to replace
            output.write_bytes(text.encode())
        else:
            write_atomic(output.resolve(), text.encode())
    except OSError as error:
        raise NotReady(
            f"cannot write {str(output)!r}: {error.strerror or error}", remedy="name another file with -o"
        ) from error
    click.echo(f"saved  {plain(str(output))}", err=True)


def _text(cells: list[Cell], color: bool) -> str:
    from kcut.report.terminal import render

    width = min(shutil.get_terminal_size((80, 0)).columns, 120)
    parts = []
    for cell in cells:
        facts = [
            plain(cell.artifact.component),
            *([f"run {plain(cell.artifact.run_id)}"] if cell.artifact.run_id else []),
        ]
        head = "   ".join([*facts, plain(cell.artifact.ts)])
        parts.append(f"{head}\n\n{render(cell.artifact, color=color, width=width, min_gain=cell.min_gain)}")
    if len(cells) > 1:
        verdict = overall([cell.decision for cell in cells]).upper()
        parts.append(f"overall: {verdict} ({len(cells)} benchmarks)\n")
    return "\n".join(parts)


def _json(cells: list[Cell], _color: bool) -> str:
    from kcut.model.names import visible_document

    decision = overall([cell.decision for cell in cells])
    document = visible_document({"cells": [cell_document(cell) for cell in cells], "decision": decision})
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def _markdown(cells: list[Cell], _color: bool) -> str:
    from kcut.report.markdown import render_all

    return render_all(cells)


def _html(cells: list[Cell], _color: bool) -> str:
    from kcut.report.html import render

    return render(cells)


def _junit(cells: list[Cell], _color: bool) -> str:
    from kcut.report.junit import render

    return render(cells)


def _csv(cells: list[Cell], _color: bool) -> str:
    from kcut.report.table_csv import render

    return render(cells)


RENDERERS: dict[str, Callable[[list[Cell], bool], str]] = {
    "terminal": _text,
    "json": _json,
    "markdown": _markdown,
    "html": _html,
    "junit": _junit,
    "csv": _csv,
}


def _cell(source: str) -> Cell:
    """The benchmark that a word means, by the order that HELP tells. Raises UsageFault if it means none."""
    from kcut.artifacts import load

    path = Path(source)
    is_file = os.path.isfile(path)  # noqa: PTH113  # pathlib's raises for a name that is too long
    if is_file and path.suffix == ".json":
        return Cell(load(path))
    try:
        place = root()
    except NotReady as fault:
        if is_file:
            return Cell(load(path))
        if source == "last":
            raise
        raise UsageFault(f"there is no artifact {source!r}, and no checkout whose run it could be") from fault
    try:
        return _of_run(source, place)
    except UsageFault as fault:
        if source == "last":
            raise
        cell = _of_component(source, place)
        if cell is None and is_file:
            return Cell(load(path))
        if cell is None:
            raise _none(source, place, fault) from fault
        return cell


def _of_run(source: str, place: Path) -> Cell:
    from kcut.store import Store
    from kcut.verdict import assemble

    with Store.open(place, create=False) as store:
        run = store.find(source)
        if run.plan.aa:
            raise NotReady(
                f"run {run.run_id} compared a component with itself, which is no verdict on it",
                remedy=f"see: kcut aa --resume {run.run_id}",
            )
        return Cell(assemble(run, store.attempts(run.run_id)), run.plan.min_gain)


def _of_component(name: str, place: Path) -> Cell | None:
    """The artifact of a component, or the one that --out gave that name; None if there is none."""
    from kcut.artifacts import artifact_path, load
    from kcut.model.names import slug

    path = artifact_path(place, name)
    if not path.is_file():
        return None
    artifact = load(path)
    return Cell(artifact) if artifact.component == name or slug(name) == name else None


def _none(source: str, place: Path, fault: UsageFault) -> UsageFault:
    """The fault of a word that is no file, run or component, which `fault` says of the run."""
    from kcut.artifacts import nearest_component

    if "several" in fault.message:
        return fault
    if "/" in source or source.endswith(".json"):
        return UsageFault(f"there is no artifact {source!r}", remedy="list the runs: kcut history")
    near = nearest_component(place, source)
    remedy = f"did you mean: kcut report {shlex.quote(plain(near))}" if near else fault.remedy
    return UsageFault(f"there is no run and no component {source!r} in this checkout", remedy=remedy)
