"""What a person asks of a benchmark. Its defaults are those of the command line and of the recorded plan, too."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)  # without slots, so that a default can be read from the class
class Ask:
    """The options of a benchmark as they were given; times in seconds."""

    component: str
    task: str
    score: str | None = None
    spec: str | None = None
    oracle: str | None = None
    agent: str | None = None
    model: str | None = None
    effort: str | None = None
    max_turns: int | None = None
    agent_arg: tuple[str, ...] = ()
    agent_executable: str | None = None
    prompt: str | None = None
    prompt_file: str | None = None
    prices: str | None = None
    price: Mapping[str, Mapping[str, float]] | None = None
    rework: int = 0
    rework_output: bool = False
    k: int = 5
    out: str | None = None
    jobs: int = 1
    seed: int | None = None
    base: str | None = None
    refs: Literal["head", "tags", "all"] = "head"
    history: Literal["full", "none"] = "full"
    dirty: Literal["ignore", "include"] = "ignore"
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    workdir: str | None = None
    isolation: Literal["sealed", "worktree", "clone"] = "sealed"
    isolate_home: bool = False
    setup: str | None = None
    timeout: float = 1800
    score_timeout: float = 300
    setup_timeout: float = 600
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
    until_decided: bool = False
    anytime: bool = False
    stop: Literal["decided", "keep-unreachable"] = "decided"
    confirm_harm: bool = False
    objective: Literal["success", "cost"] = "success"
    margin: float = 0.10
    tasks: str | None = None
    aa: int = 0
    control: Literal["none", "placebo"] = "none"
