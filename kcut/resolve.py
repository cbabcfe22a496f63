"""From what a person asked to a plan that can run: every usage error comes from here, before any trial."""

import contextlib
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from kcut.agents.command import NAME as COMMAND
from kcut.agents.errand import task_line
from kcut.agents.place import find_program
from kcut.agents.registry import find_adapter
from kcut.artifacts import reserve
from kcut.checkpoint import parse_spec
from kcut.components import find_component, looked_for, must_be_component, must_be_read, nearest, with_placebo
from kcut.isolation import Checkout, check_plan, inspect, plan_oracle, protected_paths, seen_at_base, take_snapshot
from kcut.isolation.extras import find_extras, is_below
from kcut.isolation.oracle import digest
from kcut.isolation.place import find_place
from kcut.isolation.reads import Reader
from kcut.isolation.snapshot import Snapshot
from kcut.model.ask import Ask
from kcut.model.component import Treatment
from kcut.model.errors import UsageFault
from kcut.model.plan import AgentPlan, CheckoutPlan, Plan, PriceList, TaskPlan
from kcut.model.run import RunRecord
from kcut.plan import SEED_LIMIT, Work
from kcut.precautions import altered, of_component, warnings
from kcut.prices import EXAMPLE, prices_of
from kcut.ready import Ready
from kcut.redact import redact
from kcut.scoreline import executables
from kcut.stats.detectable import least_provable
from kcut.stats.paths import MOST_PAIRS
from kcut.suite import read_prompt, read_spec_text, read_tasks
from kcut.toml import read_toml

#: No exponents: `1e999999999` would be computed to the last digit.
_GAIN = re.compile(r"\s*[-+]?(\d{1,9}(\.\d{0,18})?|\.\d{1,18}|\d{1,9}/\d{1,9})\s*", re.ASCII)


def resolve(ask: Ask, cwd: Path, environ: Mapping[str, str]) -> Ready:
    """Check everything that can be wrong before a trial, and return the plan. Raises UsageFault or NotReady."""
    _check_words(ask)
    checkout = inspect(cwd, base=ask.base)
    if ask.dirty == "include":
        _no_nested_repositories(checkout)
    agent = None if ask.agent is None else _agent(ask, ask.agent, environ)
    tasks: tuple[TaskPlan, ...] = ()
    if ask.tasks is not None:
        tasks = read_tasks(checkout, cwd, Path(ask.tasks), score=ask.score, spec=ask.spec, agent=agent)
    prompt = None
    if agent is not None and not tasks:
        prompt = read_prompt(cwd, ask.prompt, ask.prompt_file, where=f"--agent {agent.name}")
    line = ask.task if agent is None or prompt is None else task_line(agent, prompt)
    oracle = None if ask.oracle is None else plan_oracle(checkout, ask.oracle, cwd)
    oracles = [each for each in (oracle, *(task.oracle for task in tasks)) if each is not None]
    hidden = tuple(dict.fromkeys(oracle.place for oracle in oracles if oracle.inside))
    tracked = bool(hidden) and seen_at_base(checkout, hidden)  # then no trial may reach the commit that holds it
    include = ask.dirty == "include" and bool(checkout.dirty)
    treatment, taken = _component(checkout, ask.component, workdir=ask.workdir, include=include, control=ask.control)
    if treatment is not None and ask.isolation == "worktree":
        raise UsageFault(
            f"kcut switches {treatment.plan.name} itself, and linked worktrees share your repository",
            remedy="use --isolation sealed, the default",
        )
    nobody_else = agent is not None or ask.control == "placebo" or must_be_component(ask.component)
    if treatment is None and nobody_else:
        raise _no_component(checkout, ask.component)
    given = {field.name: getattr(ask, field.name) for field in fields(ask) if field.name in Plan.model_fields}
    given |= {
        "agent": agent,
        "prompt": prompt,
        "prices": _prices(cwd, ask),
        "task": line if ask.tasks is None else f"{ask.tasks} ({len(tasks)} task{'s' * (len(tasks) != 1)})",
        "component": ask.component if treatment is None else treatment.plan.name,
        "toggle": None if treatment is None else treatment.plan,
        "oracle": None if tasks else oracle,
        "spec": None if ask.spec is None or tasks else read_spec_text(cwd, Path(ask.spec)),
        "tasks": tasks,
        "tasks_file": ask.tasks,
        "tasks_score": ask.score if tasks else None,
        "tasks_spec": ask.spec if tasks else None,
        "score": None if tasks else ask.score,
        "seed": secrets.randbelow(SEED_LIMIT) if ask.seed is None else ask.seed,
        "checkout": CheckoutPlan(
            base=checkout.base,
            base_rev=ask.base,
            dirty=bool(checkout.dirty),
            dirty_mode=ask.dirty,
            snapshot=None if taken is None else taken.tree,
            subdir=checkout.subdir,
            isolation=ask.isolation,
            refs=ask.refs,
            history="none" if tracked else ask.history,
            hidden=hidden,
            copy_paths=ask.copy,
            link_paths=ask.link,
            workdir=ask.workdir,
        ),
    }
    plan = Plan(**given)
    if agent is not None and plan.toggle is not None:
        prompts = (work.prompt.text for work in plan.works if work.prompt is not None)
        must_be_read(checkout.root, plan.toggle, agent.name, (*prompts, *agent.args))
    check_plan(plan.checkout)
    find_place(checkout, ask.workdir)
    extras = find_extras(checkout, plan.checkout)
    if treatment is not None:
        _not_linked(treatment, extras.links)
    artifact = reserve(checkout.root, plan.component, ask.out)
    looked = () if treatment is not None else looked_for(ask.component)
    ready = Ready(plan, checkout, works(plan, checkout), artifact, treatment=treatment, looked=looked)
    found = (*warnings(ready, environ), *of_component(ready, environ))
    if taken is not None and taken.altered:
        found += (altered(taken.altered),)
    return replace(ready, warnings=found)


