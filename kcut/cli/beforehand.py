"""Before any trial: the plan that is only shown, and the question before money is spent."""

import contextlib
import re
import sys
from typing import TYPE_CHECKING, Any

import click

from kcut.cli.common import emit_json
from kcut.model.errors import EXIT_PASS, KcutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kcut.model.plan import Plan
    from kcut.ready import Ready

#: Commands that spend money when a task runs them, where a shell or a script would name a command.
_AGENT = re.compile(
    r"(?:^|(?<=[\s;&|(`'\"/]))(claude|codex|gemini|opencode|mini|aider|cursor-agent|goose|amp|crush|qwen)(?=[\s'\"]|$)"
)


def confirm(every: "Sequence[Ready]", options: dict[str, Any]) -> None:
    """Before money is spent by a person at a terminal: how many trials, and a question."""
    if options["yes"] or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    for ready in every:
        if agents := _agents(ready):
            click.echo(f"{_number(ready.plan)}, each runs {', '.join(sorted(agents))}{_price(ready)}", err=True)
    if not any(map(_agents, every)):
        return
    click.confirm("go on?", default=False, abort=True, err=True)


def _number(plan: "Plan") -> str:
    """How many trials there will be: `10 trials`, `at most 40 trials`, `trials without a cap`."""
    if not plan.capped:
        return "trials without a cap (--max-k or --max-cost sets one)"
    return f"{'at most ' * plan.until_decided}{plan.trials} trials"


def _agents(ready: "Ready") -> set[str]:
    """The agent CLIs that the task, or a script that it runs, seems to start."""
    from kcut.scoreline import executables
    from kcut.system.files import read_regular

    if ready.plan.agent is not None:
        return {ready.plan.agent.label}
    texts = [work.plan.task for work in ready.works]
    for word in [word for text in texts for word in executables(text)]:
        with contextlib.suppress(OSError, KcutError):
            path = ready.checkout.root / ready.plan.checkout.subdir / word
            texts.append(read_regular(path, limit=1_000_000).decode("utf-8", "replace"))
    return {name for text in texts for name in _AGENT.findall(text)}


def _price(ready: "Ready") -> str:
    """What the trials cost if they cost as the last benchmark's, empty if that is not known."""
    from kcut.artifacts import load
    from kcut.model.outcome import Cohort
    from kcut.report.text import money

    if not ready.artifact.exists() or not ready.plan.capped:
        return ""
    last = load(ready.artifact)
    cohorts = {Cohort.WITH: last.with_, Cohort.WITHOUT: last.without, Cohort.PLACEBO: last.placebo or last.with_}
    costs = [cohorts[cohort].mean_cost_per_trial for cohort in ready.plan.cohorts]
    if None in costs:
        return ""
    total = sum(cost for cost in costs if cost is not None) * ready.plan.pairs
    return f"; about {money(total)} at the price of the last run"


def dry_run(every: "Sequence[Ready]", options: dict[str, Any]) -> int:
    if options["as_json"]:
        plans = [_plan_document(ready) for ready in every]
        emit_json(plans[0] if len(plans) == 1 else {"plans": plans})
        return EXIT_PASS
    for ready in every:
        _tell_plan(ready)
    return EXIT_PASS


def _plan_document(ready: "Ready") -> dict[str, Any]:
    from kcut.resolve import safe_plan

    plan = safe_plan(ready.plan)
    trials = plan.trials if plan.capped else None
    return {"plan": plan.document(), "trials": trials, "protected": list(ready.protected)}


def _tell_plan(ready: "Ready") -> None:
    from kcut.report.progress import notes, plan_text
    from kcut.report.text import clock, fold, plain
    from kcut.resolve import safe_plan

    plan = safe_plan(ready.plan)
    click.echo(plan_text(plan, ready))
    for work in plan.works:
        name = f"{plain(work.name)}: " if work.name else ""
        click.echo(fold(f"  task  {name}{plain(work.task)}", 8))
    if plan.setup is not None:
        click.echo(fold(f"  setup {plain(plan.setup)}", 8))
    click.echo(
        f"  limits  task {clock(plan.timeout)}, score {clock(plan.score_timeout)}, setup {clock(plan.setup_timeout)}"
        f"   {plan.jobs} at once   rule {plan.rule}"
    )
    for line in notes(ready):
        click.echo(fold(f"  note  {line}", 8))
    click.echo(f"{_number(plan)}{_price(ready)}; nothing was run")
