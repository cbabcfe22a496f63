"""`kcut clean`: remove what dead kcut processes left behind, and on request what runs kept."""

import sys
from pathlib import Path

import click

from kcut.cli.checkout import root
from kcut.cli.common import emit_json, json_option
from kcut.cli.config import ConfiguredCommand
from kcut.model.errors import EXIT_FAIL, EXIT_PASS
from kcut.report.text import plain

HELP = """Remove what dead kcut processes of this checkout left behind, and nothing else.

A run that was killed leaves its worktrees in a temporary folder; the next run removes them as well. A killed
`kcut agent` leaves its folder in $TMPDIR; the next one removes it as well. Runs that are going on, worktrees kept
with benchmark --keep, the record and the artifacts stay.

With --kept the worktrees that finished runs of this checkout kept go too, whatever was changed in them since. At a
terminal kcut asks first.

Exit codes: 0 all is removed (or nothing was there), 1 something could not be removed, 2 you said no.

\b
Examples:
  kcut clean --dry-run
  kcut clean
  kcut clean --kept --dry-run
  kcut clean --kept --yes
"""

_REMOVED = "removed "


@click.command("clean", cls=ConfiguredCommand, help=HELP)
@click.option("--kept", "with_kept", is_flag=True, help="Remove the worktrees that runs kept, too.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before kept worktrees are removed.")
@json_option
def command(with_kept: bool, dry_run: bool, yes: bool, as_json: bool) -> int:
    """Remove and report; see HELP."""
    from kcut.agents.place import abandoned, remove_abandoned
    from kcut.isolation import sweep
    from kcut.store import state_path

    place = root()
    state = state_path(place)
    kept = _kept(place) if with_kept else ()
    agents = [str(folder) for folder in abandoned()]
    found = leftovers(state) + agents + [str(folder) for folder in kept]
    if kept and not (dry_run or yes):
        _confirm(kept)
    told = [] if dry_run else sweep(state) + _remove(kept)
    if not dry_run:
        left = remove_abandoned()
        told += [f"could not remove {line}" for line in left]
        told += [f"{_REMOVED}{folder}" for folder in agents if not Path(folder).exists()]
    removed = [line.removeprefix(_REMOVED) for line in told if line.startswith(_REMOVED)]
    failed = [line for line in told if not line.startswith(_REMOVED)]
    if as_json:
        emit_json({"dryRun": dry_run, "found": found, "removed": removed, "failed": failed})
    else:
        for path in found if dry_run else removed:
            click.echo(f"{'would remove' if dry_run else 'removed'} {plain(path)}")
        for line in failed:
            click.echo(f"kcut: {plain(line)}", err=True)
        if not (found if dry_run else told):
            click.echo("nothing to remove")
    return EXIT_FAIL if failed else EXIT_PASS


def _kept(place: Path) -> tuple[Path, ...]:
    """The folders with worktrees that runs of the checkout kept, but for those of runs that are going on."""
    from kcut.isolation.kept import kept_folders
    from kcut.store import Store

    with Store.open(place, create=False) as store:
        ended = [run.run_id for run in store.history() if run.state != "running"]
        trees = [attempt.kept for run_id in ended for attempt in store.attempts(run_id) if attempt.kept]
    return kept_folders(trees)


def _confirm(kept: tuple[Path, ...]) -> None:
    """Ask a person at a terminal: what was kept may have been worked in."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    for folder in kept:
        click.echo(f"kept worktrees in {plain(str(folder))}", err=True)
    click.confirm("remove them?", default=False, abort=True, err=True)


def _remove(kept: tuple[Path, ...]) -> list[str]:
    """A line for each folder that was removed or, with the reason, could not be."""
    from kcut.isolation import inspect
    from kcut.isolation.kept import remove_kept

    if not kept:
        return []
    common_dir = inspect(Path.cwd()).common_dir
    told: list[str] = []
    for folder in kept:
        left = remove_kept(folder, common_dir)
        told += [f"could not remove {line}" for line in left] or [f"{_REMOVED}{folder}"]
    return told


def leftovers(state: Path) -> list[str]:
    """The folders that dead kcut processes of the checkout with this state folder left behind."""
    from kcut.isolation.leftovers import LEASES
    from kcut.system.lease import dead_lease

    leases = [dead_lease(path) for path in sorted(state.glob(f"runs/*/{LEASES}"))]
    claims = [lease.claim.get("folder") for lease in leases if lease is not None]
    return [folder for folder in claims if isinstance(folder, str)]
