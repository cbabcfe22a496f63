"""What a reader of the verdict should know: warnings, each with the measured evidence and one next action. Pure."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from kcut.decision import VoidBalance, beats_placebo, trials_needed, void_balance, weights_agree
from kcut.model.artifact import CohortSummary, Decision, TaskResult, Verdict, Warn
from kcut.model.outcome import SIDES, Cohort, Void
from kcut.model.plan import Plan
from kcut.model.trial import TrialRecord
from kcut.rates import Point, rate_of, saturation, trials_of
from kcut.sizing import of_evidence
from kcut.stats.heterogeneity import homogeneity, simpson
from kcut.stats.intervals import newcombe
from kcut.summary import cohorts_of, final_trials, of_cohort

#: What to do about trials that stayed void, by the reason.
VOID_ADVICE = {
    Void.WORKTREE: "mend what git says about the worktree (kcut show last), then run again",
    Void.SETUP: "make --setup succeed in a fresh worktree, then run again",
    Void.STARTUP: "run the task once by hand to see why the agent does not start",
    Void.AUTH: "log the agent's command line in, or give it an API key, then run again",
    Void.PERMISSIONS: "let the agent run without permission prompts, then run again",
    Void.RATE_LIMIT: "run again with fewer --jobs or a longer --retry-wait",
    Void.OVERLOADED: "run again when the provider is less busy",
    Void.QUOTA: "run again when the provider's quota has been renewed",
    Void.SERVER_ERROR: "run again when the provider's servers are well",
    Void.CONNECTION: "check the network, then run again",
    Void.PROMPT_TOO_LONG: "shorten the prompt or the component, then run again",
    Void.MANIPULATION: "check how the task switches the component, then run again",
    Void.INTERRUPTED: "find out what outside kcut ended the agent, then run again",
    Void.HARNESS: "see what went wrong: kcut show last",
}
#: Voids by which a component can keep an agent from starting.
BLOCKING = frozenset({Void.STARTUP, Void.PROMPT_TOO_LONG})
#: Effects that differ between tasks this significantly are said to differ.
DIFFERS = 0.05
#: How a shell says that it could not run a command.
NOT_RUN = frozenset({126, 127})


def void_advice(voids: dict[str, int], *, jobs: int = 2) -> str:
    """What to do about the commonest reason. `jobs` is how many trials ran at once."""
    commonest = max(sorted(voids), key=lambda reason: voids[reason])
    if commonest == Void.RATE_LIMIT and jobs == 1:
        return "run again with a longer --retry-wait"
    return VOID_ADVICE.get(Void(commonest), VOID_ADVICE[Void.HARNESS])


def blocks_start(attempts: Sequence[TrialRecord]) -> dict[str, int]:
    """The void attempts WITH that say the agent could not start, by reason; empty if WITHOUT has such ones too."""
    blocked = {
        cohort: Counter(attempt.reason.value for attempt in of_cohort(attempts, cohort) if attempt.reason in BLOCKING)
        for cohort in SIDES
    }
    return {} if blocked[Cohort.WITHOUT] else dict(sorted(blocked[Cohort.WITH].items()))


def of_run(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Warnings that hold whatever the verdict is, an invalid one too."""
    blocked = blocks_start(attempts)
    if blocked:
        yield Warn(
            code="component-blocks-start",
            evidence={"with": blocked, "without": {}},
            advice="the component itself may keep the agent from starting: run the agent once by hand with it",
        )
    yield from _task_not_run(attempts)
    yield from _timeouts(attempts)
    yield from _score_edited(attempts)
    yield from _models_differ(attempts)


def of_trials(
    plan: Plan,
    attempts: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    placebo: CohortSummary | None = None,
) -> Iterator[Warn]:
    """Warnings about voids, cohorts that did the same, and tasks on which nothing can be gained.

    `attempts` are those of WITH and WITHOUT.
    """
    cohorts = {"with": with_, "without": without} | ({} if placebo is None else {"placebo": placebo})
    together = sum((Counter(cohort.voids) for cohort in cohorts.values()), Counter[str]())
    if together:
        yield Warn(
            code="voids",
            evidence={name: cohort.voids for name, cohort in cohorts.items()},
            advice=f"{_stayed(cohorts)} stayed void: {void_advice(dict(together), jobs=plan.jobs)}",
        )
    balance = void_balance(plan, attempts)
    yield from imbalance(balance, "run again")
    if plan.toggle is None:
        yield from _arms_identical(attempts)
    if plan.objective == "success" or saturation(with_, without) == "failed":
        yield from saturated(with_, without)


