"""The verdict artifact, `.claude/eval/benchmarks/<slug>.json`: the one format that other programs read.

Keys are camelCase in the file and snake_case here. A file that holds only the keys of the first published
format (`component, k, task, score, with, without, pass, reason, ts`) validates; what it lacks is None.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, Strict
from pydantic.alias_generators import to_camel

SCHEMA_VERSION = 1

Verdict = Literal["keep", "cut", "inconclusive", "invalid"]


def _unboxed(value: object) -> object:
    """A whole number as JSON writers may put it, 3.0, as what it is; beyond 2**53 such a one is not told exactly."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53:
        return int(value)
    return value


# strict: text and booleans are no numbers, and a number is no boolean
Flag = Annotated[bool, Strict()]
Whole = Annotated[int, Strict(), BeforeValidator(_unboxed)]
Count = Annotated[int, Strict(), Field(ge=0, le=2**53), BeforeValidator(_unboxed)]
Real = Annotated[float, Strict()]
Rate = Annotated[Real, Field(ge=0, le=1)]
Money = Annotated[Real, Field(ge=0)]


class Record(BaseModel):
    """Base: frozen, camelCase in the file, no NaN, unknown keys ignored so that newer files stay readable."""

    model_config = ConfigDict(
        frozen=True, alias_generator=to_camel, populate_by_name=True, allow_inf_nan=False, extra="ignore"
    )

    def document(self) -> dict[str, Any]:
        """The JSON document: plain data, keys as in the file."""
        return self.model_dump(mode="json", by_alias=True)


class TokenCounts(Record):
    """Sums over the valid trials of a cohort, or the counts of one trial."""

    input: Count
    output: Count
    cache_read: Count
    cache_creation: Count


def _absent(value: object) -> bool:
    return value is None or value == ()


def when_known(default: Any = None) -> Any:
    """A field whose key is written only if it has a value: keys of designs that most runs do not use."""
    return Field(default=default, exclude_if=_absent)


class ReworkFinding(Record):
    """What came of further attempts in a cohort: trials that made any, their rounds, and how many passed then."""

    trials: Count
    rounds: Count
    resolved: Count


class TreatmentFinding(Record):
    """How a component that kcut switched reached the agent: in how many valid trials of a cohort the agent showed it,
    and in how many WITH (of `trials_with` that tell) it was used. None where no agent tells.
    """

    kind: str
    path: str
    shown_with: Count | None = None
    shown_without: Count | None = None
    used_with: Count | None = None
    trials_with: Count | None = None


class CohortSummary(Record):
    """One cohort. `k` trials were planned, `valid` count; rates are over the valid ones, None at 0.

    `pass_at` (pass@k observed) is successes >= 1; `pass_caret` (pass^k observed) is valid = k = successes.
    Costs are US dollars and None as soon as one valid trial's cost is unknown. Medians are over valid trials.
    `voids` counts trials that stayed void by reason; `void_attempts` every void attempt.
    """

    k: Count
    valid: Count | None = None
    successes: Count
    pass_at: Flag
    pass_caret: Flag
    success_rate: Rate | None
    rate_interval: tuple[Rate, Rate] | None = None
    pass_at_k: Rate | None = None
    pass_hat_k: Rate | None = None
    total_cost_usd: Money | None = None
    mean_cost_per_trial: Money | None = None
    cost_per_success: Money | None = None
    tokens: TokenCounts | None = None
    median_wall_ms: Real | None = None
    median_turns: Real | None = None
    voids: dict[str, Count] = Field(default_factory=dict)
    void_attempts: Count = 0
    void_cost_usd: Money | None = None
    median_cost_usd: Money | None = when_known()
    median_tokens: float | None = when_known()
    rework: ReworkFinding | None = when_known()


class Warn(Record):
    """A warning as a value: its code, the measured evidence, and one next action."""

    code: str
    evidence: dict[str, Any] = Field(default_factory=dict)
    advice: str


class CostFinding(Record):
    """What the cohorts' costs say: `ratio` is WITH over WITHOUT (Hodges-Lehmann), `interval` its interval,
    which holds the true ratio with a chance of `coverage`.

    `lower` and `upper` are one-sided bounds of the ratio at the run's alpha each, `non_inferior` True if success is
    shown to be no worse by more than `margin`.
    """

    ratio: float | None = None
    interval: tuple[float, float] | None = None
    coverage: float | None = None
    lower: float | None = None
    upper: float | None = None
    margin: float | None = None
    non_inferior: bool | None = None


