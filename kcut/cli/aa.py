"""`kcut aa`: the component against itself, to see how often this task and score give a KEEP by themselves."""

from typing import TYPE_CHECKING, Any

import click

from kcut.cli.common import emit_json, tell
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import COUNT
from kcut.cli.running import asks, no_plan_options, no_swallowed_options, run, what
from kcut.cli.trial_options import AGENT, FLOW, LEVELS, ORDER, OUTPUT, TRIAL, WHAT, with_options
from kcut.model.errors import EXIT_FAIL, EXIT_PASS, EXIT_USAGE, UsageFault

if TYPE_CHECKING:
    from kcut.benchmark import Finished

HELP = """Run benchmarks of the component against itself, and count how many end in KEEP.

Both cohorts run without the component (HARNESS_COMPONENT_ENABLED is 0), so every KEEP is false. More of them than
chance allows means that something else tells the cohorts apart: the order, a shared cache, a score that changes.
Nothing is written to .claude/eval/benchmarks: this is no verdict on the component.

Exit codes: 0 accepted, 1 too many, 2 usage, set-up or invalid, 129/130/143 stopped by HUP/INT/TERM.

\b
Examples:
  kcut aa --component tidy-imports --task ./run.sh
  kcut aa --component tidy-imports --task ./run.sh --score ./check.sh --runs 40 --k 5 --jobs 4
  kcut aa --resume last
"""


@click.command("aa", cls=ConfiguredCommand, help=HELP)
@with_options(
    WHAT,
    (
        click.option("--runs", type=COUNT, default=40, show_default=True, help="How many benchmarks."),
        click.option("-k", "--k", type=COUNT, default=5, show_default=True, help="Trials per cohort of each."),
    ),
    AGENT,
    LEVELS,
    ORDER,
    FLOW,
    TRIAL,
    OUTPUT,
)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Parse the options, run, print the result; see HELP."""
    if options["resume"] is not None:
        no_plan_options(ctx)
        return run((), options, "aa", lambda done: _finish(done, options))
    what(options, "aa")
    no_swallowed_options(ctx, options)
    options["aa"] = options.pop("runs")
    asked = asks(options)
    if len(asked) > 1:
        raise UsageFault("kcut aa takes one performer", remedy="run it once for each of them")
    return run(asked, options, "aa", lambda done: _finish(done, options))


def _finish(done: "Finished", options: dict[str, Any]) -> int:
    """Print how many runs ended in KEEP, and whether that is too many."""
    decision = done.artifact.decision
    if decision is None or decision.verdict == "invalid":
        click.echo(f"kcut: {done.artifact.reason}", err=True)
        return EXIT_USAGE
    from kcut.rates import saturation
    from kcut.verdict import against_itself

    found = against_itself(done.run.plan, done.attempts)
    document = {"runs": found.runs, "keeps": found.keeps, "bound": found.bound, "accept": found.accept}

    full = saturation(done.artifact.with_, done.artifact.without)
    if full is not None:
        click.echo(
            f"kcut: all trials {full}, so no run could have ended in KEEP, and this says nothing\n"
            "      let the task, or its score, do something that can pass and fail",
            err=True,
        )
        return EXIT_USAGE

    def show() -> None:
        if options["as_json"]:
            emit_json(document)
            return
        said = "no more than chance allows" if found.accept else "more than chance allows"
        click.echo(
            f"{found.keeps} of {found.runs} runs ended in KEEP with the component off in both cohorts: {said} "
            f"(at most {found.bound})"
        )
        what = "order, drift and voids" if found.accept else "what else tells the cohorts apart"
        click.echo(f"{what}: kcut check last")
        click.echo(f"run    {done.run.run_id}   kcut show last")

    tell(show)
    return EXIT_PASS if found.accept else EXIT_FAIL
