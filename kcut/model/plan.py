"""What a run is going to do: resolved once, recorded with the run, unchanged by a resume."""

from typing import Literal

from kcut.model.artifact import Record
from kcut.model.ask import Ask
from kcut.model.component import ComponentPlan
from kcut.model.outcome import SIDES, Cohort

#: A number of pairs that stands for "as many as it takes".
UNCAPPED = 1_000_000


class SpecText(Record):
    """A checkpoint spec as it was read at the start: where from, and its text."""

    path: str
    text: str


class CheckoutPlan(Record):
    """How every trial's worktree is made. `base` is a commit id, `subdir` where in the tree trials run.

    `base_rev` is what `--base` said, None for HEAD.

    `snapshot` is the id of the tree that holds the uncommitted changes with `dirty: include`, else None. `hidden` are
    paths that no trial has: those of oracles that the base tracks.
    """

    base: str
    base_rev: str | None = None
    dirty: bool = False
    dirty_mode: Literal["ignore", "include"] = Ask.dirty
    snapshot: str | None = None
    subdir: str = ""
    isolation: Literal["sealed", "worktree", "clone"] = Ask.isolation
    refs: Literal["head", "tags", "all"] = Ask.refs
    history: Literal["full", "none"] = Ask.history
    hidden: tuple[str, ...] = ()
    copy_paths: tuple[str, ...] = ()
    link_paths: tuple[str, ...] = ()
    workdir: str | None = None


class OraclePlan(Record):
    """What is copied into a worktree when its task has ended: from where, to which path of the tree, and its hash.

    `inside` if it lies in the checkout, at that same path.
    """

    source: str
    place: str
    inside: bool
    digest: str


class TextFile(Record):
    """A text as it was read at the start, and where from; None if it stood on the command line."""

    path: str | None
    text: str


class PriceList(Record):
    """Prices of tokens as they were read at the start: US dollars per million, by model and kind of token."""

    path: str | None
    models: dict[str, dict[str, float]]


class AgentPlan(Record):
    """The agent that does the task, the same way in both cohorts: `kcut agent NAME` with these options."""

    name: str
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    args: tuple[str, ...] = ()
    executable: str | None = None

    @property
    def label(self) -> str:
        """`claude`, `claude opus`, `codex gpt-5.5 high`: what tells it from other performers."""
        return " ".join(part for part in (self.name, self.model, self.effort) if part)


class TaskPlan(Record):
    """One task of a run and how it is scored; `score_line` is the score as an artifact records it.

    With an agent `prompt` is what it is asked, and `task` is the command line that stands for that.
    """

    name: str
    task: str
    prompt: TextFile | None = None
    score: str | None = None
    spec: SpecText | None = None
    oracle: OraclePlan | None = None
    weight: float = 1.0

    @property
    def score_line(self) -> str | None:
        """The command, or the checkpoint command that a spec stands for; None: the task's own exit code."""
        if self.score is None and self.spec is not None:
            return f"kcut checkpoint {self.spec.path}"
        return self.score


class Plan(Record):
    """One run. Times are seconds; `min_gain` is an exact fraction or decimal as text.

    `toggle` is the component that kcut applies and withholds, None if the task is to do that itself; `control` says
    what a third cohort has in its place. `agent` does the task of a run that names one; `rework` is how often it may
    try again after a failing score.

    `k` counts the pairs of each task; with `until_decided` it is the most pairs of all tasks together. `aa` is 0, or
    how many benchmarks of the component against itself the run holds, one after the other. `tasks_file` is where the
    tasks were read from, `tasks_score` and `tasks_spec` the score of those that have none of their own.
    """

    component: str
    toggle: ComponentPlan | None = None
    task: str
    agent: AgentPlan | None = None
    prompt: TextFile | None = None
    prices: PriceList | None = None
    rework: int = Ask.rework
    rework_output: bool = Ask.rework_output
    score: str | None = None
    spec: SpecText | None = None
    oracle: OraclePlan | None = None
    tasks: tuple[TaskPlan, ...] = ()
    tasks_file: str | None = None
    tasks_score: str | None = None
    tasks_spec: str | None = None
    k: int
    out: str | None = None
    seed: int
    checkout: CheckoutPlan
    setup: str | None = None
    timeout: float = Ask.timeout
    score_timeout: float = Ask.score_timeout
    setup_timeout: float = Ask.setup_timeout
    jobs: int = Ask.jobs
    isolate_home: bool = Ask.isolate_home
    keep: Literal["none", "failed", "all"] = Ask.keep
    logs: bool = Ask.logs
    protect: tuple[str, ...] = ()
    unprotect: tuple[str, ...] = ()
    probe: bool = Ask.probe
    void_retries: int = Ask.void_retries
    retry_wait: tuple[float, ...] = Ask.retry_wait
    agent_output: Literal["auto", "none"] = Ask.agent_output
    min_gain: str | None = None
    rule: Literal["point", "evidence"] = Ask.rule
    max_cost: float | None = None
    alpha: float = Ask.alpha
    delta: float = Ask.delta
    beta: float = Ask.beta
    until_decided: bool = Ask.until_decided
    anytime: bool = Ask.anytime
    stop: Literal["decided", "keep-unreachable"] = Ask.stop
    confirm_harm: bool = Ask.confirm_harm
    objective: Literal["success", "cost"] = Ask.objective
    margin: float = Ask.margin
    aa: int = Ask.aa
    control: Literal["none", "placebo"] = Ask.control

    @property
    def cohorts(self) -> tuple[Cohort, ...]:
        """The cohorts of which each pair holds a trial."""
        return (*SIDES, Cohort.PLACEBO) if self.control == "placebo" else SIDES

    @property
    def trials(self) -> int:
        """The number of trials, or the most there can be."""
        return len(self.cohorts) * self.pairs

    @property
    def works(self) -> tuple[TaskPlan, ...]:
        """The tasks in their order; one without a name if the run has no list of tasks."""
        return self.tasks or (
            TaskPlan(
                name="",
                task=self.task,
                prompt=self.prompt,
                score=self.score,
                spec=self.spec,
                oracle=self.oracle,
            ),
        )

    def work(self, pair: int) -> TaskPlan:
        """The task of a pair: they take turns."""
        works = self.works
        return works[pair % len(works)]

    @property
    def pairs(self) -> int:
        """The number of pairs, or the most there can be."""
        return self.k if self.until_decided else self.k * len(self.works) * (self.aa or 1)

    @property
    def capped(self) -> bool:
        """False if the run goes on until it is decided, however long that takes."""
        return self.k < UNCAPPED

    @property
    def score_line(self) -> str | None:
        """The score as the artifact records it, that of the only task."""
        return self.works[0].score_line if not self.tasks else None
