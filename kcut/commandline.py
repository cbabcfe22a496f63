"""The command line that asks for a plan again: only options that differ from the defaults. Pure."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from kcut.model.ask import Ask
from kcut.model.plan import AgentPlan, Plan

#: Options that a plan holds under another name than `Ask`, and where.
_CHECKOUT = {"base": "base_rev", "dirty": "dirty_mode", "copy": "copy_paths", "link": "link_paths"}
#: The options with one value, in the order in which they are told.
_VALUES = (
    *("alpha", "beta", "delta", "stop", "objective", "margin", "rule", "control", "min_gain", "out"),
    *("max_cost", "rework", "setup", "timeout", "score_timeout", "setup_timeout", "void_retries", "agent_output"),
    *("base", "isolation", "refs", "history", "dirty", "workdir", "keep", "jobs"),
)
_TIMES = {"timeout", "score_timeout", "setup_timeout"}
_LISTS = ("protect", "unprotect", "copy", "link")
_FLAGS = ("rework_output", "confirm_harm", "isolate_home", "logs")


def words(plan: Plan, *, k: int | None = None) -> tuple[str, ...]:
    """The words after `kcut benchmark` that plan such a run anew, with another `k` if one is given.

    The seed is not among them: a new run draws a new one. Raises ValueError if the plan does not tell which file its
    tasks came from.
    """
    return (*_work(plan), *_number(plan, plan.k if k is None else k), *_options(plan))


def _work(plan: Plan) -> Iterator[str]:
    """What is run, and how it is scored."""
    yield from ("--component", plan.component if plan.toggle is None else f"{plan.toggle.kind}:{plan.component}")
    if plan.agent is not None:
        yield from _agent(plan, plan.agent)
    if not plan.tasks:
        if plan.agent is None:
            yield from ("--task", plan.task)
        score, spec = plan.score, plan.spec.path if plan.spec is not None else None
    elif plan.tasks_file is None:
        raise ValueError("the plan does not name the file of its tasks")
    else:
        yield from ("--tasks", plan.tasks_file)
        score, spec = plan.tasks_score, plan.tasks_spec
    if score is not None:
        yield from ("--score", score)
    if spec is not None:
        yield from ("--spec", spec)
    if plan.oracle is not None:
        yield from ("--oracle", plan.oracle.source)


def _agent(plan: Plan, agent: AgentPlan) -> Iterator[str]:
    """Who does the task, and what it is asked."""
    yield from ("--agent", agent.name)
    for option, value in (
        ("--model", agent.model),
        ("--effort", agent.effort),
        ("--max-turns", agent.max_turns),
        ("--agent-executable", agent.executable),
        ("--prices", None if plan.prices is None else plan.prices.path),
    ):
        if value is not None:
            yield from (option, str(value))
    for arg in agent.args:
        yield from ("--agent-arg", arg)
    if plan.prompt is not None:
        yield from ("--prompt", plan.prompt.text) if plan.prompt.path is None else ("--prompt-file", plan.prompt.path)


def _number(plan: Plan, k: int) -> Iterator[str]:
    """How many pairs, or the most there can be."""
    if not plan.until_decided:
        yield from ("--k", str(k))
        return
    yield "--anytime" if plan.anytime else "--until-decided"
    if plan.capped:
        yield from ("--max-k", str(k))


def _options(plan: Plan) -> Iterator[str]:
    for name in _VALUES:
        value = _value(plan, name)
        if value is not None and value != getattr(Ask, name):
            yield from (_option(name), f"{number(value)}s" if name in _TIMES else _text(value))
    if plan.retry_wait != Ask.retry_wait:
        yield from ("--retry-wait", ",".join(f"{number(wait)}s" for wait in plan.retry_wait))
    for name in _FLAGS:
        if getattr(plan, name):
            yield _option(name)
    if not plan.probe:
        yield "--no-probe"
    for name in _LISTS:
        for value in _value(plan, name):
            yield from (_option(name), value)


def _value(plan: Plan, name: str) -> Any:
    place = _CHECKOUT.get(name, name)
    return getattr(plan.checkout if place in type(plan.checkout).model_fields else plan, place)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)


def number(value: float) -> str:
    """A number as options take it: exact, without an exponent, and without `.0`."""
    text = f"{Decimal(repr(value)):f}"
    return text.removesuffix(".0")
