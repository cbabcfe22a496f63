"""The verdict artifact, `.claude/eval/benchmarks/<slug>.json`: the one format that other programs read.

Keys are camelCase in the file and snake_case here. A file that holds only the keys of the first published
format (`component, k, task, score, with, without, pass, reason, ts`) validates; what it lacks is None.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

SCHEMA_VERSION = 1

Verdict = Literal["keep", "cut", "inconclusive", "invalid"]
Rate = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
Money = Annotated[float, Field(ge=0)]


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


class CohortSummary(Record):
    """One cohort. `k` trials were planned, `valid` count; rates are over the valid ones, None at 0.

    `pass_at` (pass@k observed) is successes >= 1; `pass_caret` (pass^k observed) is valid = k = successes.
    Costs are US dollars and None as soon as one valid trial's cost is unknown. Medians are over valid trials.
    `voids` counts trials that stayed void by reason; `void_attempts` every void attempt.
    """

    k: Count
    valid: Count | None = None
    successes: Count
    pass_at: bool
    pass_caret: bool
    success_rate: Rate | None
    rate_interval: tuple[Rate, Rate] | None = None
    pass_at_k: Rate | None = None
    pass_hat_k: Rate | None = None
    total_cost_usd: Money | None = None
    mean_cost_per_trial: Money | None = None
    cost_per_success: Money | None = None
    tokens: TokenCounts | None = None
    median_wall_ms: float | None = None
    median_turns: float | None = None
    voids: dict[str, Count] = Field(default_factory=dict)
    void_attempts: Count = 0
    void_cost_usd: Money | None = None


class Warn(Record):
    """A warning as a value: its code, the measured evidence, and one next action."""

    code: str
    evidence: dict[str, Any] = Field(default_factory=dict)
    advice: str


class Decision(Record):
    """What the evidence supports. `difference` is with rate minus without rate, `interval` its 95 % interval."""

    verdict: Verdict
    method: Literal["boschloo", "cmh", "sequential", "eprocess"] | None = None
    alpha: float | None = None
    delta: float | None = None
    p_value: float | None = None
    p_value_cut: float | None = None
    statistic: float | None = None
    difference: float | None = None
    interval: tuple[float, float] | None = None
    needed_k: int | None = None
    pairs: Count | None = None
    warnings: tuple[Warn, ...] = ()


class Base(Record):
    """The commit the trials started from; `dirty` if the checkout held uncommitted changes."""

    commit: str
    dirty: bool


class Order(Record):
    """The seed that flipped the order within each pair."""

    seed: int


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

    open: float = 0
    apply: float = 0
    setup: float = 0
    task: float = 0
    freeze: float = 0
    reveal: float = 0
    score: float = 0
    close: float = 0


class TrialRow(Record):
    """One trial: its last attempt, and how many attempts it took."""

    pair: Count
    cohort: Literal["with", "without"]
    index: Count
    position: Count
    attempts: Count
    outcome: Literal["pass", "fail", "void"]
    reason: str | None = None
    late: bool = False
    task_exit: int | None = None
    score_exit: int | None = None
    wall_ms: float
    phases_ms: PhaseTimes
    cost_usd: Money | None = None
    turns: Count | None = None
    tokens: TokenCounts | None = None
    timed_out: bool = False


class Artifact(Record):
    """The verdict on one component, with the evidence it stands on. `pass` is the verdict of `rule`."""

    schema_version: int | None = None
    component: str
    k: Count
    task: str
    score: str | None = None
    with_: CohortSummary = Field(alias="with")
    without: CohortSummary
    pass_: bool = Field(alias="pass", strict=True)
    reason: str
    rule: Literal["point", "evidence"] | None = None
    decision: Decision | None = None
    run_id: str | None = None
    ts: str
    base: Base | None = None
    component_digest: str | None = None
    isolation: Literal["sealed", "worktree", "clone"] | None = None
    order: Order | None = None
    environment: Environment | None = None
    trials: tuple[TrialRow, ...] = ()
    max_k: int | None = None