class PlaceboFinding(Record):
    """WITH against a placebo: the difference of the success rates with its 95 % interval, and the exact one-sided p
    of "WITH passes more often".
    """

    difference: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None


class Decision(Record):
    """What the evidence supports. `difference` is with rate minus without rate, `interval` its 95 % interval.

    With several tasks the difference is the mean of the tasks' differences. `statistic` is that of a run that
    stopped as soon as it was clear; `beta` the error of its CUT; `after` how many trials ended after the decision
    and do not count.
    """

    verdict: Verdict
    method: Literal["boschloo", "cmh", "sequential", "eprocess"] | None = None
    alpha: Real | None = None
    delta: Real | None = None
    p_value: Real | None = None
    p_value_cut: Real | None = None
    statistic: Real | None = None
    difference: Real | None = None
    interval: tuple[Real, Real] | None = None
    needed_k: Whole | None = None
    pairs: Count | None = None
    beta: float | None = when_known()
    after: Count | None = when_known()
    objective: Literal["success", "cost"] | None = when_known()
    cost: CostFinding | None = when_known()
    placebo: PlaceboFinding | None = when_known()
    warnings: tuple[Warn, ...] = ()


class TaskResult(Record):
    """One task of several: its cohorts, and the difference of their rates with its 95 % interval."""

    name: str
    weight: float
    task: str
    score: str | None = None
    with_: CohortSummary = Field(alias="with")
    without: CohortSummary
    difference: float | None = None
    interval: tuple[float, float] | None = None


class Base(Record):
    """The commit the trials started from; `dirty` if the checkout held uncommitted changes."""

    commit: str
    dirty: Flag


class Order(Record):
    """The seed that flipped the order within each pair."""

    seed: Whole


class Environment(Record):
    """What ran: versions of kcut, git, Python and, where known, of the agent and its model."""

    kcut: str
    git: str
    python: str
    platform: str
    agent: str | None = None
    agent_version: str | None = None
    model: str | None = None


class PhaseTimes(Record):
    """Milliseconds spent in each phase of a trial."""

    open: Real = 0
    apply: Real = 0
    setup: Real = 0
    task: Real = 0
    freeze: Real = 0
    reveal: Real = 0
    score: Real = 0
    close: Real = 0


class TrialRow(Record):
    """One trial: its last attempt, and how many attempts it took."""

    pair: Count
    cohort: Literal["with", "without", "placebo"]
    index: Count
    position: Count
    attempts: Count
    outcome: Literal["pass", "fail", "void"]
    reason: str | None = None
    late: Flag = False
    task_exit: Whole | None = None
    score_exit: Whole | None = None
    wall_ms: Real
    phases_ms: PhaseTimes
    cost_usd: Money | None = None
    turns: Count | None = None
    tokens: TokenCounts | None = None
    timed_out: Flag = False
    task: str | None = when_known()
    used: Count | None = when_known()
    tamper: Count | None = when_known()
    retries: Count | None = when_known()
    rounds: Count | None = when_known()
    resolved: Flag | None = when_known()


class Artifact(Record):
    """The verdict on one component, with the evidence it stands on. `pass` is the verdict of `rule`.

    `placebo` is the cohort that had irrelevant text of the same length in the component's place; it decides nothing.
    """

    schema_version: Whole | None = None
    component: str
    k: Count
    task: str
    score: str | None = None
    with_: CohortSummary = Field(alias="with")
    without: CohortSummary
    pass_: Flag = Field(alias="pass")
    reason: str
    rule: Literal["point", "evidence"] | None = None
    decision: Decision | None = None
    run_id: str | None = None
    ts: str
    base: Base | None = None
    component_digest: str | None = None
    treatment: TreatmentFinding | None = when_known()
    isolation: Literal["sealed", "worktree", "clone"] | None = None
    order: Order | None = None
    environment: Environment | None = None
    placebo: CohortSummary | None = when_known()
    tasks: tuple[TaskResult, ...] = when_known(())
    trials: tuple[TrialRow, ...] = ()
    max_k: Whole | None = None