def of_verdict(
    plan: Plan,
    attempts: Sequence[TrialRecord],
    with_: CohortSummary,
    without: CohortSummary,
    *,
    point: Point,
    decision: Decision,
    tasks: Sequence[TaskResult] = (),
    placebo: CohortSummary | None = None,
) -> Iterator[Warn]:
    """Warnings about what the two rules can make of these trials. The run is valid."""
    yield from of_trials(plan, attempts, with_, without, placebo)
    if (point.passed, decision.verdict) in {(True, "cut"), (False, "keep")}:
        other = "evidence" if plan.rule == "point" else "point"
        said = "pass" if point.passed else "fail"
        yield Warn(
            code="rules-disagree",
            evidence={"point": said, "evidence": decision.verdict, "rule": plan.rule},
            advice=f"the point rule says {said}, the evidence {decision.verdict}, and the exit code follows the "
            f"{plan.rule} rule: choose --rule {other} to follow the other",
        )
    yield from of_tasks(tasks)
    yield from _weights(plan, tasks, decision)
    upset = void_balance(plan, attempts).upset
    yield from of_evidence(plan, attempts, with_, without, decision, upset=upset, tasks=tasks)


def of_placebo(
    plan: Plan, with_: CohortSummary, placebo: CohortSummary, decision: Decision, *, passed: bool
) -> Iterator[Warn]:
    """A component that passed, though the trials do not show that it does better than a placebo."""
    found = decision.placebo
    if not passed or found is None or beats_placebo(plan, found):
        return
    on, control = (Fraction(str(cohort.success_rate or 0)) for cohort in (with_, placebo))
    needed = trials_needed(plan, on, control)
    valid = min(trials_of(with_), trials_of(placebo)) // len(plan.works)
    if control >= on:
        said = "text of the same length helps as much: it may be the length or the attention and not the content"
        then = "change what it says, and see whether that matters"
    else:
        said = "the trials do not show that it helps more than text of the same length"
        then = "take a task on which its content matters more"
    if needed is not None and needed > valid:
        then = f"run again with --k {needed} to tell them apart"
    yield Warn(
        code="placebo-as-good",
        evidence={
            "with": _share(with_),
            "placebo": _share(placebo),
            "difference": found.difference,
            "interval": None if found.interval is None else list(found.interval),
            "p": found.p_value,
        },
        advice=f"{said}; {then}",
    )


def imbalance(balance: VoidBalance, then: str) -> Iterator[Warn]:
    """Voids that may have made the difference; `then` is what to do once their cause is mended."""
    if balance.upset:
        yield Warn(
            code="void-imbalance",
            evidence={
                "withTrials": balance.with_trials,
                "withoutTrials": balance.without_trials,
                "p": balance.p,
                "flips": balance.flips,
            },
            advice=f"trials that were void may have made the difference: mend their cause, then {then}",
        )


def _stayed(cohorts: Mapping[str, CohortSummary]) -> str:
    """`2 WITH trials (quota 2) and 1 WITHOUT trial (auth 1)`."""
    parts = []
    for name, cohort in cohorts.items():
        number = sum(cohort.voids.values())
        if number:
            reasons = ", ".join(f"{reason} {times}" for reason, times in cohort.voids.items())
            parts.append(f"{number} {name.upper()} trial{'s' * (number != 1)} ({reasons})")
    return " and ".join(parts)


def _valid(attempts: Sequence[TrialRecord], cohort: Cohort) -> list[TrialRecord]:
    return [trial for trial in final_trials(of_cohort(attempts, cohort)) if trial.valid]


