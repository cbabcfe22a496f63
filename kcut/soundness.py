"""Is a run's evidence sound? Its own warnings, and tests of what a fair run does not show. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from kcut.cautions import of_trials
from kcut.model.artifact import Warn
from kcut.model.outcome import SIDES, Cohort, Outcome
from kcut.model.plan import Plan
from kcut.model.run import RunRecord
from kcut.model.trial import TrialRecord
from kcut.stats.diagnostics import OUTLYING, modified_z_scores
from kcut.stats.estimators import median
from kcut.stats.evenness import FEWEST, few_runs, outlier_limit, rates_differ
from kcut.stats.multiple import holm
from kcut.summary import compared, final_trials
from kcut.verdict import against_itself, assemble

#: Together the tests of drift and position give a false alarm in at most this share of sound runs.
ALPHA = 0.05
#: Warnings about what the verdict means, not about whether the trials can carry one.
ON_THE_RESULT = frozenset(
    {"rules-disagree", "early-keep", "harm", "suspected-harm", "heterogeneous", "placebo-as-good"}
)
#: Outliers are called so that a run of ordinary trials has one in about this share of the cases.
OUTLIER_ALPHA = 0.02
#: A component against itself is meant to do the same twice, and its benchmarks are counted, not sized.
MEANT_AGAINST_ITSELF = frozenset({"arms-identical", "few-trials", "exploratory"})
#: What is so many times its cohort's median, or that part of it, is no spread of ordinary trials, however few.
FAR = 10.0
#: Nearer to the median than this factor, nothing is called an outlier ...
NEAR = 2.0
#: ... and no time that is so near, in milliseconds: that much is the machine's own.
MACHINE_MS = 750.0

Strata = dict[tuple[int, Cohort], list[TrialRecord]]


@dataclass(frozen=True, slots=True)
class Looked:
    """What was found: the warnings, and the adjusted p of each test of drift and position that could be made.

    `trials` is how many are valid.
    """

    warnings: tuple[Warn, ...]
    tests: dict[str, float]
    trials: int


def look(run: RunRecord, attempts: Sequence[TrialRecord]) -> Looked:
    """Everything that the record alone can say against a run's evidence, whatever state the run is in."""
    valid = _in_time([trial for trial in final_trials(attempts) if trial.valid])
    tests = order_tests(run.plan, valid)
    warnings = [*_of_the_run(run, attempts), *_order(run, valid, tests), *outliers(run, valid)]
    return Looked(tuple(warnings), tests, len(valid))


