"""What a run is going to do: resolved once, recorded with the run, unchanged by a resume."""

from typing import Literal

from kcut.model.artifact import Record


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
    dirty_mode: Literal["ignore", "include"] = "ignore"
    snapshot: str | None = None
    subdir: str = ""
    isolation: Literal["sealed", "worktree", "clone"] = "sealed"
    refs: Literal["head", "tags", "all"] = "head"
    history: Literal["full", "none"] = "full"
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
    timeout: float = 1800
    score_timeout: float = 300
    setup_timeout: float = 600
    jobs: int = 1
    isolate_home: bool = False
    keep: Literal["none", "failed", "all"] = "none"
    logs: bool = False
    protect: tuple[str, ...] = ()
    unprotect: tuple[str, ...] = ()
    probe: bool = True
    void_retries: int = 2
    retry_wait: tuple[float, ...] = (5.0, 30.0)
    agent_output: Literal["auto", "none"] = "auto"
    min_gain: str | None = None
    rule: Literal["point", "evidence"] = "point"
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
