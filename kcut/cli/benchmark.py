"""`kcut benchmark`: the main job."""

import contextlib
import dataclasses
import os
import re
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli import complain
from kcut.cli.common import color_option, emit_json, json_option, tell, wants_color
from kcut.cli.config import ConfiguredCommand
from kcut.cli.options import COUNT, DURATION, MONEY, SEED, WAITS, WHOLE, spelled
from kcut.cli.suggest import runs
from kcut.model.ask import Ask
from kcut.model.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_PASS, EXIT_USAGE, Interrupted, KcutError, UsageFault

if TYPE_CHECKING:
    from kcut.benchmark import Finished
    from kcut.model.artifact import Artifact
    from kcut.resolve import Ready

#: Options that do not change what a run does, and so may go with --resume.
FREE = {"resume", "jobs", "as_json", "quiet", "verbose", "color", "yes"}

#: Commands that spend money when a task runs them, where a shell or a script would name a command.
_AGENT = re.compile(
    r"(?:^|(?<=[\s;&|(`'\"/]))(claude|codex|gemini|opencode|mini|aider|cursor-agent|goose|amp|crush|qwen)(?=[\s'\"]|$)"
)

HELP = """Run a task k times with a component and k times without it, and say whether it earns its keep.

Each trial runs in its own throwaway git worktree of HEAD. The task reads HARNESS_COMPONENT_ENABLED (1 with,
0 without) and switches the component accordingly. A trial passes if its score exits 0: --score, else the checks
of --spec, else the task's own exit code. The verdict is written to .claude/eval/benchmarks/<component>.json.

Exit codes: 0 pass, 1 fail, 2 usage, set-up or invalid, 3 inconclusive (--rule evidence), 129/130/143 stopped by
HUP/INT/TERM.

\b
Examples:
  kcut benchmark --component tidy-imports --task ./run.sh --k 5
  kcut benchmark --component tidy-imports --task ./run.sh --spec specs/tidy.md --jobs 4
  kcut benchmark --component no-todo-hook --task ./seed.sh --score './check.sh src' --rule evidence --k 17
  kcut benchmark --component tidy-imports --task ./run.sh --dry-run
  kcut benchmark --resume last
"""