def _agent(ask: Ask, name: str, environ: Mapping[str, str]) -> AgentPlan:
    """The agent asked for. Raises UsageFault for one that is not known, NotReady if its CLI is not there."""
    adapter = find_adapter(name)
    if adapter.name == COMMAND:
        raise UsageFault("--agent command has no command", remedy="use --task 'kcut agent command ... -- CMD'")
    find_program(adapter, ask.agent_executable, environ)
    return AgentPlan(
        name=adapter.name,
        model=ask.model,
        effort=ask.effort,
        max_turns=ask.max_turns,
        args=ask.agent_arg,
        executable=ask.agent_executable,
    )


def _no_component(checkout: Checkout, name: str) -> UsageFault:
    """With an agent, or a placebo, there is nobody else who could switch the component."""
    near = nearest(checkout, name)
    places = ", ".join(looked_for(name)[:3])
    return UsageFault(
        f"there is no component {name} for kcut to switch (looked for {places} and such)",
        remedy=f"did you mean {' or '.join(near)}?" if near else "see: kcut components, or kcut init component NAME",
    )


def _prices(cwd: Path, ask: Ask) -> PriceList | None:
    """The prices as they are now: those of the performer, then those of the file. Raises UsageFault."""
    if ask.prices is None and ask.price is None:
        return None
    document: dict[str, Any] = {}
    if ask.prices is not None:
        document = read_toml(cwd / ask.prices, name=ask.prices, example=EXAMPLE)
        prices_of(document, ask.prices)
    if ask.price is not None:
        prices_of(ask.price, "the performers' file")
    return PriceList(path=ask.prices, models=document | dict(ask.price or {}))


