"""`kcut rubric`: a draft skill against the extract rubric."""

import click

from kcut.cli import suggest
from kcut.cli.checkout import current_folder
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import ConfiguredCommand

HELP = """Score a draft skill against the extract rubric, R1 to R5. Nothing is promoted, run or written.

DRAFT is a path, or the name of a folder below .claude/skills-staging; without it, the last draft there by name.
R5 reads the draft's benchmark in .claude/eval/benchmarks. R4 is a person's to decide, so a good draft ends on 2.

Exit codes: 0 all pass, 1 one fails, 2 something is left to a person, or there is no draft.

\b
Examples:
  kcut rubric
  kcut rubric tidy-imports
  kcut rubric drafts/tidy/SKILL.md --json
  kcut rubric --list
"""

COLORS = {"PASS": "green", "FAIL": "red", "MANUAL": "yellow"}


@click.command("rubric", cls=ConfiguredCommand, help=HELP)
@click.argument("draft", required=False, metavar="[DRAFT]", shell_complete=suggest.drafts)
@click.option("--list", "as_list", is_flag=True, help="Print the items of the rubric, and score nothing.")
@json_option
@color_option
def command(draft: str | None, *, as_list: bool, as_json: bool, color: str) -> int:
    """Print the items and the counts; the exit code says whether all passed."""
    from kcut import drafts
    from kcut.artifacts import evidence
    from kcut.components import draft_digest
    from kcut.report.text import plain
    from kcut.rubric import score

    here = current_folder()
    root = drafts.root_of(here)
    if as_list:
        if draft is not None:
            drafts.find(root, draft, here)
        return _print_items(as_json=as_json)
    found = drafts.find(root, draft, here)
    for skipped in found.skipped:
        click.echo(f"  note  {plain(skipped)} is skipped: it leads out of {drafts.STAGING}", err=True)
    read = drafts.read(found.path)
    benchmark = evidence(root, read.name, digests=lambda: tuple(filter(None, [draft_digest(root, found.path)])))
    rubric = score(read, drafts.clashes(root, found.path, read.name), benchmark)
    counts = {word.lower(): rubric.count(word) for word in ("PASS", "FAIL", "MANUAL")}
    if as_json:
        items = [{"id": item.id, "result": item.result, "text": item.text} for item in rubric.items]
        emit_json({"name": rubric.name, "items": items, **counts})
        return rubric.exit_code
    painted = wants_color(color)
    for item in rubric.items:
        word = item.result.ljust(6)
        result = click.style(word, fg=COLORS[item.result]) if painted else word
        click.echo(f"{item.id}  {result}  {plain(item.text)}", color=painted)
    told = " ".join(f"{word.upper()}={count}" for word, count in counts.items())
    click.echo(f"rubric: {len(rubric.items)} items - {told}")
    return rubric.exit_code


def _print_items(*, as_json: bool) -> int:
    """Print what the rubric asks."""
    from kcut.rubric import ITEMS

    if as_json:
        emit_json({"items": [{"id": name, "kind": kind, "text": text} for name, kind, text in ITEMS]})
    else:
        for item in ITEMS:
            click.echo("\t".join(item))
    return 0