@click.command("benchmark", cls=ConfiguredCommand, help=HELP)
@click.option("--component", metavar="NAME", help="The component's name (HARNESS_COMPONENT).")
@click.option("--task", metavar="CMD", help="The shell command that does the task in the worktree.")
@click.option("--score", metavar="CMD", help="A trial passes if this exits 0.")
@click.option("--spec", metavar="FILE", type=click.Path(), help="Score with a spec's checks.")
@click.option("-k", "--k", type=COUNT, default=Ask.k, show_default=True, help="Trials per cohort.")
@click.option("--out", metavar="NAME", help="Name the artifact after this instead of the component.")
@click.option("-j", "--jobs", type=COUNT, default=Ask.jobs, show_default=True, help="Trials at once.")
@click.option("--seed", type=SEED, help="Draws the order within pairs and HARNESS_SEED. [default: random, recorded]")
@click.option(
    "--rule",
    type=click.Choice(["point", "evidence"]),
    default=Ask.rule,
    show_default=True,
    help="What sets the verdict and the exit code.",
)
@click.option("--min-gain", metavar="X", help="Pass only if the rate rises by X (0.1, 1/3), instead of at all.")
@click.option("--max-cost", type=MONEY, metavar="USD", help="Start no pair that may not fit this budget.")
@click.option(
    "--resume", metavar="RUN", shell_complete=runs, help="Go on with a run: its id, a unique prefix, or last."
)
@click.option("--dry-run", is_flag=True, help="Print the plan and run nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask before money is spent.")
@click.option("--setup", metavar="CMD", help="Run in each worktree before the task.")
@click.option("--timeout", type=DURATION, default=spelled(Ask.timeout), show_default=True, help="Limit of the task.")
@click.option(
    "--score-timeout",
    type=DURATION,
    default=spelled(Ask.score_timeout),
    show_default=True,
    help="Limit of the score.",
)
@click.option(
    "--setup-timeout", type=DURATION, default=spelled(Ask.setup_timeout), show_default=True, help="Limit of --setup."
)
@click.option(
    "--void-retries", type=WHOLE, default=Ask.void_retries, show_default=True, help="Run a void trial again so often."
)
@click.option(
    "--retry-wait",
    type=WAITS,
    default=spelled(*Ask.retry_wait),
    show_default=True,
    help="Waits before running again.",
)
@click.option(
    "--agent-output",
    type=click.Choice(["auto", "none"]),
    default=Ask.agent_output,
    show_default=True,
    help="Read an agent's terminal event from the task's output.",
)
@click.option("--protect", metavar="GLOB", multiple=True, help="Restore these files before scoring, too.")
@click.option("--unprotect", metavar="GLOB", multiple=True, help="Do not restore these: the task may change them.")
@click.option(
    "--no-probe", "probe", flag_value=False, default=Ask.probe, help="Do not score the untouched base first."
)
@click.option("--base", metavar="REV", help="Start the trials from this commit instead of HEAD.")
@click.option(
    "--isolation",
    type=click.Choice(["sealed", "worktree", "clone"]),
    default=Ask.isolation,
    show_default=True,
    help="How a trial's worktree is made.",
)
@click.option(
    "--refs",
    type=click.Choice(["head", "tags", "all"]),
    default=Ask.refs,
    show_default=True,
    help="Refs that the trials see.",
)
@click.option(
    "--history",
    type=click.Choice(["full", "none"]),
    default=Ask.history,
    show_default=True,
    help="Commits that the trials see.",
)
@click.option(
    "--dirty",
    type=click.Choice(["ignore", "include"]),
    default=Ask.dirty,
    show_default=True,
    help="Uncommitted changes: in no trial, or in all.",
)
@click.option("--copy", metavar="PATH", multiple=True, help="Copy a file or folder that git ignores into each trial.")
@click.option("--link", metavar="PATH", multiple=True, help="Link one instead: writes reach your own files.")
@click.option("--workdir", metavar="DIR", help="Make the worktrees below this folder.")
@click.option("--isolate-home", is_flag=True, help="Give every trial an empty HOME of its own.")
@click.option(
    "--keep",
    type=click.Choice(["none", "failed", "all"]),
    default=Ask.keep,
    show_default=True,
    help="Keep worktrees for a look; kcut clean --kept removes them.",
)
@click.option("--logs", is_flag=True, help="Keep capped, redacted logs and the diff of each trial.")
@json_option
@color_option
@click.option("-q", "--quiet", is_flag=True, help="Print the result only.")
@click.option("-v", "--verbose", is_flag=True, help="Say more about each trial.")
@click.pass_context
def command(ctx: click.Context, /, **options: Any) -> int:
    """Parse the options, run, print the result; see HELP."""
    if options["resume"] is not None:
        _no_plan_options(ctx)
        return _run(None, options)
    component, task = options["component"] or "tidy-imports", options["task"] or "./run.sh"
    for name in ("component", "task"):
        if options[name] is None:
            example = f"kcut benchmark --component {shlex.quote(component)} --task {shlex.quote(task)}"
            raise UsageFault(f"--{name} is missing", remedy=f"e.g. {example}")
    _no_swallowed_options(ctx, options)
    return _run(_ask(options), options)


def _no_plan_options(ctx: click.Context) -> None:
    """--resume takes the plan that was recorded: an option that would change it is refused."""
    for param in ctx.command.params:
        given = ctx.get_parameter_source(param.name or "") is click.core.ParameterSource.COMMANDLINE
        if given and param.name not in FREE:
            raise UsageFault(
                f"{param.opts[-1]} cannot go with --resume: a run goes on as it was planned",
                remedy="leave it out, or start a new run without --resume",
            )


def _no_swallowed_options(ctx: click.Context, options: dict[str, Any]) -> None:
    """`--task --dry-run` is a forgotten value, not a task of that name."""
    known = {name for param in ctx.command.params for name in param.opts}
    for name in ("component", "task", "score", "setup", "out", "resume"):
        if options[name] in known:
            raise UsageFault(f"--{name} needs a value, and {options[name]} is an option", remedy="give both")


def _ask(options: dict[str, Any]) -> Ask:
    return Ask(**{field.name: options[field.name] for field in dataclasses.fields(Ask)})


def _run(ask: Ask | None, options: dict[str, Any]) -> int:
    from kcut.benchmark import benchmark, resume
    from kcut.engine.local import LocalEngine
    from kcut.report.progress import progress
    from kcut.resolve import resolve
    from kcut.store import Store
    from kcut.system.clock import SystemClock
    from kcut.system.git import end_running, toplevel
    from kcut.system.signals import StopSignals

    cwd, clock = Path.cwd(), SystemClock()
    ready = None
    if ask is not None:  # until the run begins, a signal simply ends kcut
        ready = resolve(ask, cwd, os.environ)
        if options["dry_run"]:
            return _dry_run(ready, options)
        _confirm(ready, options)
    observer = progress(
        clock.monotonic,
        live=wants_live(options),
        quiet=options["quiet"],
        verbose=options["verbose"],
        color=wants_color(options["color"], sys.stderr),
    )
    root = ready.checkout.root if ready is not None else toplevel(cwd)
    with StopSignals(end_running) as stop:
        world: dict[str, Any] = {
            "engine": LocalEngine(options["jobs"]),
            "clock": clock,
            "stop": stop,
            "observer": observer,
        }
        try:
            with Store.open(root) as store, observer:
                if ready is not None:
                    done = benchmark(ready, store=store, **world)
                else:
                    done = resume(options["resume"], cwd, store=store, **world)
        except KcutError as error:
            if stop.signum is None or isinstance(error, Interrupted):
                raise
            raise Interrupted(error.message, signum=stop.signum, remedy=error.remedy) from error
    if done.stopped is not None:
        return _stopped(done, done.stopped, options)
    tell(lambda: _print(done, options))
    return exit_code(done.artifact)