def again(run: RunRecord, cwd: Path) -> Ready:
    """What a recorded run needs to go on. Raises NotReady or UsageFault if the checkout has changed since."""
    plan = run.plan
    checkout = inspect(cwd, base=plan.checkout.base_rev)
    if checkout.base != plan.checkout.base:
        raise UsageFault(
            f"the base has changed since the run began: {plan.checkout.base[:12]} then, {checkout.base[:12]} now",
            remedy=f"go on from that commit (git checkout {plan.checkout.base[:12]}), or start a new run",
        )
    if checkout.subdir != plan.checkout.subdir:
        raise UsageFault(
            f"the run was started in {plan.checkout.subdir or 'the root'} of the checkout",
            remedy="change to that folder, then resume",
        )
    include = plan.checkout.dirty_mode == "include"
    name = "" if plan.toggle is None else f"{plan.toggle.kind}:{plan.toggle.name}"
    treatment, taken = _component(
        checkout,
        name,
        workdir=plan.checkout.workdir,
        include=include and bool(checkout.dirty),
        control=plan.control,
    )
    if include and (None if taken is None else taken.tree) != plan.checkout.snapshot:
        raise UsageFault(
            "the uncommitted changes are not those that the run began with (--dirty include)",
            remedy="restore them, or start a new run",
        )
    if any(warning.code == "credential" for warning in run.warnings):
        raise UsageFault(
            "the run's commands held a credential, which kcut does not keep, so they cannot be run again",
            remedy="put the credential into an environment variable, and start a new run",
        )
    for task in plan.works:
        if task.oracle is not None and digest(Path(task.oracle.source)) != task.oracle.digest:
            raise UsageFault("the oracle has changed since the run began", remedy="restore it, or start a new run")
    _same_component(plan, treatment)
    artifact = reserve(checkout.root, plan.component, plan.out)
    return Ready(plan, checkout, works(plan, checkout), artifact, treatment=treatment)


def _component(
    checkout: Checkout, name: str, *, workdir: str | None, include: bool, control: str
) -> tuple[Treatment | None, Snapshot | None]:
    """What a name means for kcut to switch, and the uncommitted changes if trials are to have them."""

    def find(reader: Reader | None, tree: str) -> Treatment | None:
        found = find_component(checkout, name, tree, reader=reader)
        if found is None or control != "placebo":
            return found
        return with_placebo(checkout, found, tree, reader=reader)

    if not include:
        return find(None, checkout.base), None
    found: list[Treatment | None] = []
    taken = take_snapshot(checkout, workdir=workdir, look=lambda reader, tree: found.append(find(reader, tree)))
    return found[0], taken


def _not_linked(treatment: Treatment, links: tuple[str, ...]) -> None:
    """Raises UsageFault if a path of the component is to be linked into the trials."""
    path = next((path for path in sorted({*treatment.with_, *treatment.without}) if is_below(path, links)), None)
    if path is not None:
        raise UsageFault(
            f"{path} is the component's, and a link (--link) would show it to all cohorts",
            remedy="bring it with --copy instead of --link",
        )


def _same_component(plan: Plan, found: Treatment | None) -> None:
    """Raises UsageFault if the component that a recorded run switches is not what it was then."""
    toggle = plan.toggle
    if toggle is None:
        return
    if found is None or found.plan.digest != toggle.digest:
        raise UsageFault(
            f"the {toggle.kind} {toggle.name} is not what it was when the run began",
            remedy=f"restore {toggle.path}, or start a new run",
        )


def works(plan: Plan, checkout: Checkout) -> tuple[Work, ...]:
    """The tasks ready to run, with what is restored before scoring: what the score runs, and what --protect names."""
    dirty = plan.checkout.snapshot is not None
    ready = []
    for work in plan.works:
        scripts = executables(work.score) if work.score is not None else ()
        paths = protected_paths(checkout, scripts, plan.protect, plan.unprotect, dirty=dirty)
        hidden = plan.checkout.hidden  # an oracle's files come from elsewhere
        paths = tuple(path for path in paths if not any(f"{path}/".startswith(f"{place}/") for place in hidden))
        ready.append(Work(work, parse_spec(work.spec.text) if work.spec is not None else None, paths))
    return tuple(ready)


def safe_plan(plan: Plan) -> Plan:
    """The plan as it is recorded: credentials in its commands replaced by `***`."""
    tasks = tuple(task.model_copy(update=_redacted(task, ("task", "score"))) for task in plan.tasks)
    update = _redacted(plan, ("task", "score", "tasks_score", "setup")) | {"tasks": tasks}
    if plan.agent is not None:
        update["agent"] = plan.agent.model_copy(update={"args": tuple(redact(arg)[0] for arg in plan.agent.args)})
    return plan.model_copy(update=update)


