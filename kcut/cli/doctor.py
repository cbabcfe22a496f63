"""`kcut doctor`: is this machine, and this checkout, ready for a benchmark?"""

import click

from kcut.cli.checkout import current_folder
from kcut.cli.common import color_option, emit_json, json_option, wants_color
from kcut.cli.config import TolerantCommand
from kcut.model.errors import EXIT_FAIL, EXIT_PASS
from kcut.report.text import plain

HELP = """Check whether this machine and checkout are ready for a benchmark.

Nothing is changed. What needs mending comes with one thing to do.

Exit codes: 0 ready, 1 something needs mending.

\b
Examples:
  kcut doctor
  kcut doctor --json
"""


@click.command("doctor", cls=TolerantCommand, help=HELP)
@json_option
@color_option
def command(as_json: bool, color: str) -> int:
    """Print the checks; see HELP."""
    from kcut.cli.readiness import checks

    found = list(checks(current_folder()))
    wrong = sum(not check.ok for check in found)
    if as_json:
        keys = ("code", "ok", "evidence", "advice")
        emit_json({"checks": [{key: getattr(check, key) for key in keys} for check in found]})
        return EXIT_FAIL if wrong else EXIT_PASS
    paint = wants_color(color)
    size = max(len(check.code) for check in found)
    for check in found:
        word = "ok  " if check.ok else "MEND"
        if paint and not check.ok:
            word = click.style(word, fg="yellow")
        click.echo(f"{word}  {check.code:{size}}  {plain(check.evidence)}", color=paint)
        if check.advice:
            click.echo(f"      {'':{size}}  {plain(check.advice)}")
    click.echo(f"{wrong} of {len(found)} checks need mending" if wrong else "ready")
    return EXIT_FAIL if wrong else EXIT_PASS
