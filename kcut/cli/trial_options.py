"""The options that the commands that run trials share."""

from collections.abc import Callable
from typing import Any

from click import Choice, IntRange, option
from click import Path as File

from kcut.cli.common import color_option, json_option
from kcut.cli.options import COUNT, DURATION, MONEY, SEED, SHARE, WAITS, WHOLE, spelled
from kcut.cli.suggest import agents, runs
from kcut.model.ask import Ask

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

#: What is run and how it is scored.
WHAT = (
    option("--component", metavar="NAME", help="The component: a skill, rule, hook, ... or any name."),
    option("--task", metavar="CMD", help="The shell command that does the task in the worktree."),
    option("--tasks", metavar="FILE", type=File(), help="Several tasks, in a TOML file."),
    option("--score", metavar="CMD", help="A trial passes if this exits 0."),
    option("--spec", metavar="FILE", type=File(), help="Score with a spec's checks."),
    option("--oracle", metavar="DIR", type=File(), help="What trials get only when their task has ended."),
)

#: Who does the task, where kcut runs the agent itself.
AGENT = (
    option(
        "--agent",
        metavar="NAME",
        multiple=True,
        shell_complete=agents,
        help="Let this agent do the task: claude, codex, gemini, ... Several: a benchmark each.",
    ),
    option("--model", metavar="M", multiple=True, help="The agent's model, as its CLI names it; several too."),
    option(
        "--performers", metavar="FILE", type=File(), help="Agents and models, in a TOML file of [[performer]] tables."
    ),
    option("--prompt", metavar="TEXT", help="What the agent is to do."),
    option("--prompt-file", metavar="FILE", type=File(), help="A file that says it."),
    option("--effort", metavar="E", help="How hard the model is to think, as the CLI names it."),
    option("--max-turns", type=COUNT, metavar="N", help="End the agent after so many turns."),
    option("--agent-arg", metavar="ARG", multiple=True, help="One more argument of the agent's CLI."),
    option("--agent-executable", metavar="PATH", help="The agent's CLI, if it is not on the PATH."),
    option(
        "--prices",
        metavar="FILE",
        type=File(),
        help="What tokens cost, per model (TOML): for agents that tell no cost.",
    ),
    option(
        "--rework",
        type=IntRange(0, 3),
        default=Ask.rework,
        show_default=True,
        metavar="N",
        help="Let the agent try again so often after a failing score; its first attempt is what counts.",
    ),
    option("--rework-output", is_flag=True, help="Tell it what the failing checks printed, too."),
)

#: How many at once, and in which order.
ORDER = (
    option("-j", "--jobs", type=COUNT, default=Ask.jobs, show_default=True, help="Trials at once."),
    option("--seed", type=SEED, help="Draws the order within pairs and HARNESS_SEED. [default: random, recorded]"),
)

#: How sure a verdict has to be.
LEVELS = (
    option("--alpha", type=SHARE, default=Ask.alpha, show_default=True, help="Chance of a KEEP that is none."),
    option("--delta", type=SHARE, default=Ask.delta, show_default=True, help="The smallest gain worth having."),
)

#: Money, and going on.
FLOW = (
    option("--max-cost", type=MONEY, metavar="USD", help="Start no pair that may not fit this budget."),
    option(
        "--resume", metavar="RUN", shell_complete=runs, help="Go on with a run: its id, a unique prefix, or last."
    ),
    option("--dry-run", is_flag=True, help="Print the plan and run nothing."),
    option("-y", "--yes", is_flag=True, help="Do not ask before money is spent."),
)

#: How a trial is made and run.
TRIAL = (
    option("--setup", metavar="CMD", help="Run in each worktree before the task."),
    option("--timeout", type=DURATION, default=spelled(Ask.timeout), show_default=True, help="Limit of the task."),
    option(
        "--score-timeout",
        type=DURATION,
        default=spelled(Ask.score_timeout),
        show_default=True,
        help="Limit of the score.",
    ),
    option(
        "--setup-timeout",
        type=DURATION,
        default=spelled(Ask.setup_timeout),
        show_default=True,
        help="Limit of --setup.",
    ),
    option(
        "--void-retries",
        type=WHOLE,
        default=Ask.void_retries,
        show_default=True,
        help="Run a void trial again so often.",
    ),
    option(
        "--retry-wait",
        type=WAITS,
        default=spelled(*Ask.retry_wait),
        show_default=True,
        help="Waits before running again.",
    ),
    option(
        "--agent-output",
        type=Choice(["auto", "none"]),
        default=Ask.agent_output,
        show_default=True,
        help="Read an agent's terminal event from the task's output.",
    ),
    option("--protect", metavar="GLOB", multiple=True, help="Restore these files before scoring, too."),
    option("--unprotect", metavar="GLOB", multiple=True, help="Do not restore these: the task may change them."),
    option("--no-probe", "probe", flag_value=False, default=Ask.probe, help="Do not score the untouched base first."),
    option("--base", metavar="REV", help="Start the trials from this commit instead of HEAD."),
    option(
        "--isolation",
        type=Choice(["sealed", "worktree", "clone"]),
        default=Ask.isolation,
        show_default=True,
        help="How a trial's worktree is made.",
    ),
    option(
        "--refs",
        type=Choice(["head", "tags", "all"]),
        default=Ask.refs,
        show_default=True,
        help="Refs that the trials see.",
    ),
    option(
        "--history",
        type=Choice(["full", "none"]),
        default=Ask.history,
        show_default=True,
        help="Commits that the trials see.",
    ),
    option(
        "--dirty",
        type=Choice(["ignore", "include"]),
        default=Ask.dirty,
        show_default=True,
        help="Uncommitted changes: in no trial, or in all.",
    ),
    option("--copy", metavar="PATH", multiple=True, help="Copy a file or folder that git ignores into each trial."),
    option("--link", metavar="PATH", multiple=True, help="Link one instead: writes reach your own files."),
    option("--workdir", metavar="DIR", help="Make the worktrees below this folder."),
    option("--isolate-home", is_flag=True, help="Give every trial an empty HOME of its own."),
    option(
        "--keep",
        type=Choice(["none", "failed", "all"]),
        default=Ask.keep,
        show_default=True,
        help="Keep worktrees for a look; kcut clean --kept removes them.",
    ),
    option("--logs", is_flag=True, help="Keep capped, redacted logs and the diff of each trial."),
)

#: What is printed.
OUTPUT = (
    json_option,
    color_option,
    option("-q", "--quiet", is_flag=True, help="Print the result only."),
    option("-v", "--verbose", is_flag=True, help="Say more about each trial."),
)


def with_options(*groups: tuple[Option, ...]) -> Option:
    """A decorator that gives a command the options of the groups, in their order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for give in reversed([give for group in groups for give in group]):
            function = give(function)
        return function

    return decorate
