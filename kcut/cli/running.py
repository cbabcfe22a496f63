"""What the commands that run trials share: asking before money is spent, running, and stopping."""

import dataclasses
import os
import shlex
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kcut.cli import complain
from kcut.cli.beforehand import confirm, dry_run
from kcut.cli.common import emit_json, tell, wants_color
from kcut.model.ask import Ask
from kcut.model.errors import EXIT_FAIL, EXIT_INCONCLUSIVE, EXIT_USAGE, Interrupted, KcutError, UsageFault

if TYPE_CHECKING:
    from collections.abc import Callable

    from kcut.benchmark import Finished
    from kcut.model.plan import Plan
    from kcut.model.trial import TrialRecord
    from kcut.ready import Ready

#: Options that do not change what a run does, and so may go with --resume.
FREE = {"resume", "jobs", "as_json", "quiet", "verbose", "color", "yes"}


def given(ctx: click.Context, name: str) -> bool:
    """True if a parameter stands on the command line itself."""
    return ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE


def what(options: dict[str, Any], command: str) -> None:
    """What is to run has to be said: a component, and a task or a file of them. Raises UsageFault."""
    component, task = options["component"] or "tidy-imports", options["task"] or "./run.sh"
    if options["tasks"] is not None and options["task"] is not None:
        raise UsageFault("--task and --tasks both given", remedy="name the command in the file, or leave --tasks out")
    agent = options["agent"] or options["performers"]
    if agent and options["task"] is not None:
        raise UsageFault("--task and --agent both given", remedy="the agent does the task: use --prompt-file instead")
    if options["tasks"] is not None and (options["prompt"] or options["prompt_file"]):
        raise UsageFault("--tasks and a prompt both given", remedy="name the prompts in the file of tasks")
    if options["tasks"] is not None and options["oracle"]:
        raise UsageFault("--tasks and --oracle both given", remedy="name each task's oracle in the file")
    needed = ("component",) if agent or options["tasks"] is not None else ("component", "task")
    for name in needed:
        if options[name] is None:
            example = f"kcut {command} --component {shlex.quote(component)} --task {shlex.quote(task)}"
            raise UsageFault(f"--{name} is missing", remedy=f"e.g. {example}")
    options["task"] = options["task"] or ""


def no_plan_options(ctx: click.Context) -> None:
    """--resume takes the plan that was recorded: an option that would change it is refused."""
    for param in ctx.command.params:
        if given(ctx, param.name or "") and param.name not in FREE:
            raise UsageFault(
                f"{param.opts[-1]} cannot go with --resume: a run goes on as it was planned",
                remedy="leave it out, or start a new run without --resume",
            )


def no_swallowed_options(ctx: click.Context, options: dict[str, Any]) -> None:
    """`--task --dry-run` is a forgotten value, not a task of that name."""
    known = {name for param in ctx.command.params for name in param.opts}
    for name in ("component", "task", "score", "setup", "out", "resume"):
        if options.get(name) in known:
            raise UsageFault(f"--{name} needs a value, and {options[name]} is an option", remedy="give both")


def asks(options: dict[str, Any]) -> tuple[Ask, ...]:
    """The options as they were given, once for each performer."""
    from kcut.performers import performers

    several = {"agent", "model"}
    names = [field.name for field in dataclasses.fields(Ask) if field.name in options and field.name not in several]
    asked = Ask(**{name: options[name] for name in names})
    found = performers(asked, options["agent"], options["model"], options["performers"], Path.cwd())
    if len(found) == 1:
        return found
    start = asked.out or asked.component
    labels = [" ".join(part for part in (each.agent, each.model, each.effort) if part) for each in found]
    return tuple(dataclasses.replace(each, out=f"{start} {label}") for each, label in zip(found, labels, strict=True))


def run(asked: Sequence[Ask], options: dict[str, Any], command: str, finish: "Callable[[Finished], int]") -> int:
    """Resolve, ask, run, and return the exit code; `finish` prints a run that came to its end and gives its code.

    With nothing asked the recorded run of `--resume` goes on. `command` is the one that the user typed.
    """
    if not asked:
        return _end(_perform(None, options, command), options, command, finish)
    from kcut.resolve import resolve

    # until a run begins, a signal simply ends kcut
    ready = [resolve(each, Path.cwd(), os.environ) for each in asked]
    if options["dry_run"]:
        return dry_run(ready, options)
    confirm(ready, options)
    if len(ready) == 1:
        return _end(_perform(ready[0], options, command), options, command, finish)
    return _several(ready, options, command, finish)