def _of_the_run(run: RunRecord, attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    """What the run's artifact warns of; of a run without a verdict also what its trials show so far."""
    artifact = assemble(run, attempts)
    decision = artifact.decision
    found = list(decision.warnings) if decision is not None else []
    if decision is not None and decision.verdict == "invalid":
        found += of_trials(run.plan, compared(attempts), artifact.with_, artifact.without, artifact.placebo)
    elif run.plan.aa:
        found += _false_keeps(run.plan, attempts)
    left_out = ON_THE_RESULT | (MEANT_AGAINST_ITSELF if run.plan.aa else frozenset())
    yield from (warn for warn in found if warn.code not in left_out)


def _false_keeps(plan: Plan, attempts: Sequence[TrialRecord]) -> Iterator[Warn]:
    found = against_itself(plan, attempts)
    if not found.accept:
        yield Warn(
            code="false-keeps",
            evidence={"keeps": found.keeps, "runs": found.runs, "bound": found.bound},
            advice="something else than the component tells the cohorts apart: look at what the task and the score "
            "share between trials",
        )


def _in_time(trials: Sequence[TrialRecord]) -> list[TrialRecord]:
    """In the order that they were started in; in that of the plan where the record does not say."""
    return sorted(trials, key=lambda trial: (trial.started_at, trial.key.pair, trial.position))


def strata(plan: Plan, trials: Sequence[TrialRecord]) -> Strata:
    """The trials of each task and cohort, in their order: they alone are to have the same chance to pass.

    Tasks take turns, and a component may help: neither is a change in time.
    """
    found: Strata = {}
    for trial in trials:
        found.setdefault((trial.key.pair % len(plan.works), trial.key.cohort), []).append(trial)
    return found


def order_tests(plan: Plan, trials: Sequence[TrialRecord]) -> dict[str, float]:
    """The p of each test of drift and position, adjusted for their number (Holm); none of those that say nothing.

    `trials` are the valid ones in their order. A test looks within tasks and cohorts. Runs of equal outcomes that are
    too few: of each cohort, and of both. The early half against the late half (the middle one of an odd number left
    out), and the first of a pair against the others, in all cohorts.
    """
    groups = strata(plan, trials)
    sequences = {key: [_passed(trial) for trial in group] for key, group in groups.items()}
    found: dict[str, float | None] = {
        f"runs {cohort}": few_runs(sequence for (_, of), sequence in sequences.items() if of is cohort)
        for cohort in plan.cohorts
    }
    found["runs"] = few_runs(sequences.values())
    found["halves"] = rates_differ([_split(*_halves(group)) for group in groups.values()])
    found["position"] = rates_differ([_split(*_positions(group)) for group in groups.values()])
    known = {name: p for name, p in found.items() if p is not None}
    return dict(zip(known, holm(list(known.values())), strict=True))


def _passed(trial: TrialRecord) -> bool:
    return trial.outcome is Outcome.PASS


def _halves(group: Sequence[TrialRecord]) -> tuple[Sequence[TrialRecord], Sequence[TrialRecord]]:
    half = len(group) // 2
    return group[:half], group[len(group) - half :]


def _positions(group: Sequence[TrialRecord]) -> tuple[Sequence[TrialRecord], Sequence[TrialRecord]]:
    return [trial for trial in group if trial.position == 0], [trial for trial in group if trial.position != 0]


def _split(one: Sequence[TrialRecord], other: Sequence[TrialRecord]) -> tuple[int, int, int, int]:
    return sum(map(_passed, one)), len(one), sum(map(_passed, other)), len(other)


def _order(run: RunRecord, trials: Sequence[TrialRecord], tests: dict[str, float]) -> Iterator[Warn]:
    """Drift and the effect of the place in a pair, if the tests show them."""
    groups = strata(run.plan, trials)
    drift = {name: p for name, p in tests.items() if name != "position"}
    family = f"Holm, {len(tests)} tests"
    if drift and min(drift.values()) <= ALPHA:
        yield Warn(
            code="drift",
            evidence={"p": min(drift.values()), "adjusted": family}
            | _shares(groups, _halves, "early", "late")
            | {"tests": drift},
            advice=_against_drift(run),
        )
    if tests.get("position", 1.0) <= ALPHA:
        yield Warn(
            code="position",
            evidence={"p": tests["position"], "adjusted": family} | _shares(groups, _positions, "first", "second"),
            advice=_against_position(run.plan),
        )


_Parts = Callable[[Sequence[TrialRecord]], tuple[Sequence[TrialRecord], Sequence[TrialRecord]]]


def _shares(groups: Strata, parts: _Parts, one: str, other: str) -> dict[str, Any]:
    """How many of each part passed: `{"early": {"with": "9/10", ...}, "late": ...}`."""
    cohorts = dict.fromkeys((*SIDES, *(cohort for _, cohort in groups)))
    counts = {name: {cohort.value: [0, 0] for cohort in cohorts} for name in (one, other)}
    for (_, cohort), group in groups.items():
        for name, part in zip((one, other), parts(group), strict=True):
            counts[name][cohort.value][0] += sum(map(_passed, part))
            counts[name][cohort.value][1] += len(part)
    return {name: {of: f"{x}/{n}" for of, (x, n) in count.items()} for name, count in counts.items()}


def _against_drift(run: RunRecord) -> str:
    seen = f"something changed while the run went on; kcut show {run.run_id} lists its trials in order"
    if run.plan.jobs > 1:
        return f"{seen}: see whether it changes with --jobs 1 too, then run again"
    return f"{seen}: find what changed (provider, cache, machine), then run again"


def _against_position(plan: Plan) -> str:
    if plan.jobs > 1:
        return "trials that run at once get in each other's way: run again with --jobs 1"
    if plan.checkout.link_paths:
        links = " ".join(f"--copy {path}" for path in plan.checkout.link_paths[:3])
        return f"what a trial writes through --link reaches the next one: run again with {links} instead"
    if plan.checkout.isolation == "worktree":
        return "--isolation worktree shares your repository between trials: run again with --isolation sealed"
    if not plan.isolate_home:
        return "a trial leaves something to the next one (a cache, a server): run again with --isolate-home"
    return "a trial leaves something to the next one: look for what outlives it (a server, a folder, a quota)"


def outliers(run: RunRecord, trials: Sequence[TrialRecord]) -> Iterator[Warn]:
    """Trials whose time or cost stands apart from the others of their task and cohort; `trials` are valid."""
    samples = [sample for group in strata(run.plan, trials).values() for sample in _samples(group)]
    found: dict[str, list[dict[str, Any]]] = {}
    for sample in samples:
        for trial, value, middle, z in _apart(sample.values, OUTLIER_ALPHA / len(samples)):
            if abs(value - middle) >= sample.least:
                row = {"trial": str(trial.key), sample.unit: value, "median": middle, "z": round(z, 1)}
                found.setdefault(sample.name, []).append(row)
    if found:
        yield Warn(code="outliers", evidence=dict(found), advice=_against_outliers(run, found))


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is measured of the trials of one task and cohort; what is nearer to the median than `least` is near."""

    name: str
    unit: str
    values: list[tuple[TrialRecord, float]]
    least: float


def _samples(group: Sequence[TrialRecord]) -> Iterator[_Sample]:
    """Times and costs, where there are enough. Times and costs spread by factors: those of 0 say nothing."""
    # tasks that ran into their time limit are told apart already
    times = [(trial, trial.wall_ms) for trial in group if not trial.timed_out]
    costs = [(trial, trial.usage.cost_usd) for trial in group if trial.usage.cost_usd is not None]
    for name, unit, values, least in (("time", "ms", times, MACHINE_MS), ("cost", "usd", costs, 0.0)):
        if len(values) >= FEWEST and all(value > 0 for _, value in values):
            yield _Sample(name, unit, values, least)


def _apart(
    values: Sequence[tuple[TrialRecord, float]], level: float
) -> Iterator[tuple[TrialRecord, float, float, float]]:
    """The trials that stand apart, each with its value, the median, and the modified z-score of its logarithm."""
    middle = median([value for _, value in values]) or 0.0
    scores = modified_z_scores([log(value) for _, value in values]) or [0.0] * len(values)
    limit = outlier_limit(len(values), level)
    for (trial, value), z in zip(values, scores, strict=True):
        factor = max(value / middle, middle / value)
        if factor >= NEAR and abs(z) > (OUTLYING if factor >= FAR else limit):
            yield trial, value, middle, z


def _against_outliers(run: RunRecord, found: dict[str, list[dict[str, Any]]]) -> str:
    trial = next(iter(found.values()))[0]["trial"]
    if run.plan.logs:
        return f"see what {trial} did: .claude/eval/runs/{run.run_id} holds its logs"
    if run.plan.keep == "all":
        return f"see what {trial} did: kcut show {run.run_id} names its worktree"
    return f"see what {trial} did (kcut show {run.run_id}); --logs would keep what it says"
