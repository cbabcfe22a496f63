"""What a run is going to do: resolved once, recorded with the run, unchanged by a resume."""

from typing import Literal

from kcut.model.artifact import Record
from kcut.model.ask import Ask


class SpecText(Record):
    """A checkpoint spec as it was read at the start: where from, and its text."""

    path: str
    text: str


class CheckoutPlan(Record):
    """How every trial's worktree is made. `base` is a commit id, `subdir` where in the tree trials run.

    `base_rev` is what `--base` said, None for HEAD.

    `snapshot` is the id of the tree that holds the uncommitted changes with `dirty: include`, else None.
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
    copy_paths: tuple[str, ...] = ()
    link_paths: tuple[str, ...] = ()
    workdir: str | None = None


class Plan(Record):
    """One run. Times are seconds; `min_gain` is an exact fraction or decimal as text."""

    component: str
    task: str
    score: str | None = None
    spec: SpecText | None = None
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
    alpha: float = 0.05
    delta: float = 0.20
    beta: float = 0.10

    @property
    def score_line(self) -> str | None:
        """The score as the artifact records it: the command, or the checkpoint command a spec stands for."""
        if self.score is None and self.spec is not None:
            return f"kcut checkpoint {self.spec.path}"
        return self.score