def _several(
    ready: "Sequence[Ready]", options: dict[str, Any], command: str, finish: "Callable[[Finished], int]"
) -> int:
    """A benchmark for each performer, one after the other, never pooled; one decision for all in the end."""
    from kcut.report.cells import Cell, cell_document, overall
    from kcut.report.text import plain

    def label(one: "Ready") -> str:
        return one.plan.agent.label if one.plan.agent is not None else one.plan.component

    done: list[Finished] = []
    codes: list[int] = []
    each = options | {"as_json": False}
    for one in ready:
        if not options["as_json"]:
            tell(partial(click.echo, plain(label(one))))
        done.append(_perform(one, options, command))
        if done[-1].stopped is not None or not options["as_json"]:
            codes.append(_end(done[-1], each, command, finish))
        else:
            codes.append(_quietly(done[-1], command))
        if done[-1].stopped is not None:
            return codes[-1]
    cells = [Cell(one.artifact, one.run.plan.min_gain) for one in done]
    decision = overall([cell.decision for cell in cells])
    document = {"cells": [cell_document(cell) for cell in cells], "decision": decision}
    if options["as_json"]:
        tell(lambda: emit_json(document))
    else:
        parts = [f"{plain(label(one))} {cell.decision.upper()}" for one, cell in zip(ready, cells, strict=True)]
        tell(lambda: click.echo(f"overall: {decision.upper()} ({', '.join(parts)})"))
    order = (EXIT_USAGE, EXIT_FAIL, EXIT_INCONCLUSIVE)
    return next((code for code in order if code in codes), max(codes))


def _quietly(done: "Finished", command: str) -> int:
    from kcut.cli.benchmark import exit_code

    return _paused(done, done.paused, command) if done.paused is not None else exit_code(done.artifact)


def _end(done: "Finished", options: dict[str, Any], command: str, finish: "Callable[[Finished], int]") -> int:
    if done.stopped is not None:
        return _stopped(done, done.stopped, options, command)
    if done.paused is not None:
        return _paused(done, done.paused, command)
    return finish(done)


def _perform(ready: "Ready | None", options: dict[str, Any], command: str) -> "Finished":
    """Run what is ready, or go on with the run of `--resume`."""
    from kcut.benchmark import benchmark, resume
    from kcut.engine.local import LocalEngine
    from kcut.report.progress import progress
    from kcut.store import Store
    from kcut.system.clock import SystemClock
    from kcut.system.git import end_running, toplevel
    from kcut.system.signals import StopSignals

    cwd, clock = Path.cwd(), SystemClock()
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
                    _same_command(store.find(options["resume"]).plan, command)
                    done = resume(options["resume"], cwd, store=store, **world)
        except KcutError as error:
            if stop.signum is None or isinstance(error, Interrupted):
                raise
            raise Interrupted(error.message, signum=stop.signum, remedy=error.remedy) from error
    return done


def _same_command(plan: "Plan", command: str) -> None:
    """An A/A run goes on as one, and gives no verdict on its component."""
    own = "aa" if plan.aa else "benchmark"
    if own != command:
        raise UsageFault(f"that run was started by kcut {own}", remedy=f"go on with: kcut {own} --resume RUN")


def _stopped(done: "Finished", signum: int, options: dict[str, Any], command: str) -> int:
    """Say how far a run came that a signal ended, and how to go on."""
    if options["as_json"] and command == "benchmark":
        tell(lambda: emit_json(done.artifact.document()))
    how_far = f"stopped after {done.done} {_of_trials(done.run.plan)}"
    if done.lost is not None:
        complain(
            f"{how_far}; something {done.lost} the record meanwhile, so the run cannot be resumed",
            "keep trials out of your checkout's .claude/eval, then start a new run",
        )
        return 128 + signum
    complain(
        f"{how_far}; nothing was left behind",
        f"go on with: kcut {command} --resume {done.run.run_id}",
    )
    return 128 + signum


def _paused(done: "Finished", met: "TrialRecord", command: str) -> int:
    """Say which performer's quota is used up, and when and how to go on."""
    from datetime import datetime, timedelta

    agent = done.run.plan.agent
    when = "when it has been renewed"
    if met.retry_after_s is not None:
        moment = datetime.now().astimezone() + timedelta(seconds=met.retry_after_s)
        when = f"after {moment:%Y-%m-%d %H:%M %Z}"
    complain(
        f"the quota of {agent.label if agent is not None else 'the agent'} is used up: "
        f"{done.done} {_of_trials(done.run.plan)} are done",
        f"go on {when}: kcut {command} --resume {done.run.run_id}",
    )
    return EXIT_USAGE


def _of_trials(plan: "Plan") -> str:
    """`of 10 trials`, `of at most 40 trials`, `trials`."""
    if not plan.capped:
        return "trials"
    return f"of {'at most ' * plan.until_decided}{plan.trials} trials"


def wants_live(options: dict[str, Any]) -> bool:
    """True if progress may redraw: stderr is a terminal that can, nobody asked for quiet, this is no CI."""
    return (
        sys.stderr.isatty() and not options["quiet"] and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    )