def _stopped(done: "Finished", signum: int, options: dict[str, Any]) -> int:
    """Say how far a run came that a signal ended, and how to go on."""
    if options["as_json"]:
        tell(lambda: emit_json(done.artifact.document()))
    how_far = f"stopped after {done.done} of {2 * done.run.plan.k} trials"
    if done.lost is not None:
        complain(
            f"{how_far}; something {done.lost} the record meanwhile, so the run cannot be resumed",
            "keep trials out of your checkout's .claude/eval, then start a new run",
        )
        return 128 + signum
    complain(
        f"{how_far}; nothing was left behind",
        f"go on with: kcut benchmark --resume {done.run.run_id}",
    )
    return 128 + signum


def wants_live(options: dict[str, Any]) -> bool:
    """True if progress may redraw: stderr is a terminal that can, nobody asked for quiet, this is no CI."""
    return (
        sys.stderr.isatty() and not options["quiet"] and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    )


def _confirm(ready: "Ready", options: dict[str, Any]) -> None:
    """Before money is spent by a person at a terminal: how many trials, and a question."""
    if options["yes"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    agents = _agents(ready)
    if not agents:
        return
    trials = 2 * ready.plan.k
    click.echo(f"{trials} trials, each runs {', '.join(sorted(agents))}{_price(ready)}", err=True)
    click.confirm("go on?", default=False, abort=True, err=True)


def _agents(ready: "Ready") -> set[str]:
    """The agent CLIs that the task, or a script that it runs, seems to start."""
    from kcut.scoreline import executables
    from kcut.system.files import read_regular

    texts = [ready.plan.task]
    for word in executables(ready.plan.task):
        with contextlib.suppress(OSError, KcutError):
            path = ready.checkout.root / ready.plan.checkout.subdir / word
            texts.append(read_regular(path, limit=1_000_000).decode("utf-8", "replace"))
    return {name for text in texts for name in _AGENT.findall(text)}


def _price(ready: "Ready") -> str:
    """What the trials cost if they cost as the last benchmark's, empty if that is not known."""
    from kcut.artifacts import load
    from kcut.report.text import money

    if not ready.artifact.exists():
        return ""
    last = load(ready.artifact)
    costs = [cohort.mean_cost_per_trial for cohort in (last.with_, last.without)]
    if None in costs:
        return ""
    total = sum(cost for cost in costs if cost is not None) * ready.plan.k
    return f"; about {money(total)} at the price of the last run"


def _dry_run(ready: "Ready", options: dict[str, Any]) -> int:
    from kcut.report.progress import notes, plan_text
    from kcut.report.text import clock, fold, plain
    from kcut.resolve import safe_plan

    plan = safe_plan(ready.plan)
    if options["as_json"]:
        emit_json({"plan": plan.document(), "trials": 2 * ready.plan.k, "protected": list(ready.protected)})
        return EXIT_PASS
    click.echo(plan_text(plan, ready))
    click.echo(fold(f"  task  {plain(plan.task)}", 8))
    if plan.setup is not None:
        click.echo(fold(f"  setup {plain(plan.setup)}", 8))
    click.echo(
        f"  limits  task {clock(plan.timeout)}, score {clock(plan.score_timeout)}, setup {clock(plan.setup_timeout)}"
        f"   {plan.jobs} at once   rule {plan.rule}"
    )
    for line in notes(ready):
        click.echo(fold(f"  note  {line}", 8))
    click.echo(f"{2 * ready.plan.k} trials{_price(ready)}; nothing was run")
    return EXIT_PASS


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
        click.echo(f"saved  {plain(_relative(done.path))}")
        click.echo(f"run    {done.run.run_id}" + ("" if done.lost else "   kcut show last"))


def _relative(path: Path) -> str:
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def exit_code(artifact: "Artifact") -> int:
    """0 pass, 1 fail, 2 invalid, 3 inconclusive under --rule evidence."""
    if artifact.decision is not None:
        if artifact.decision.verdict == "invalid":
            return EXIT_USAGE
        if artifact.rule == "evidence" and artifact.decision.verdict == "inconclusive":
            return EXIT_INCONCLUSIVE
    return EXIT_PASS if artifact.pass_ else EXIT_FAIL