def _task_not_run(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """In every trial of a cohort the shell could not run the task: a wrong name, not committed, not executable."""
    broken = {}
    for cohort in cohorts_of(attempts):
        exits = [trial.task_exit for trial in _valid(attempts, cohort)]
        if exits and all(code in NOT_RUN for code in exits):
            broken[cohort.value] = {str(code): exits.count(code) for code in sorted(NOT_RUN) if code in exits}
    if broken:
        where = "no trial" if len(broken) == len(cohorts_of(attempts)) else f"no {next(iter(broken)).upper()} trial"
        yield Warn(
            code="task-not-run",
            evidence=broken,
            advice=f"{where} could run the task (exit 126: not executable, 127: not found): check its name, "
            "that it is committed and executable; --logs keeps what it says",
        )


def _timeouts(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Trials that ran into --timeout."""
    late = {
        cohort.value: sum(trial.timed_out for trial in _valid(attempts, cohort)) for cohort in cohorts_of(attempts)
    }
    if any(late.values()):
        yield Warn(
            code="timeouts",
            evidence=late,
            advice=f"--timeout ended {sum(late.values())} task{'s' * (sum(late.values()) != 1)}: "
            "if that was too early, raise it",
        )


def _score_edited(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Every trial of a cohort had changed what the score runs: perhaps the task is meant to."""
    edited = {}
    for cohort in cohorts_of(attempts):
        valid = _valid(attempts, cohort)
        if valid and all(trial.touched for trial in valid):
            edited[cohort.value] = sorted({path for trial in valid for path in trial.touched})
    if edited:
        files = sorted({path for paths in edited.values() for path in paths})
        options = " ".join(f"--unprotect {shlex.quote(path)}" for path in files[:3])
        yield Warn(
            code="score-edited",
            evidence=edited,
            advice=f"if the task is meant to change what the score runs, add {options}",
        )


def _models_differ(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """The trials did not all run the same agent and model, so the component is not all that differed."""
    seen: dict[str, dict[str, list[str]]] = {}
    for cohort in cohorts_of(attempts):
        valid = [trial for trial in of_cohort(attempts, cohort) if trial.valid]
        seen[cohort.value] = {
            "model": sorted({trial.usage.model for trial in valid if trial.usage.model}),
            "agentVersion": sorted({trial.usage.agent_version for trial in valid if trial.usage.agent_version}),
        }
    if any(len({each for found in seen.values() for each in found[what]}) > 1 for what in ("model", "agentVersion")):
        yield Warn(
            code="models-differ",
            evidence=seen,
            advice="the trials ran different models or agent versions: pin them, then run again",
        )


def _arms_identical(attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """In every pair both trials left the same files and exit codes behind."""
    left: dict[int, dict[Cohort, tuple[str | None, int | None, int | None]]] = {}
    for trial in final_trials(attempts):
        if trial.valid:
            left.setdefault(trial.key.pair, {})[trial.key.cohort] = (trial.tree, trial.task_exit, trial.score_exit)
    pairs = [pair for pair in left.values() if len(pair) == len(SIDES)]
    if pairs and all(pair[Cohort.WITH] == pair[Cohort.WITHOUT] and pair[Cohort.WITH][0] for pair in pairs):
        yield Warn(
            code="arms-identical",
            evidence={"pairs": len(pairs)},
            advice="the cohorts may be one and the same: check that the task reads HARNESS_COMPONENT_ENABLED",
        )


def saturated(with_: CohortSummary, without: CohortSummary) -> Iterator[Warn]:
    """The task is too easy or too hard to show a benefit."""
    evidence = {"with": _share(with_), "without": _share(without)}
    full = saturation(with_, without)
    if full == "passed":
        advice = "the task is too easy to show a benefit: make it, or its score, harder"
        yield Warn(code="saturated", evidence=evidence, advice=advice)
    elif full == "failed":
        advice = "the task is too hard to show a benefit: make it easier, or check that its score can pass"
        yield Warn(code="saturated", evidence=evidence, advice=advice)
    elif rate_of(without) == 1 and not _worse(with_, without):
        advice = "WITHOUT passed every trial, so there is nothing left to gain: make the task harder"
        yield Warn(code="without-saturated", evidence=evidence, advice=advice)


def _worse(with_: CohortSummary, without: CohortSummary) -> bool:
    """True if the whole interval of the gain lies below 0: then it is harm that matters."""
    interval = newcombe(with_.successes, trials_of(with_), without.successes, trials_of(without))
    return interval is not None and interval[1] < 0


def _share(cohort: CohortSummary) -> str:
    return f"{cohort.successes}/{trials_of(cohort)}"


def _weights(plan: Plan, tasks: Sequence[TaskResult], decision: Decision) -> Iterator[Warn]:
    """Tasks of different weights, where the tests, which know none, and the weighted gain do not say the same."""
    tested = decision.p_value is not None and decision.alpha is not None and decision.p_value <= decision.alpha
    cut = decision.p_value_cut is not None and decision.p_value_cut <= plan.beta
    if decision.verdict != "inconclusive" or len({task.weight for task in tasks}) < 2:
        return
    found: list[Verdict] = ["keep"] if tested else ["cut"] if cut else []
    if found and not weights_agree(plan, tasks, found[0], decision.interval):
        yield Warn(
            code="weights-decide",
            evidence={task.name: task.weight for task in tasks},
            advice="the tasks by themselves and their weighted mean do not say the same: run each task with more "
            "trials, or weigh them alike",
        )


def of_tasks(tasks: Sequence[TaskResult]) -> Iterator[Warn]:
    """Tasks that do not agree: a gain that pooling would turn round, or gains that differ from task to task."""
    tables = [
        (task.with_.successes, trials_of(task.with_), task.without.successes, trials_of(task.without))
        for task in tasks
    ]
    if len(tables) < 2:
        return
    pooled = simpson(tables)
    if pooled is not None and pooled.reversed:
        yield Warn(
            code="simpson",
            evidence={task.name: task.difference for task in tasks},
            advice="all tasks together point the other way than the tasks by themselves: voids fell unevenly on the "
            "tasks, so read the table per task",
        )
    found = homogeneity(tables)
    if found is not None and found.p < DIFFERS:
        yield Warn(
            code="heterogeneous",
            evidence={"p": found.p, **{task.name: task.difference for task in tasks}},
            advice="the component helps on some tasks and not on others: read the table per task before you decide "
            "for all",
        )
