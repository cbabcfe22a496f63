"""`kcut clean`: remove what dead kcut processes left behind."""

from pathlib import Path

import click

from kcut.cli.checkout import root
from kcut.cli.common import emit_json, json_option
from kcut.cli.config import ConfiguredCommand
from kcut.model.errors import EXIT_FAIL, EXIT_PASS
from kcut.report.text import plain

HELP = """Remove what dead kcut processes of this checkout left behind, and nothing else.

A run that was killed leaves its worktrees in a temporary folder; the next run removes them as well. Runs that are
going on, worktrees kept with --keep, the record and the artifacts stay.

Exit codes: 0 all is removed (or nothing was there), 1 something could not be removed.

\b
Examples:
  kcut clean --dry-run
  kcut clean
"""

_REMOVED = "removed "


@click.command("clean", cls=ConfiguredCommand, help=HELP)
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be removed, and remove nothing.")
@json_option
def command(dry_run: bool, as_json: bool) -> int:
    """Remove and report; see HELP."""
    from kcut.isolation import sweep
    from kcut.store import state_path

    state = state_path(root())
    found = leftovers(state)
    told = [] if dry_run else sweep(state)
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


def leftovers(state: Path) -> list[str]:
    """The folders that dead kcut processes of the checkout with this state folder left behind."""
    from kcut.isolation.leftovers import LEASES
    from kcut.system.lease import dead_lease

    leases = [dead_lease(path) for path in sorted(state.glob(f"runs/*/{LEASES}"))]
    claims = [lease.claim.get("folder") for lease in leases if lease is not None]
    return [folder for folder in claims if isinstance(folder, str)]
