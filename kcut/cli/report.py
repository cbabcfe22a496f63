"""`kcut report`: runs and artifacts rendered as text, JSON or Markdown."""

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.checkout import root
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.suggest import benchmarks
from kcut.model.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_USAGE, NotReady, UsageFault
from kcut.report.text import plain

if TYPE_CHECKING:
    from kcut.model.artifact import Artifact

EXIT = {"keep": EXIT_PASS, "cut": EXIT_FAIL, "invalid": EXIT_USAGE, "inconclusive": EXIT_INCONCLUSIVE}

HELP = """Render runs and artifacts as a table, JSON or Markdown.

Each of RUN|NAME|ARTIFACT is a run (its id, a unique beginning of one, or last, the default), a component whose
artifact lies in .claude/eval/benchmarks, or the path of an artifact. If several fit, it is the file whose name ends
in .json, else the run, else the component, else any other file.

Several together have one overall decision: invalid if one is, else cut if one is, else keep if all are, else
inconclusive.

Exit codes, by the overall decision: 0 keep, 1 cut, 2 invalid, 3 inconclusive.

\b
Examples:
  kcut report
  kcut report last -f markdown >> $GITHUB_STEP_SUMMARY
  kcut report tidy-imports
  kcut report .claude/eval/benchmarks/*.json --json
"""


@click.command("report", cls=ConfiguredCommand, help=HELP)
@click.argument("sources", metavar="[RUN|NAME|ARTIFACT]...", nargs=-1, shell_complete=benchmarks)
@click.option(
    "-f",
    "--format",
    "kind",
    type=click.Choice(["terminal", "json", "markdown"]),
    help="What to print. [default: terminal]",
)
@json_option
@color_option
def command(sources: tuple[str, ...], kind: str | None, as_json: bool, color: str) -> int:
    """Print the report; see HELP."""
    if as_json and kind not in {None, "json"}:
        raise UsageFault(f"--json and --format {kind} exclude each other", remedy="leave one of them out")
    cells = [_cell(source) for source in sources or ("last",)]
    decision = overall([_decision(cell.artifact) for cell in cells])
    if as_json or kind == "json":
        emit_json({"cells": [_document(cell.artifact) for cell in cells], "decision": decision})
    elif kind == "markdown":
        click.echo(_markdown(cells, decision))
    else:
        color_wanted = wants_color(color)
        click.echo(_text(cells, decision, color=color_wanted), color=color_wanted)
    return EXIT[decision]


@dataclass(frozen=True, slots=True)
class Cell:
    """One benchmark of the report; `min_gain` is its run's, unknown where only the artifact is."""

    artifact: "Artifact"
    min_gain: str | None = None


def _text(cells: list[Cell], decision: str, *, color: bool) -> str:
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
        parts.append(f"overall: {decision.upper()} ({len(cells)} benchmarks)\n")
    return "\n".join(parts).rstrip("\n")


def _markdown(cells: list[Cell], decision: str) -> str:
    from kcut.report.markdown import render

    parts = [render(cell.artifact, min_gain=cell.min_gain).rstrip("\n") for cell in cells]
    if len(cells) > 1:
        parts.append(f"**Overall: {decision.upper()}** ({len(cells)} benchmarks)")
    return "\n\n".join(parts)


def overall(decisions: list[str]) -> str:
    """One decision for several: the worst that can be said of all of them."""
    for verdict in ("invalid", "cut"):
        if verdict in decisions:
            return verdict
    return "keep" if decisions and set(decisions) == {"keep"} else "inconclusive"


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


def _decision(artifact: "Artifact") -> str:
    """What the evidence supports. An artifact without a decision says too little to keep or cut."""
    return artifact.decision.verdict if artifact.decision else "inconclusive"


def _document(artifact: "Artifact") -> dict[str, Any]:
    environment = artifact.environment
    return {
        "task": artifact.task,
        "cli": environment.agent if environment else None,
        "model": environment.model if environment else None,
        "with": artifact.with_.document(),
        "without": artifact.without.document(),
        "decision": _decision(artifact),
    }
