"""`kcut components`: the components of this checkout, each with its latest verdict."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.checkout import root
from kcut.cli.columns import aligned
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.report.text import plain, shorten, width

if TYPE_CHECKING:
    from kcut.components import Listed

HEADER = ("component", "kind", "path", "decision", "pass", "stale")
COLORS = {"keep": "green", "cut": "red", "invalid": "yellow", "inconclusive": "yellow"}
WORDS = {True: "yes", False: "no", None: "-"}

HELP = """List the components of this checkout, each with the verdict of its latest benchmark.

Skills, agents, commands, rule files, hooks, MCP servers, staged drafts and manifests in .claude/kcut/components are
listed, and what was benchmarked else: sections, settings, and what is gone. Stale: the component has changed since.

\b
Examples:
  kcut components
  kcut components --json
  kcut benchmark --component skill:tidy-imports --task ./run.sh
"""


@click.command("components", cls=ConfiguredCommand, help=HELP)
@json_option
@color_option
def command(as_json: bool, color: str) -> int:
    """Print the components; see HELP."""
    from kcut.components import list_at

    place = root()
    listed = list_at(place)
    rows = _rows(place, listed)
    for each in listed:
        if each.fault is not None:
            click.echo(f"  note  {plain(each.fault)}", err=True)
    if as_json:
        emit_json({"components": rows})
    elif rows:
        click.echo(_table(rows, color=wants_color(color)), color=wants_color(color))
    else:
        click.echo("no component in this checkout; write a manifest: kcut init component NAME", err=True)
    return 0


def _rows(place: Path, listed: "tuple[Listed, ...]") -> list[dict[str, Any]]:
    """A row for each component, those that only an artifact tells of last."""
    from kcut.artifacts import measured
    from kcut.components import Listed, look_up
    from kcut.model.errors import KcutError

    every: list[Listed | None] = list(listed)
    known = {each.name for each in listed}
    gone: list[str] = []
    for name in measured(place):
        if name in known:
            continue
        try:
            found = look_up(place, name)
        except KcutError:
            found = ()
        every += found
        gone += [] if found else [name]
    rows = [_row(place, each, [other for other in every if other]) for each in every if each is not None]
    return rows + [_verdict(place, name, ()) | {"kind": None, "path": None, "digest": None} for name in gone]


def _row(place: Path, component: "Listed", every: "list[Listed]") -> dict[str, Any]:
    """A component with its verdict, unless the artifact of its name is of another component that bears it too."""
    own = (component.digest,) if component.digest is not None else ()
    row = _verdict(place, component.name, own)
    others = tuple(each.digest for each in every if each.name == component.name and each.digest is not None)
    if row["stale"] and not _verdict(place, component.name, others)["stale"]:
        row |= {"decision": None, "pass": None, "stale": False}
    return row | {"kind": component.kind, "path": component.path, "digest": component.digest}


def _verdict(place: Path, name: str, digests: tuple[str, ...]) -> dict[str, Any]:
    """The keys of a row in their order, with what the artifact of that name says."""
    from kcut.artifacts import evidence

    found = evidence(place, name, digests=lambda: digests)
    decision, passed = found.document.get("decision"), found.document.get("pass")
    return {
        "name": name,
        "kind": None,
        "path": None,
        "digest": None,
        "decision": decision.get("verdict") if isinstance(decision, dict) else None,
        "pass": passed if isinstance(passed, bool) else None,
        "stale": found.state == "stale",
    }


def _table(rows: list[dict[str, Any]], *, color: bool) -> str:
    """The components as aligned lines; on a narrow terminal without their paths."""
    lines: list[tuple[str, ...]] = [HEADER]
    for row in rows:
        stale = WORDS[row["stale"]] if row["pass"] is not None else "-"
        kind = row["kind"] or ("gone" if row["stale"] else "-")
        cells = (row["name"], kind, row["path"] or "-", row["decision"] or "-", WORDS[row["pass"]], stale)
        lines.append(tuple(shorten(plain(cell), 60) for cell in cells))
    wide = sum(max(map(width, column)) + 2 for column in zip(*lines, strict=True)) - 2
    if wide > shutil.get_terminal_size((10_000, 0)).columns:
        lines = [(*line[:2], *line[3:]) for line in lines]
    at = lines[0].index("decision")

    def style(column: int, cell: str, padded: str) -> str:
        return click.style(padded, fg=COLORS[cell]) if color and column == at and cell in COLORS else padded

    return aligned(lines, style=style)
