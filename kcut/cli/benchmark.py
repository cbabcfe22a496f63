"""`kcut benchmark`: the main job."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click import Choice, option

from kcut.cli.common import emit_json, tell, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import COUNT, SHARE
from kcut.cli.running import asks, given, no_plan_options, no_swallowed_options, run, what
from kcut.cli.trial_options import AGENT, FLOW, LEVELS, ORDER, OUTPUT, TRIAL, WHAT, with_options
from kcut.model.ask import Ask
from kcut.model.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_USAGE, UsageFault

if TYPE_CHECKING:
    from kcut.benchmark import Finished
    from kcut.model.artifact import Artifact

#: The most pairs of --until-decided unless --max-k says otherwise.
MAX_K = 20

HELP = """Run a task k times with a component and k times without it, and say whether it earns its keep.

Each trial runs in its own throwaway git worktree of HEAD. A component that kcut finds by its name (kcut components;
kind:NAME, FILE.md#Heading and settings.json#/pointer mean one, too) it applies and withholds itself. For any other
name the task reads HARNESS_COMPONENT_ENABLED (1 with, 0 without) and switches it. The task is a command, or an agent
with a prompt. A trial passes if its score exits 0: --score, else the checks of --spec, else the task's own exit code.
The verdict is written to .claude/eval/benchmarks/<component>.json.

Exit codes: 0 pass, 1 fail, 2 usage, set-up or invalid, 3 inconclusive (--rule evidence), 129/130/143 stopped by
HUP/INT/TERM.

\b
Examples:
  kcut benchmark --component tidy-imports --task ./run.sh --k 5
  kcut benchmark --component tidy-imports --agent claude --prompt-file task.md --spec specs/tidy.md
  kcut benchmark --component 'CLAUDE.md#Testing' --agent codex --model gpt-5.5 --prices prices.toml --prompt-file t.md
  kcut benchmark --component tidy-imports --task ./run.sh --spec specs/tidy.md --jobs 4
  kcut benchmark --component no-todo-hook --task ./seed.sh --score './check.sh src' --rule evidence --k 17
  kcut benchmark --component tidy-imports --task ./run.sh --control placebo --k 10
  kcut benchmark --component tidy-imports --task ./run.sh --dry-run
  kcut benchmark --resume last
"""


#: How a run is decided, and how many trials it takes.
DECISION = (
    option("-k", "--k", type=COUNT, default=Ask.k, show_default=True, help="Trials per cohort."),
    option("--until-decided", is_flag=True, help="Stop after the first pair that makes it clear."),
    option("--max-k", type=COUNT, help="The most pairs of --until-decided. [default: 20]"),
    option("--beta", type=SHARE, default=Ask.beta, show_default=True, help="Chance of a CUT that loses such a gain."),
    option(
        "--objective",
        type=Choice(["success", "cost"]),
        default=Ask.objective,
        show_default=True,
        help="A KEEP is more success, or no less of it at a lower cost.",
    ),
    option(
        "--margin", type=SHARE, default=Ask.margin, show_default=True, help="Less success than that is not 'no less'."
    ),
    option("--confirm-harm", is_flag=True, help="After a CUT, go on until harm is shown too."),
    option("--anytime", is_flag=True, help="Look for a KEEP for as long as it takes (e-process, no cap)."),
    option(
        "--stop",
        type=Choice(["decided", "keep-unreachable"]),
        default=Ask.stop,
        show_default=True,
        help="Also stop when no further pair could bring a KEEP.",
    ),
    option(
        "--rule",
        type=Choice(["point", "evidence"]),
        default=Ask.rule,
        show_default=True,
        help="What sets the verdict and the exit code.",
    ),
    option(
        "--control",
        type=Choice(["none", "placebo"]),
        default=Ask.control,
        show_default=True,
        help="Also run trials with irrelevant text of the component's length in its place.",
    ),
    option("--min-gain", metavar="X", help="Pass only if the rate rises by X (0.1, 1/3), instead of at all."),
    option("--out", metavar="NAME", help="Name the artifact after this instead of the component."),
)


@click.command("benchmark", cls=ConfiguredCommand, help=HELP)
@with_options(WHAT, AGENT, DECISION, LEVELS, ORDER, FLOW, TRIAL, OUTPUT)
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Parse the options, run, print the result; see HELP."""
    if options["resume"] is not None:
        no_plan_options(ctx)
        return run((), options, "benchmark", lambda done: _finish(done, options))
    what(options, "benchmark")
    no_swallowed_options(ctx, options)
    _design(ctx, options)
    return run(asks(options), options, "benchmark", lambda done: _finish(done, options))


def _design(ctx: click.Context, options: dict[str, Any]) -> None:
    """Set `k` to the most pairs where their number is not fixed."""
    options["until_decided"] = options["until_decided"] or options["anytime"]
    if not options["until_decided"]:
        if given(ctx, "max_k"):
            raise UsageFault("--max-k is the cap of --until-decided", remedy="add that, or use --k")
        return
    if given(ctx, "k"):
        raise UsageFault("--k fixes the number of pairs, and --until-decided does not", remedy="use --max-k instead")
    from kcut.model.plan import UNCAPPED

    options["k"] = options["max_k"] or (UNCAPPED if options["anytime"] else MAX_K)


def exit_code(artifact: "Artifact") -> int:
    """0 pass, 1 fail, 2 invalid, 3 inconclusive under --rule evidence."""
    if artifact.decision is not None:
        if artifact.decision.verdict == "invalid":
            return EXIT_USAGE
        if artifact.rule == "evidence" and artifact.decision.verdict == "inconclusive":
            return EXIT_INCONCLUSIVE
    return EXIT_PASS if artifact.pass_ else EXIT_FAIL


def _finish(done: "Finished", options: dict[str, Any]) -> int:
    tell(lambda: _print(done, options))
    return exit_code(done.artifact)


def _print(done: "Finished", options: dict[str, Any]) -> None:
    from kcut.report.terminal import render
    from kcut.report.text import plain

    if done.again:
        click.echo(f"run {done.run.run_id} had finished: nothing was run", err=True)
    if options["as_json"]:
        emit_json(done.artifact.document())
        return
    click.echo(render(done.artifact, wants_color(options["color"]), min_gain=done.run.plan.min_gain), color=True)
    for key, place in done.kept:
        click.echo(f"kept   {key}  {place}")
    if done.kept:
        click.echo("       remove them: kcut clean --kept")
    if done.run.plan.logs and not done.again:
        click.echo(f"logs   .claude/eval/runs/{done.run.run_id}")
    if done.path is None:
        click.echo(f"no artifact: the run is invalid   run {done.run.run_id}")
    else:
        saved = plain(_relative(done.path))
        other = _other_run(done)
        click.echo(f"saved  {saved}" if other is None else f"not saved: {saved} is of {other}")
        click.echo(f"run    {done.run.run_id}" + ("" if done.lost else "   kcut show last"))


def _other_run(done: "Finished") -> str | None:
    """Whose artifact lies where a run that had finished before once saved its own; None if that still lies there."""
    if not done.again or done.path is None:
        return None
    from kcut.artifacts import load
    from kcut.report.text import plain

    name = load(done.path).run_id
    return None if name == done.run.run_id else f"another run, {plain(name)}" if name else "another run"


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
