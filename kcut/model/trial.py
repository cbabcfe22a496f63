"""What one trial leaves behind, as frozen data."""

from dataclasses import dataclass, field

from kcut.model.outcome import Cohort, Outcome, Void

#: The phases of a trial in their order; each is timed in milliseconds.
PHASES = ("open", "apply", "setup", "task", "freeze", "reveal", "score", "close")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one trial or the sum over a cohort."""

    input: int
    output: int
    cache_read: int = 0
    cache_creation: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_creation + other.cache_creation,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What a trial reported of its own economics. Unknown is None, never 0."""

    cost_usd: float | None = None
    tokens: Tokens | None = None
    turns: int | None = None
    duration_ms: float | None = None
    is_error: bool | None = None
    model: str | None = None
    agent_version: str | None = None


@dataclass(frozen=True, slots=True)
class TrialKey:
    """Which trial: its pair (from 0; also the index within the cohort, HARNESS_TRIAL) and its cohort."""

    pair: int
    cohort: Cohort

    def __str__(self) -> str:
        return f"{self.cohort.value} #{self.pair}"


@dataclass(frozen=True, slots=True)
class TrialRecord:
    """One finished attempt at a trial. A void attempt may be followed by another of the same key and seed.

    `position` is 0 for the trial that its pair started first, 1 for the next; `attempt` counts from 1.
    Times are milliseconds. `tree` is the hash of the worktree after the task, None if it could not be read.
    `touched` are the protected files that the trial had changed; `failing` the ids of the spec's criteria
    that failed; `ended` the number of processes that had to be ended; `notes` what a person should hear.

    Of an agent that kcut ran: `reached` and `used` say whether the component reached it and how often it was used,
    `tamper` how many of its events mention the oracle, `retries` how often it asked its provider again; None where
    nothing told. With rework the outcome is that of the first attempt; `rounds` more were made, `resolved` says
    whether the last one passed, `rework_cost_usd` what they cost, and `repeated` names criteria that failed in the
    same way twice.
    """

    key: TrialKey
    attempt: int
    position: int
    seed: int
    outcome: Outcome
    reason: Void | None = None
    late: bool = False
    task_exit: int | None = None
    score_exit: int | None = None
    score_broken: bool = False
    timed_out: bool = False
    wall_ms: float = 0.0
    phases_ms: dict[str, float] = field(default_factory=dict)
    usage: Usage = Usage()
    agent: str | None = None
    tree: str | None = None
    touched: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    ended: int = 0
    retry_after_s: float | None = None
    kept: str | None = None
    notes: tuple[str, ...] = ()
    started_at: str = ""
    reached: bool | None = None
    used: int | None = None
    tamper: int | None = None
    retries: int | None = None
    rounds: int = 0
    resolved: bool | None = None
    rework_cost_usd: float | None = None
    repeated: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """True if the trial counts in a rate."""
        return self.outcome is not Outcome.VOID

    @property
    def spent_usd(self) -> float | None:
        """What the attempt cost with its rework; None if that is unknown."""
        if self.usage.cost_usd is None or (self.rounds and self.rework_cost_usd is None):
            return None
        return self.usage.cost_usd + (self.rework_cost_usd or 0.0)