def _redacted(plan: Plan | TaskPlan, names: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {name: redact(text)[0] for name in names if (text := getattr(plan, name)) is not None}
    if plan.prompt is not None:
        found["prompt"] = plan.prompt.model_copy(update={"text": redact(plan.prompt.text)[0]})
    return found


def _check_words(ask: Ask) -> None:
    if not ask.component.strip():
        raise UsageFault("--component needs a name", remedy="name what you measure, e.g. --component tidy-imports")
    if ask.tasks is None and ask.agent is None and not ask.task.strip():
        raise UsageFault("--task needs a command", remedy="e.g. --task ./run.sh")
    for option in ("component", "task", "score", "setup", "out", "base", "workdir"):
        text = getattr(ask, option) or ""
        if "\0" in text:
            raise UsageFault(f"--{option} holds a NUL byte", remedy="remove it")
        if option not in {"base", "workdir"} and any("\ud800" <= char <= "\udfff" for char in text):
            raise UsageFault(f"--{option} is not valid UTF-8", remedy="put such bytes into a script, and run that")
    if ask.score is not None and ask.spec is not None:
        raise UsageFault("--score and --spec both given", remedy="use one of them: a trial has one score")
    if ask.score is not None and not ask.score.strip():
        raise UsageFault("--score needs a command", remedy="leave it out to score by the task's own exit code")
    if ask.oracle is not None and ask.score is None and ask.spec is None:
        raise UsageFault("--oracle needs a score that uses it", remedy="add --score CMD or --spec FILE")
    if ask.rework and ask.agent is None:
        raise UsageFault("--rework needs an agent to try again", remedy="add --agent claude, or leave --rework out")
    if ask.rework_output and not ask.rework:
        raise UsageFault("--rework-output says what the agent hears of in --rework", remedy="add --rework 1")
    if ask.min_gain is not None:
        gain(ask.min_gain)
    _check_design(ask)


def _check_design(ask: Ask) -> None:
    """How the run is to be decided: options that say nothing without one another, or contradict one another."""
    running = ask.until_decided and not ask.anytime
    for option, given in (("--confirm-harm", ask.confirm_harm), ("--stop keep-unreachable", ask.stop != "decided")):
        if given and not running:
            remedy = "an e-process looks for a KEEP only" if ask.anytime else "add --until-decided"
            raise UsageFault(f"{option} needs the looks of --until-decided", remedy=remedy)
        if given and ask.objective == "cost":
            raise UsageFault(f"{option} cannot go with --objective cost", remedy="leave one of them out")
    if ask.control == "placebo" and (ask.until_decided or ask.objective == "cost"):
        option = "--objective cost" if ask.objective == "cost" else "--anytime" if ask.anytime else "--until-decided"
        raise UsageFault(
            f"--control placebo cannot go with {option}: it is success in a fixed number of trials that is compared",
            remedy="use --k" if ask.until_decided else "leave one of them out",
        )
    if ask.aa and ask.tasks is None and least_provable(ask.k, ask.k, ask.alpha) is None:
        raise UsageFault(
            f"--k {ask.k} can end in no KEEP at all, so it would be accepted whatever happens", remedy="use --k 5"
        )
    if ask.anytime and ask.objective == "cost":
        raise UsageFault("--anytime cannot go with --objective cost", remedy="use --until-decided")
    if running and ask.k > MOST_PAIRS:
        raise UsageFault(
            f"--max-k is at most {MOST_PAIRS} (got {ask.k})", remedy="for more, use --anytime, which needs no cap"
        )


def gain(text: str) -> Fraction:
    """`--min-gain` as an exact fraction between -1 and 1; raises UsageFault."""
    value = None
    if _GAIN.fullmatch(text):
        with contextlib.suppress(ZeroDivisionError):
            value = Fraction(text.strip())
    if value is None or not -1 <= value <= 1:
        raise UsageFault(
            f"--min-gain must be a number from -1 to 1, such as 0.1 or 1/3 (got {text})",
        )
    return value


def _no_nested_repositories(checkout: Checkout) -> None:
    """A repository inside the checkout is one entry to git: its files would be in no trial."""
    for path in checkout.dirty:
        if path.endswith("/") and os.path.lexists(checkout.root / path / ".git"):
            raise UsageFault(
                f"--dirty include: {path} is a repository of its own, and its files would be in no trial",
                remedy="let git ignore it and bring it with --copy, or leave --dirty include out",
            )
